// SPDX-License-Identifier: Apache-2.0
// What MPI_COMM_WORLD means. The wrappers ask `actual` for every communicator argument; a committed change
// replaces the world in one store.
#pragma once
#include <mpi.h>

#include <atomic>

namespace empi::rank {

// Null while MPI_COMM_WORLD is the world that MPI_Init made (and in rigid programs, for ever).
extern std::atomic<MPI_Comm> replaced_world;

inline MPI_Comm actual(MPI_Comm comm) {
  if (comm != MPI_COMM_WORLD) return comm;
  const MPI_Comm world = replaced_world.load(std::memory_order_acquire);
  return world ? world : comm;
}
inline MPI_Comm current_world() { return actual(MPI_COMM_WORLD); }

// From here on MPI_COMM_WORLD means `next`. Error handler, name, info hints, and user attributes with a copy
// callback are carried over; user attributes of the old world are deleted (with their callbacks), as if it
// were duplicated and then freed. Local. Returns the old world, which the caller owns, or MPI_COMM_NULL when
// it was MPI's own.
MPI_Comm replace_world(MPI_Comm next);

}  // namespace empi::rank
