// SPDX-License-Identifier: Apache-2.0
// Cost of MPI_Probe_adapt with nothing pending: prints `bench probe.idle <us> us`, the median of 21 rounds.
#include <elastic_mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  constexpr int kRounds = 21, kCalls = 1000000;
  int status = 0, adapt = 0;
  MPI_Init_adapt(&argc, &argv, &status);
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) MPI_Probe_adapt(&adapt, &status, nullptr);
    rounds.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / kCalls);
  }
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf("bench probe.idle %.4f us\n", rounds[kRounds / 2]);
  MPI_Finalize();
}
