// SPDX-License-Identifier: Apache-2.0
// Quirk early-messages: what two ranks send for a communicator of MPI_Comm_create_from_group is not delivered
// when it is read before this rank has it. They make it at once, rank 0 lets MPI progress first. `ours`: rank
// 0 reads nothing until it has it.
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
  if (rank == 0 && ours) usleep(300000);  // as it waits for the others' word
  if (rank == 0 && !ours) quirk::progress_until(1, [] { return false; });
  MPI_Comm made = MPI_COMM_NULL;
  const quirk::Helper helper([&] { return empi::adapt::create_from_group(all, "early", &made); });
  for (int i = 0; i < 100 && !helper.back(); ++i) usleep(10000);
  if (rank == 0 && !ours) quirk::say(!helper.back());
  if (rank == 0 && ours && helper.result() == MPI_SUCCESS) quirk::say_ours_holds();
  quirk::progress_until(.2, [] { return false; });
  quirk::leave();
}
