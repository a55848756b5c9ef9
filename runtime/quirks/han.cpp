// SPDX-License-Identifier: Apache-2.0
// Quirk han: the hierarchical collectives work on communicators of their own, which are not revoked with the
// one that they serve: who waits in one stays there. Four ranks on two pods, of which one revokes instead of
// taking part.
#include "runtime/quirks/quirk.hpp"

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const int rank = quirk::rank_of(MPI_COMM_WORLD);
  const MPI_Comm comm = quirk::duplicate(MPI_COMM_WORLD);
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);  // han makes its communicators now
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 3) {
    quirk::progress_until(.3, [] { return false; });
    MPIX_Comm_revoke(comm);
  } else {
    const quirk::Helper helper([&] { return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm); });
    const bool back = quirk::progress_until(2, [&] { return helper.back(); });
    std::printf("rank %d: %s\n", rank, back ? "interrupted" : "waits for ever");
    std::fflush(stdout);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // the first one that leaves ends the job
  quirk::progress_until(.2, [] { return false; });
  quirk::leave();
}
