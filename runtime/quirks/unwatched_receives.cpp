// SPDX-License-Identifier: Apache-2.0
// Quirk unwatched-receives: what Open MPI receives for itself while it makes a communicator of a group does
// not end when the rank that is to send is lost, and the call never comes back. Rank 1 dies instead of
// coming. (RecoveryOnPods.ASecondLossWhileTheWorldIsMadeIsBorne needs what the library does about it.)
#include <signal.h>

#include "runtime/quirks/quirk.hpp"

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const int rank = quirk::rank_of(MPI_COMM_WORLD);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    quirk::progress_until(.2, [] { return false; });  // the other one is in the call
    raise(SIGKILL);
  }
  MPI_Comm made = MPI_COMM_NULL;
  const quirk::Helper helper([&] { return MPI_Comm_create_group(MPI_COMM_WORLD, all, 1, &made); });
  for (int i = 0; i < 200 && !helper.back(); ++i) usleep(10000);
  quirk::say(!helper.back());
  quirk::leave();
}
