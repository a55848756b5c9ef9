// SPDX-License-Identifier: Apache-2.0
// Quirk blocked-search: a search for the id of a new communicator that fails because a rank is lost stays
// noted as being under way, and those for a communicator with a higher id wait for its end for ever. Rank 2
// dies; the others duplicate MPI_COMM_WORLD, which has the lowest id, in vain, and then a communicator of
// their own. `ours`: one in between, of this rank alone, with a tag that puts it before all others, ends what
// is noted.
#include <dlfcn.h>
#include <signal.h>

#include <cstring>

#include "runtime/quirks/quirk.hpp"

namespace {

// MPI_Comm_create_group without its look at its arguments.
bool make_alone() {
  using Make = int (*)(MPI_Comm, MPI_Group, int tag, MPI_Comm*);
  const auto make = reinterpret_cast<Make>(dlsym(RTLD_DEFAULT, "ompi_comm_create_group"));
  MPI_Group this_rank = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_group(MPI_COMM_SELF, &this_rank);
  return make && make(MPI_COMM_SELF, this_rank, -1, &made) == MPI_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const bool ours = argc > 1 && std::strcmp(argv[1], "ours") == 0;
  const int rank = quirk::rank_of(MPI_COMM_WORLD);
  MPI_Comm two = MPI_COMM_NULL, made = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &two);
  MPI_Comm_set_errhandler(two, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) {
    quirk::progress_until(.2, [] { return false; });  // the others are in the search
    raise(SIGKILL);
  }
  const bool failed = MPI_Comm_dup(MPI_COMM_WORLD, &made) != MPI_SUCCESS;
  MPIX_Comm_revoke(MPI_COMM_WORLD);
  const bool alone = ours && make_alone();
  const quirk::Helper helper([&] { return MPI_Comm_dup(two, &made); });
  for (int i = 0; i < 100 && !helper.back(); ++i) usleep(10000);
  if (rank == 0 && !ours) quirk::say(failed && !helper.back());
  if (rank == 0 && alone && helper.result() == MPI_SUCCESS) quirk::say_ours_holds();
  quirk::leave();
}
