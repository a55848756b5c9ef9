// SPDX-License-Identifier: Apache-2.0
// Quirk accept-root: when the rendezvous of MPI_Comm_accept fails, its root comes back with the error and
// tells the other ranks nothing: they wait in a broadcast for ever. Two ranks. `ours`: the accept is on a
// duplicate of its own, which is revoked then; the communicator below serves on.
#include <cstring>

#include "runtime/quirks/quirk.hpp"

// In place of libpmix's: it fails, as our agents' does when a change is given up.
extern "C" int PMIx_Publish(const void*, std::size_t) { return -24; }  // PMIX_ERR_TIMEOUT

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const bool ours = argc > 1 && std::strcmp(argv[1], "ours") == 0;
  const int rank = quirk::rank_of(MPI_COMM_WORLD);
  const MPI_Comm base = quirk::duplicate(MPI_COMM_WORLD), work = quirk::duplicate(base);
  MPI_Comm inter = MPI_COMM_NULL;
  const quirk::Helper helper([&] { return MPI_Comm_accept("quirk", MPI_INFO_NULL, 0, work, &inter); });
  const auto back = [&] { return helper.back(); };
  if (rank == 0) quirk::progress_until(10, back);
  MPI_Barrier(MPI_COMM_WORLD);  // the root is back
  const bool came = quirk::progress_until(.5, back);
  if (rank == 1 && !ours) quirk::say(!came);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPIX_Comm_revoke(work);
  const bool released = quirk::progress_until(10, back);
  int mine = released ? 1 : 0, all = 0;
  const bool serves = MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, base) == MPI_SUCCESS && all == 1;
  if (rank == 1 && ours && serves) quirk::say_ours_holds();
  quirk::progress_until(.2, [] { return false; });
  quirk::leave();
}
