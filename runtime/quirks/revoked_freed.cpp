// SPDX-License-Identifier: Apache-2.0
// Quirk revoked-freed: a communicator that was revoked and freed is used again by what is still under way,
// copies of the revocation and rounds of collectives that it cut short. Three ranks. `ours`: it is never
// freed.
#include <cstring>

#include "runtime/quirks/quirk.hpp"

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const bool ours = argc > 1 && std::strcmp(argv[1], "ours") == 0;
  const int rank = quirk::rank_of(MPI_COMM_WORLD);
  std::atomic<bool> over{false};
  // As in a rank: one thread iterates while another gives the change up.
  std::thread other([&over] { quirk::progress_until(60, [&over] { return over.load(); }); });
  for (int round = 0; round < 200; ++round) {
    MPI_Comm comm = quirk::duplicate(MPI_COMM_WORLD);
    MPI_Barrier(comm);  // all have it (quirk early-revocation)
    MPI_Request request = MPI_REQUEST_NULL;
    int one = 1, sum = 0;
    if (rank != 2) MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    int revoked = 0;
    if (rank == round % 3) MPIX_Comm_revoke(comm);
    quirk::progress_until(10, [&] {
      MPIX_Comm_is_revoked(comm, &revoked);
      return revoked != 0;
    });
    if (!ours) MPI_Comm_free(&comm);
    int done = 0;
    for (int turn = 0; request != MPI_REQUEST_NULL && turn < 50 && !done; ++turn)
      if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
  }
  over = true;
  other.join();
  if (MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) quirk::leave(1);
  if (rank == 0 && ours) quirk::say_ours_holds();
  if (rank == 0 && !ours) quirk::say(false);
  quirk::leave();
}
