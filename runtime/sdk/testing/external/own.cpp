// SPDX-License-Identifier: Apache-2.0
// A program of one's own: a thousand numbers, shared by all ranks, grow by 1 in every step. It goes on until
// it has been in as many worlds as its argument says (1), and for a hundred steps at least.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <elastic_mpi.hpp>
#include <numeric>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  elastic::Loop loop(argc, argv);
  const int wanted = argc > 1 ? std::atoi(argv[1]) : 1;
  int worlds = 0;
  long steps = 0;
  double sum = 0;
  std::vector<double> numbers;

  loop.replicate(worlds, steps);
  loop.block(numbers, 1000);
  loop.on_rebuild([&](MPI_Comm) { ++worlds; });
  loop.run([&](MPI_Comm world) {
    for (double& number : numbers) number += 1;
    sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, world);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ++steps;
    return steps < 100 || worlds < wanted;
  });

  if (loop.left()) return 0;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf("own: %d worlds, %ld steps, sum %.0f\n", worlds, steps, sum);
  return 0;
}
