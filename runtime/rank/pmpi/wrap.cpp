// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/pmpi/wrap.hpp"

#include <array>
#include <atomic>

namespace empi::rank {

namespace {

struct KnownType {
  MPI_Datatype type;
  unsigned generation;
  std::uint64_t bytes;
};
std::array<KnownType, 64> known_types;  // used by the measured thread only
std::atomic<unsigned> generation{1};    // a freed handle may come back as another type

}  // namespace

void forget_types() { generation.fetch_add(1, std::memory_order_relaxed); }

std::uint64_t type_size(MPI_Datatype type) {
  const unsigned now = generation.load(std::memory_order_relaxed);
  KnownType& known = known_types[reinterpret_cast<std::uintptr_t>(type) / 64 % known_types.size()];
  if (known.type == type && known.generation == now) return known.bytes;
  if (type == MPI_DATATYPE_NULL || type == nullptr) return 0;
  MPI_Count size = 0;
  if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return 0;
  known = {type, now, static_cast<std::uint64_t>(size)};
  return known.bytes;
}

int out_neighbors(MPI_Comm comm) {
  int topology = MPI_UNDEFINED, count = 0;
  PMPI_Topo_test(comm, &topology);
  if (topology == MPI_CART) {
    PMPI_Cartdim_get(comm, &count);
    return 2 * count;
  }
  if (topology == MPI_GRAPH) PMPI_Graph_neighbors_count(comm, own_rank(comm), &count);
  if (topology == MPI_DIST_GRAPH) {
    int in = 0, weighted = 0;
    PMPI_Dist_graph_neighbors_count(comm, &in, &count, &weighted);
  }
  return count;
}

}  // namespace empi::rank
