// SPDX-License-Identifier: Apache-2.0
// Cost of MPIX_Wish_adapt in every iteration: prints `bench wish.overhead <ratio> 1`, the median over 41
// pairs of rounds of iterations of some 50 us, and `bench wish.call <us> us`.
#include <elastic_mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace {

constexpr int kRounds = 41, kIterations = 400, kCalls = 100000, kSteps = 20000;

double seconds_of(auto&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

}  // namespace

int main(int argc, char** argv) {
  int status = 0, adapt = 0, rank = 0;
  MPI_Init_adapt(&argc, &argv, &status);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  volatile double sink = 0;
  const auto iterate = [&](bool wishes) {
    for (int i = 0; i < kIterations; ++i) {
      double x = 1;
      for (int step = 0; step < kSteps; ++step) x = x * .999999 + 1e-6;
      sink = sink + x;
      if (wishes) MPIX_Wish_adapt(1, 1 + i % 4);
      MPI_Probe_adapt(&adapt, &status, nullptr);
    }
  };
  std::vector<double> ratios, calls;
  for (int round = 0; round < kRounds; ++round) {
    // Each round is measured by the one beside it: the machine may have others.
    const double without = seconds_of([&] { iterate(false); });
    ratios.push_back(seconds_of([&] { iterate(true); }) / without);
    calls.push_back(seconds_of([&] {
                      for (int i = 0; i < kCalls; ++i) MPIX_Wish_adapt(1, 1 + i % 4);
                    }) /
                    kCalls);
  }
  if (rank == 0) {
    std::printf("bench wish.overhead %.4f 1\n", median(ratios));
    std::printf("bench wish.call %.4f us\n", median(calls) * 1e6);
  }
  MPI_Finalize();
}
