// SPDX-License-Identifier: Apache-2.0
// A communicator's rank and size as values, checked: callers need no variables for them.
#pragma once
#include <elastic_error.hpp>

namespace elastic {

/// This rank's number in comm. Local. Throws Error.
inline int rank_of(MPI_Comm comm) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "asking for the rank");
  return rank;
}

/// The number of ranks of comm; of an intercommunicator its local group's. Local. Throws Error.
inline int size_of(MPI_Comm comm) {
  int size = 0;
  check_mpi(MPI_Comm_size(comm, &size), "asking for the number of ranks");
  return size;
}

}  // namespace elastic
