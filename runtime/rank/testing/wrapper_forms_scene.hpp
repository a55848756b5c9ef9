// SPDX-License-Identifier: Apache-2.0
// The communicators that wrapper_forms_program.cpp calls collectives on.
#pragma once
#include <mpi.h>

#include <string>
#include <vector>

namespace empi::testing {

// A communicator, as one rank sees it.
struct Scene {
  std::string name;
  MPI_Comm comm = MPI_COMM_NULL;
  bool inter = false, neighbourhood = false;
  int rank = 0, size = 0, peers = 0;  // peers: of the other group, or all
  int group = 0;                      // of an intercommunicator: 0 or 1
  std::vector<int> sources, targets;  // of a neighbourhood
  bool some_alone = false;            // some ranks have no source or no target
};

// All are collective over MPI_COMM_WORLD, but for `on`, which is local.
Scene on(const char* name, MPI_Comm comm);
// The first `first` ranks on one side, the others on the other.
Scene between_groups(const char* name, int first);
Scene grid(const char* name, int periodic);
// Rank 0 with all others, and these with it only.
Scene star(const char* name);
// Each rank sends to the next; the last does not, and nobody sends to the first: one has no source, one no
// target, and rank `alone` neither.
Scene line(const char* name, int alone);

}  // namespace empi::testing
