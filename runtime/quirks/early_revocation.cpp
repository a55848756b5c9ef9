// SPDX-License-Identifier: Apache-2.0
// Quirk early-revocation: a revocation that reaches a rank before its own MPI_Comm_dup has come back. Three
// ranks.
#include "runtime/quirks/quirk.hpp"

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  for (int round = 0; round < 200; ++round) {
    MPI_Comm comm = quirk::duplicate(MPI_COMM_WORLD);
    int revoked = 0;
    if (quirk::rank_of(MPI_COMM_WORLD) == round % 3) MPIX_Comm_revoke(comm);
    quirk::progress_until(10, [&] {
      MPIX_Comm_is_revoked(comm, &revoked);
      return revoked != 0;
    });
  }
  if (MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) quirk::leave(1);
  if (quirk::rank_of(MPI_COMM_WORLD) == 0) quirk::say(false);
  quirk::leave();
}
