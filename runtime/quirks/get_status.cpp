// SPDX-License-Identifier: Apache-2.0
// Quirk get-status: MPI_Request_get_status never says that a receive is over whose communicator was revoked,
// or whose sender is dead, while MPI_Test does, and ends it. Two ranks. `ours`: who asks by it looks at the
// communicator as well.
#include <cstring>

#include "runtime/quirks/quirk.hpp"

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const bool ours = argc > 1 && std::strcmp(argv[1], "ours") == 0;
  const int rank = quirk::rank_of(MPI_COMM_WORLD);
  const MPI_Comm comm = quirk::duplicate(MPI_COMM_WORLD);
  MPI_Barrier(comm);  // all have it (quirk early-revocation)
  int value = 0, done = 0, revoked = 0;
  if (rank == 0) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&value, 1, MPI_INT, 1, 0, comm, &request);
    MPIX_Comm_revoke(comm);
    const bool told = quirk::progress_until(.5, [&] {
      MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
      if (ours) MPIX_Comm_is_revoked(comm, &revoked);
      return done != 0 || revoked != 0;
    });
    if (ours && told) quirk::say_ours_holds();
    if (!ours) quirk::say(!told);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  quirk::leave();
}
