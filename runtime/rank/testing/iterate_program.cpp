// SPDX-License-Identifier: Apache-2.0
// The application of the change benchmarks: iterates until the job is stopped, and holds no data, so that a
// change costs what the runtime itself costs.
// Usage: bench_iterate CPU_MICROSECONDS   (of computing per iteration; two small allreduces follow)
// The ranks that begin it say first what three plain allreduces of theirs take: "floor MILLISECONDS".
#include <elastic_mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

double thread_cpu_us() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

void compute(double cpu_us) {
  volatile double x = 1;
  for (const double end = thread_cpu_us() + cpu_us; thread_cpu_us() < end;)
    for (int i = 0; i < 1000; ++i) x = x * 1.0000001 + 1e-9;
}

// Until the last rank has them, the median of several: no pause in which ranks agree can be much shorter.
void say_floor() {
  std::array<double, 31> times{};
  for (double& time : times) {
    double in = 1, out = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < 3; ++i) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    in = MPI_Wtime() - begin;
    MPI_Allreduce(&in, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) return;
  std::printf("floor %.4f\n", times[times.size() / 2] * 1e3);
  std::fflush(stdout);
}

// False when a rollback dismissed the change: the old world goes on.
bool adapt_window() {
  MPI_Comm inter = MPI_COMM_NULL, next = MPI_COMM_NULL;
  int staying = 0, leaving = 0, joining = 0;
  MPI_Comm_adapt_begin(&inter, &next, &staying, &leaving, &joining);
  return MPI_Comm_adapt_commit() == MPI_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  const double cpu_us = argc > 1 ? std::atof(argv[1]) : 0;
  int status = MPI_ADAPT_STATUS_NEW;
  MPI_Init_adapt(&argc, &argv, &status);
  if (status == MPI_ADAPT_STATUS_JOINING && !adapt_window()) return 1;
  if (status == MPI_ADAPT_STATUS_NEW) say_floor();
  for (;;) {
    int adapt = MPI_ADAPT_FALSE;
    MPI_Probe_adapt(&adapt, &status, nullptr);
    if (adapt == MPI_ADAPT_TRUE && adapt_window() && status == MPI_ADAPT_STATUS_LEAVING) break;
    if (cpu_us > 0) compute(cpu_us);
    double mine = 1, sum = 0;
    for (int i = 0; i < 2; ++i) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
