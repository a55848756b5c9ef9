// SPDX-License-Identifier: Apache-2.0
// Calls that end a handle's life, or turn one into another form.
#include "runtime/rank/pmpi/wrap.hpp"
#include "runtime/rank/window.hpp"

using namespace empi::rank;
using namespace empi::profile;

namespace {

// The world is not the program's to free, and the communicators of an adaptation window are freed by its
// commit.
bool owned_by_library(MPI_Comm comm) {
  return comm == MPI_COMM_WORLD || comm == current_world() || is_window_communicator(comm);
}

// What was revoked is never freed (quirk revoked-freed).
bool is_revoked(MPI_Comm comm) {
  int revoked = 0;
  return comm != MPI_COMM_NULL && PMPIX_Comm_is_revoked(comm, &revoked) == MPI_SUCCESS && revoked;
}

int refuse(MPI_Comm comm) {
  PMPI_Comm_call_errhandler(actual(comm), MPI_ERR_COMM);
  return MPI_ERR_COMM;
}

}  // namespace

extern "C" {

int MPI_Comm_free(MPI_Comm* comm) {
  const CallScope scope(Blocking::No, Collective::No);
  if (comm && owned_by_library(*comm)) return refuse(*comm);
  if (comm) derived().freed(*comm);
  if (comm && is_revoked(*comm)) return *comm = MPI_COMM_NULL, MPI_SUCCESS;
  return PMPI_Comm_free(comm);
}

int MPI_Comm_disconnect(MPI_Comm* comm) {
  const CallScope scope(Blocking::Yes, Collective::Yes);
  if (comm && owned_by_library(*comm)) return refuse(*comm);
  if (comm) derived().freed(*comm);
  if (comm && is_revoked(*comm)) return *comm = MPI_COMM_NULL, MPI_SUCCESS;
  return PMPI_Comm_disconnect(comm);
}

int MPI_Win_free(MPI_Win* win) {
  const CallScope scope(Blocking::Yes, Collective::Yes);
  if (win) derived().freed(*win);
  return PMPI_Win_free(win);
}

int MPI_File_close(MPI_File* file) {
  const CallScope scope(Blocking::Yes, Collective::Yes);
  if (file) derived().freed(*file);
  return PMPI_File_close(file);
}

int MPI_Type_free(MPI_Datatype* type) {
  const CallScope scope(Blocking::No, Collective::No);
  forget_types();
  return PMPI_Type_free(type);
}

// The other way round, MPI_Comm_c2f(MPI_COMM_WORLD) gives the current world's number, which Fortran code can
// use.
MPI_Comm MPI_Comm_f2c(MPI_Fint number) {
  const MPI_Comm comm = PMPI_Comm_f2c(number);
  return comm == current_world() ? MPI_COMM_WORLD : comm;
}

}  // extern "C"
