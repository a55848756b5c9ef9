// SPDX-License-Identifier: Apache-2.0
// Quirk late-neighbour: MPI_Init fails where a rank of the same pod comes to it more than two seconds later
// than this one. Two ranks on one pod, without the library where QUIRK_BARE is set.
#include <cstdlib>
#include <cstring>

#include "runtime/quirks/quirk.hpp"

int main(int argc, char** argv) {
  if (std::getenv("QUIRK_BARE") && std::getenv("LD_PRELOAD")) {
    unsetenv("LD_PRELOAD");
    execv("/proc/self/exe", argv);
  }
  const char* rank = std::getenv("PMIX_RANK");
  if (rank && std::strcmp(rank, "1") == 0) {
    sleep(3);
  } else {
    std::printf("begun\n");
    std::fflush(stdout);
  }
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  if (quirk::rank_of(MPI_COMM_WORLD) == 0) quirk::say(false);
  MPI_Finalize();
}
