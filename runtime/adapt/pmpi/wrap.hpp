// What the generated wrappers are written with.
#pragma once
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <cstdint>

#include "runtime/adapt/derived.hpp"
#include "runtime/adapt/world.hpp"
#include "runtime/profile/counters.hpp"

namespace empi::adapt {

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

// Number of ranks a collective sends to: the remote group of an intercommunicator, else everybody.
inline int peers(MPI_Comm comm) {
  int inter = 0, size = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (!inter) return local_size(comm);
  PMPI_Comm_remote_size(comm, &size);
  return size;
}

// MPI_ROOT marks the root of a collective over an intercommunicator.
inline bool is_root(int root, MPI_Comm comm) {
  return root == MPI_ROOT || (root >= 0 && peers(comm) == local_size(comm) && own_rank(comm) == root);
}

inline std::uint64_t bcast_payload(MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  return is_root(root, comm) ? payload(count, type) : 0;
}

// Neighbours that a neighbourhood collective sends to; 0 without a topology (MPI itself reports that error).
int out_neighbors(MPI_Comm comm);

}  // namespace empi::adapt
