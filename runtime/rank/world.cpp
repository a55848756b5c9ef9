// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/world.hpp"

#include "runtime/rank/attributes.hpp"

namespace empi::rank {

std::atomic<MPI_Comm> replaced_world{nullptr};

MPI_Comm replace_world(MPI_Comm next) {
  const MPI_Comm old = current_world();
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_Comm_get_errhandler(old, &handler) == MPI_SUCCESS) {
    PMPI_Comm_set_errhandler(next, handler);
    PMPI_Errhandler_free(&handler);
  }
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  if (PMPI_Comm_get_name(old, name, &length) == MPI_SUCCESS) PMPI_Comm_set_name(next, name);
  MPI_Info hints = MPI_INFO_NULL;
  if (PMPI_Comm_get_info(old, &hints) == MPI_SUCCESS && hints != MPI_INFO_NULL) {
    PMPI_Comm_set_info(next, hints);
    PMPI_Info_free(&hints);
  }
  move_attributes(old, next);
  replaced_world.store(next, std::memory_order_release);
  return old == MPI_COMM_WORLD ? MPI_COMM_NULL : old;
}

}  // namespace empi::rank
