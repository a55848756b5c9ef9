// SPDX-License-Identifier: Apache-2.0
// Quirk blocked-search: a search for the id of a new communicator that fails because a rank is lost stays
// noted as being under way, and those for a communicator with a higher id wait for its end for ever. Rank 2
// dies; the others duplicate a communicator of all three, in vain, and then one of their own. `ours`: one for
// a lower id in between, MPI_COMM_SELF's, ends what is noted.
#include <signal.h>

#include <cstring>

#include "runtime/quirks/quirk.hpp"

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const bool ours = argc > 1 && std::strcmp(argv[1], "ours") == 0;
  const int rank = quirk::rank_of(MPI_COMM_WORLD);
  const MPI_Comm three = quirk::duplicate(MPI_COMM_WORLD);
  MPI_Comm two = MPI_COMM_NULL, made = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &two);
  MPI_Comm_set_errhandler(two, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) {
    quirk::progress_until(.2, [] { return false; });  // the others are in the search
    raise(SIGKILL);
  }
  const bool failed = MPI_Comm_dup(three, &made) != MPI_SUCCESS;
  MPIX_Comm_revoke(three);
  if (ours) quirk::duplicate(MPI_COMM_SELF);
  const quirk::Helper helper([&] { return MPI_Comm_dup(two, &made); });
  for (int i = 0; i < 100 && !helper.back(); ++i) usleep(10000);
  if (rank == 0 && !ours) quirk::say(failed && !helper.back());
  if (rank == 0 && ours && helper.result() == MPI_SUCCESS) quirk::say_ours_holds();
  quirk::leave();
}
