// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/testing/wrapper_forms_scene.hpp"

namespace empi::testing {

Scene on(const char* name, MPI_Comm comm) {
  Scene scene;
  scene.name = name;
  scene.comm = comm;
  PMPI_Comm_rank(comm, &scene.rank);
  PMPI_Comm_size(comm, &scene.size);
  scene.peers = scene.size;
  return scene;
}

Scene between_groups(const char* name, int first) {
  const Scene world = on("", MPI_COMM_WORLD);
  const int rank = world.rank, size = world.size;
  const int group = rank < first ? 0 : 1;
  MPI_Comm local = MPI_COMM_NULL, inter = MPI_COMM_NULL;
  PMPI_Comm_split(MPI_COMM_WORLD, group, rank, &local);
  PMPI_Intercomm_create(local, 0, MPI_COMM_WORLD, group == 0 ? first : 0, first, &inter);
  PMPI_Comm_free(&local);
  Scene scene = on(name, inter);
  scene.inter = true;
  scene.group = group;
  scene.peers = group == 0 ? size - first : first;
  return scene;
}

Scene grid(const char* name, int periodic) {
  const int size = on("", MPI_COMM_WORLD).size;
  MPI_Comm comm = MPI_COMM_NULL;
  const int dims[] = {size}, periods[] = {periodic};
  PMPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
  Scene scene = on(name, comm);
  scene.neighbourhood = true;
  int down = MPI_PROC_NULL, up = MPI_PROC_NULL;
  PMPI_Cart_shift(comm, 0, 1, &down, &up);
  scene.sources = scene.targets = {down, up};
  return scene;
}

Scene star(const char* name) {
  const int size = on("", MPI_COMM_WORLD).size;
  std::vector<int> index, edges;
  for (int rank = 1; rank < size; ++rank) edges.push_back(rank);
  index.push_back(size - 1);
  for (int rank = 1; rank < size; ++rank) {
    edges.push_back(0);
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI_Comm comm = MPI_COMM_NULL;
  PMPI_Graph_create(MPI_COMM_WORLD, size, index.data(), edges.data(), 0, &comm);
  Scene scene = on(name, comm);
  scene.neighbourhood = true;
  const int first = scene.rank == 0 ? 0 : index[static_cast<std::size_t>(scene.rank) - 1];
  scene.sources.assign(edges.begin() + first, edges.begin() + index[static_cast<std::size_t>(scene.rank)]);
  scene.targets = scene.sources;
  return scene;
}

Scene line(const char* name, int alone) {
  const Scene world = on("", MPI_COMM_WORLD);
  const int rank = world.rank, size = world.size;
  Scene scene;
  if (rank != alone) {
    const int next = rank + 1 == alone ? rank + 2 : rank + 1,
              before = rank - 1 == alone ? rank - 2 : rank - 1;
    if (next < size) scene.targets.push_back(next);
    if (before >= 0) scene.sources.push_back(before);
  }
  MPI_Comm comm = MPI_COMM_NULL;
  PMPI_Dist_graph_create_adjacent(
      MPI_COMM_WORLD, static_cast<int>(scene.sources.size()), scene.sources.data(), MPI_UNWEIGHTED,
      static_cast<int>(scene.targets.size()), scene.targets.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  Scene made = on(name, comm);
  made.neighbourhood = made.some_alone = true;
  made.sources = scene.sources;
  made.targets = scene.targets;
  return made;
}

}  // namespace empi::testing
