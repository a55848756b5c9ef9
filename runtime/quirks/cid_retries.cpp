// SPDX-License-Identifier: Apache-2.0
// Quirk cid-retries: a rank dies while others look for the id of a new communicator on an intercommunicator
// (the merge that ends accept and connect). The error is dropped and the search begun anew, for ever, also
// when the intercommunicator is revoked. Four ranks, of which the last one dies. `ours`: the helper thread
// that hangs there is left alone, the others' communicators serve on.
#include <signal.h>

#include <cstring>

#include "runtime/quirks/quirk.hpp"

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  if (!std::freopen("/dev/null", "w", stderr)) return 1;  // a hundred thousand lines a second
  const bool ours = argc > 1 && std::strcmp(argv[1], "ours") == 0;
  const int rank = quirk::rank_of(MPI_COMM_WORLD);
  MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL, merged = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
  MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 1, &inter);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 3) {
    quirk::progress_until(.2, [] { return false; });  // the others are in the merge
    raise(SIGKILL);
  }
  const quirk::Helper helper([&] { return MPI_Intercomm_merge(inter, rank / 2, &merged); });
  const auto back = [&] { return helper.back(); };
  if (!quirk::progress_until(.5, back)) {
    MPIX_Comm_revoke(inter);
    quirk::progress_until(.5, back);
  }
  if (rank == 2) quirk::progress_until(.5, [] { return false; });
  if (rank >= 2) quirk::leave();
  int one = 1, sum = 0;
  const bool serves = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half) == MPI_SUCCESS && sum == 2;
  if (rank == 0 && !ours) quirk::say(!helper.back());
  if (rank == 0 && ours && serves) quirk::say_ours_holds();
  quirk::progress_until(.2, [] { return false; });
  quirk::leave();
}
