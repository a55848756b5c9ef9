// SPDX-License-Identifier: Apache-2.0
// Quirk sendrecv-null: MPI_Sendrecv and MPI_Sendrecv_replace with MPI_PROC_NULL to receive from, whose send
// fails since the communicator was revoked, cancel a receive that they never posted: whatever the stack holds
// where its request would be. `ours`: linked with our wrappers, which only send then.
#include <array>
#include <cstring>

#include "runtime/quirks/quirk.hpp"

namespace {

// As a program's earlier calls leave it.
[[gnu::noinline]] void soil_the_stack() {
  std::array<unsigned char, 8192> soil;
  std::memset(soil.data(), 0x5a, soil.size());
  asm volatile("" : : "r"(soil.data()) : "memory");
}

bool is_refused(int result) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(result, &error_class);
  return error_class == MPIX_ERR_REVOKED;
}

// The status of a receive from MPI_PROC_NULL (MPI 4.1, 3.11).
bool is_of_nobody(const MPI_Status& status) {
  int count = -1;
  MPI_Get_count(&status, MPI_INT, &count);
  return status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0;
}

}  // namespace

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const bool ours = argc > 1 && std::strcmp(argv[1], "ours") == 0;
  const int rank = quirk::rank_of(MPI_COMM_WORLD);
  const MPI_Comm comm = quirk::duplicate(MPI_COMM_WORLD);
  int out = 1, in = 7;
  MPI_Status status{};
  bool good = true;
  if (rank == 0) {
    good = MPI_Sendrecv(&out, 1, MPI_INT, 1, 0, &in, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &status) ==
               MPI_SUCCESS &&
           is_of_nobody(status) && in == 7;
  } else {
    good = MPI_Sendrecv(&out, 1, MPI_INT, MPI_PROC_NULL, 0, &in, 1, MPI_INT, 0, 0, comm, &status) ==
               MPI_SUCCESS &&
           status.MPI_SOURCE == 0 && in == 1;
  }
  MPI_Barrier(comm);  // all have it (quirk early-revocation)
  MPIX_Comm_revoke(comm);
  soil_the_stack();
  good = is_refused(
             MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, 0, &in, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &status)) &&
         good;
  soil_the_stack();
  good = is_refused(MPI_Sendrecv_replace(&out, 1, MPI_INT, 1 - rank, 0, MPI_PROC_NULL, 0, comm,
                                         MPI_STATUS_IGNORE)) &&
         good;
  if (rank == 0 && ours && good) quirk::say_ours_holds();
  if (rank == 0 && !ours) quirk::say(!good);
  quirk::progress_until(.1, [] { return false; });
  quirk::leave();
}
