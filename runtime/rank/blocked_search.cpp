// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/blocked_search.hpp"

#include "runtime/rank/found.hpp"

namespace empi::rank {
namespace {

MPI_Comm ours = MPI_COMM_NULL;  // of this rank alone, without attributes of the program
MPI_Group this_rank = MPI_GROUP_NULL;

// MPI_Comm_create_group takes no such tag. Searches go by a number that has the communicator's in its upper
// half and is joined with the tag, so that with this one it is -1, and they come before all others
// (comm_cid.c).
constexpr int kBeforeAll = -1;

}  // namespace

void expect_blocked_searches() {
  if (ours != MPI_COMM_NULL || PMPI_Comm_dup(MPI_COMM_SELF, &ours) != MPI_SUCCESS) return;
  PMPI_Comm_set_errhandler(ours, MPI_ERRORS_RETURN);
  PMPI_Comm_group(ours, &this_rank);
}

// An Open MPI without this function: a duplicate of our own, which has a low number, ends what is noted for a
// higher one.
void end_blocked_search() {
  using Make = int (*)(MPI_Comm, MPI_Group, int tag, MPI_Comm*);
  static const auto make = found<Make>("ompi_comm_create_group");
  if (this_rank == MPI_GROUP_NULL) return;
  MPI_Comm made = MPI_COMM_NULL;
  const int result = make ? make(ours, this_rank, kBeforeAll, &made) : PMPI_Comm_dup(ours, &made);
  if (result == MPI_SUCCESS) PMPI_Comm_free(&made);
}

int make_alone(MPI_Comm* made) {
  end_blocked_search();
  return PMPI_Comm_dup(MPI_COMM_SELF, made);
}

}  // namespace empi::rank
