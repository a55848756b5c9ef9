// SPDX-License-Identifier: Apache-2.0
// Quirk agreement-ids: an agreement is named by the communicator's id and the number of communicators that
// its ranks have made. Rank 1 agrees with rank 0, frees that communicator, and agrees with rank 2 on another,
// of the same numbers: as when ranks leave and others join. Rank 2, who comes first, is given the result of
// the first agreement. `ours`: the votes are collected by a reduction.
#include <cstring>

#include "runtime/quirks/quirk.hpp"

namespace {

MPI_Comm pair(int low, int high) {
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  const int ranks[2] = {low, high};
  MPI_Group_incl(world, 2, ranks, &group);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_create_group(MPI_COMM_WORLD, group, low, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return comm;
}

}  // namespace

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const bool ours = argc > 1 && std::strcmp(argv[1], "ours") == 0;
  const int rank = quirk::rank_of(MPI_COMM_WORLD);
  const auto vote = [ours](MPI_Comm comm, int mine) {
    int all = mine;
    if (ours)
      MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
    else
      MPIX_Comm_agree(comm, &all);
    return all;
  };
  for (int i = 0; rank != 1 && i < 5; ++i) {  // 0 and 2 have made as many as each other
    MPI_Comm comm = quirk::duplicate(MPI_COMM_SELF);
    MPI_Comm_free(&comm);
  }
  if (rank < 2) {
    MPI_Comm comm = pair(0, 1);
    vote(comm, 0);
    MPI_Comm_free(&comm);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) quirk::leave();
  const MPI_Comm comm = pair(1, 2);
  if (rank == 1) quirk::progress_until(.3, [] { return false; });  // rank 2's vote is here before its own
  const quirk::Helper helper([&] { return vote(comm, 1); });
  quirk::progress_until(2, [&] { return helper.back(); });
  if (rank == 2 && !ours) quirk::say(helper.result() != 1);
  if (rank == 2 && ours && helper.result() == 1) quirk::say_ours_holds();
  quirk::progress_until(.3, [] { return false; });  // the other one may still need us
  quirk::leave();
}
