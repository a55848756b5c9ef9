// SPDX-License-Identifier: Apache-2.0
// A program with three loops (Algorithm 4.3 of seed 000, in C++): each adds another number to all elements,
// and their sum is checked in every iteration.
//
//   phases_program FOLDER     goes on to the next loop when FOLDER/1, FOLDER/2, FOLDER/3 is there
#include <cstdio>
#include <elastic_mpi.hpp>
#include <filesystem>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  elastic::Loop loop(argc, argv);
  const std::string folder = argc > 1 ? argv[1] : ".";
  constexpr long kElements = 1000;
  std::vector<long> numbers;
  long added = 0;
  loop.replicate(added);
  loop.block(numbers, kElements);
  for (int phase = 1; phase <= 3; ++phase) {
    if (!loop.joining()) MPI_Barrier(MPI_COMM_WORLD);
    loop.run([&](MPI_Comm world) {
      long mine[2] = {std::accumulate(numbers.begin(), numbers.end(), 0L),
                      std::filesystem::exists(folder + "/" + std::to_string(phase))};
      long all[2] = {};
      MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, world);
      if (all[0] != added * kElements) {
        std::printf("BAD: sum %ld instead of %ld in loop %d\n", all[0], added * kElements, phase);
        std::fflush(stdout);
        MPI_Abort(world, 3);
      }
      for (long& number : numbers) number += phase;
      added += phase;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return all[1] == 0;
    });
    if (loop.left()) return 0;
  }
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) std::printf("finished ranks %d rollbacks %d\n", size, loop.rollbacks());
  return 0;
}
