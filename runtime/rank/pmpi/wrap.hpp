// SPDX-License-Identifier: Apache-2.0
// What the generated wrappers are written with.
#pragma once
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <cstdint>

#include "runtime/profile/write/counters.hpp"
#include "runtime/rank/derived.hpp"
#include "runtime/rank/interposition.hpp"
#include "runtime/rank/requests.hpp"
#include "runtime/rank/world.hpp"
#include "runtime/rank/world_calls.hpp"

namespace empi::rank {

// What is computed of a call's arguments is computed when MPI has accepted them: no handle is asked about
// before.

// Bytes of one element. Asked of MPI once for each datatype in use; `forget_types` when one is freed.
std::uint64_t type_size(MPI_Datatype type);
void forget_types();

inline std::uint64_t payload(MPI_Count count, MPI_Datatype type) {
  return count > 0 ? static_cast<std::uint64_t>(count) * type_size(type) : 0;
}

// Over `n` peers with a datatype each.
inline std::uint64_t payload(const int counts[], const MPI_Datatype types[], int n) {
  std::uint64_t bytes = 0;
  for (int i = 0; i < n; ++i) bytes += payload(counts[i], types[i]);
  return bytes;
}

inline MPI_Count sum(const int counts[], int n) {
  MPI_Count total = 0;
  for (int i = 0; i < n; ++i) total += counts[i];
  return total;
}

inline bool in_place(const void* buffer) { return buffer == MPI_IN_PLACE; }

inline int local_size(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}

inline int own_rank(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

inline bool is_inter(MPI_Comm comm) {
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  return inter != 0;
}

// Number of ranks a collective sends to: the remote group of an intercommunicator, else all ranks.
inline int peers(MPI_Comm comm) {
  if (!is_inter(comm)) return local_size(comm);
  int size = 0;
  PMPI_Comm_remote_size(comm, &size);
  return size;
}

// In the root's own group of an intercommunicator `root` is MPI_ROOT or MPI_PROC_NULL; in the other group it
// is the root's rank there, which says nothing of this rank.
inline bool is_root(int root, MPI_Comm comm) {
  return root == MPI_ROOT || (root >= 0 && !is_inter(comm) && own_rank(comm) == root);
}
// Whether the root of an intercommunicator is in this rank's own group: what is collected comes from the
// other one.
inline bool beside_root(int root) { return root < 0; }

// MPI_Sendrecv from MPI_PROC_NULL. Open MPI's cancels a receive that there is none of when it cannot send
// (quirk sendrecv-null).
inline int only_send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                     MPI_Status* status) {
  const int outcome = PMPI_Send(buffer, count, type, to, tag, comm);
  if (outcome != MPI_SUCCESS) return outcome;
  return PMPI_Recv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, comm, status);
}

// Neighbours that a neighbourhood collective sends to.
int out_neighbors(MPI_Comm comm);

}  // namespace empi::rank
