// SPDX-License-Identifier: Apache-2.0
// Quirk unwatched-receives: what Open MPI receives for itself while it makes a communicator of a group does
// not end when the rank that is to send is lost, and the call never comes back. Rank 1 dies instead of
// coming. `ours`: these receives are looked after. (Over TCP: what is sent to a dead rank by shared memory
// never ends either, but a rank that dies takes its pod along.)
#include <signal.h>

#include <cstring>

#include "runtime/quirks/quirk.hpp"
#include "runtime/rank/group_world.hpp"

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const bool ours = argc > 1 && std::strcmp(argv[1], "ours") == 0;
  const int rank = quirk::rank_of(MPI_COMM_WORLD);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    quirk::progress_until(.2, [] { return false; });  // the other one is in the call
    raise(SIGKILL);
  }
  MPI_Comm made = MPI_COMM_NULL;
  const quirk::Helper helper([&] {
    return ours ? empi::adapt::create_from_group(all, "unwatched", &made)
                : MPI_Comm_create_group(MPI_COMM_WORLD, all, 1, &made);
  });
  for (int i = 0; i < 200 && !helper.back(); ++i) usleep(10000);
  if (!ours) quirk::say(!helper.back());
  if (ours && helper.back()) quirk::say_ours_holds();
  quirk::leave();
}
