// SPDX-License-Identifier: Apache-2.0
// Quirk requests-freed: a request of a communicator that was revoked is complete to the program while Open
// MPI goes on with its message; it ends the rank when such a request was freed. Two ranks, over TCP. `ours`:
// who has got an error frees none, and leaves the buffers to MPI.
#include <cstring>
#include <vector>

#include "runtime/quirks/quirk.hpp"

namespace {

constexpr int kBytes = 8 << 20, kRounds = 40;

}  // namespace

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const bool ours = argc > 1 && std::strcmp(argv[1], "ours") == 0;
  const int rank = quirk::rank_of(MPI_COMM_WORLD);
  static std::vector<std::vector<char>> buffers;  // of all rounds, for they may still be MPI's
  for (int round = 0; round < kRounds; ++round) {
    const MPI_Comm comm = quirk::duplicate(MPI_COMM_WORLD);
    MPI_Barrier(comm);  // all have it (quirk early-revocation)
    if (buffers.size() < 8 || ours) buffers.emplace_back(kBytes);
    char* const bytes = buffers.back().data();
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0)
      MPI_Isend(bytes, kBytes, MPI_BYTE, 1, 0, comm, &request);
    else
      MPI_Irecv(bytes, kBytes, MPI_BYTE, 0, 0, comm, &request);
    quirk::progress_until(.0005 * (round % 8), [] { return false; });
    if (rank == round % 2) MPIX_Comm_revoke(comm);
    int revoked = 0, done = 0;
    quirk::progress_until(5, [&] {
      MPIX_Comm_is_revoked(comm, &revoked);
      return revoked != 0;
    });
    if (!ours) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
    quirk::progress_until(.005, [] { return false; });
  }
  if (MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) quirk::leave(1);
  if (rank == 0 && ours) quirk::say_ours_holds();
  if (rank == 0 && !ours) quirk::say(false);
  quirk::leave();
}
