// SPDX-License-Identifier: Apache-2.0
// Cost of counting: the same loop with MPI_ and with PMPI_ calls, in interleaved pairs. The loop computes a
// fixed amount between calls, so that it makes about 10 000 or 500 000 calls a second. Prints the ratio of
// times:
//   bench profile-overhead.ratio.10k <value> ratio
//   bench profile-overhead.ratio.500k <value> ratio
//   bench profile-overhead.ratio.500k.low, .high: the 95 % interval of that median, from order statistics
// Median of the pairs' ratios; the order within a pair alternates. CPU time of the thread: the loop never
// waits, so that on an idle machine it is the elapsed time, and on a busy one it is still the loop's own.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <vector>

namespace {

double seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

volatile double sink;

// A chain of dependent multiplications: its time does not depend on what runs around it.
void compute(long steps) {
  double x = 1;
  for (long i = 0; i < steps; ++i) x = x * 1.0000001 + 1e-9;
  sink = x;
}

using Iprobe = int (*)(int, int, MPI_Comm, int*, MPI_Status*);
using Allreduce = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

// `calls` calls, every second one a collective.
double run(Iprobe iprobe, Allreduce allreduce, long calls, long steps) {
  double in = 1, out = 0;
  int flag = 0;
  const double start = seconds();
  for (long i = 0; i < calls; ++i) {
    compute(steps);
    if (i % 2 == 0)
      allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    else
      iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  }
  return seconds() - start;
}

// Steps of `compute` between calls for the wanted rate, from a measured run without counting.
long calibrate(double rate) {
  long steps = 0;
  for (int attempt = 0; attempt < 12; ++attempt) {
    const double now = run(PMPI_Iprobe, PMPI_Allreduce, 2000, steps) / 2000;
    const double t = seconds();
    compute(1000000);
    const double per_step = (seconds() - t) / 1000000;
    steps = std::max(0L, steps + static_cast<long>((1 / rate - now) / per_step));
  }
  return steps;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// How many of the smallest and of the largest of `n` values lie outside of the 95 % interval of their median,
// however they are distributed: that the median is among the i smallest is as likely as i heads or fewer in
// `n` throws of a coin.
std::size_t outside(std::size_t n) {
  double term = std::pow(.5, static_cast<double>(n)), sum = 0;  // exactly i heads, at most i
  for (std::size_t i = 0; i < n; ++i) {
    sum += term;
    if (sum > .025) return i == 0 ? 0 : i - 1;
    term *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  }
  return 0;
}

void measure(const char* name, double rate, double length_s, int pairs) {
  const long steps = calibrate(rate), calls = static_cast<long>(rate * length_s);
  std::vector<double> ratios, rates;
  for (int pair = 0; pair < pairs; ++pair) {
    double with = 0, without = 0;
    for (int turn = 0; turn < 2; ++turn)
      if ((turn ^ pair) & 1)
        with = run(MPI_Iprobe, MPI_Allreduce, calls, steps);
      else
        without = run(PMPI_Iprobe, PMPI_Allreduce, calls, steps);
    ratios.push_back(with / without);
    rates.push_back(static_cast<double>(calls) / without);
  }
  std::ranges::sort(ratios);
  const std::size_t out = outside(ratios.size());
  std::printf("bench profile-overhead.ratio.%s %.5f ratio\n", name, median(ratios));
  std::printf("bench profile-overhead.ratio.%s.low %.5f ratio\n", name, ratios[out]);
  std::printf("bench profile-overhead.ratio.%s.high %.5f ratio\n", name, ratios[ratios.size() - 1 - out]);
  std::printf("bench profile-overhead.rate.%s %.0f calls/s\n", name, median(rates));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  measure("10k", 10e3, .1, 41);
  measure("500k", 500e3, .1, 41);
  MPI_Finalize();
}
