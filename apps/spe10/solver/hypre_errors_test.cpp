// SPDX-License-Identifier: Apache-2.0
// Promise: wherever hypre is when a rank is lost, the solver leaves it by an exception, and no rank crashes
// in what was made by half; another solver, on another communicator, solves afterwards. (bench chaos: ranks
// of the reservoir that had survived a loss died of freeing such a matrix.)
#include <gtest/gtest.h>
// clang-format off: needs mpi.h before it
#include <mpi.h>
#include <mpi-ext.h>
// clang-format on

#include <cstdio>
#include <elastic_error.hpp>
#include <vector>

#include "apps/spe10/testing/seven_point.hpp"

namespace {

// The solver's; hypre's calls that succeed before rank 0 revokes it and all that hypre has made from it, as
// who has met a loss does.
MPI_Comm g_comm = MPI_COMM_NULL;
std::vector<MPI_Comm> g_made;
int g_calls = 0;

void revoke() {
  for (const MPI_Comm made : g_made) MPIX_Comm_revoke(made);
  MPIX_Comm_revoke(g_comm);
}

void count_call() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (g_comm != MPI_COMM_NULL && rank == 0 && g_calls-- == 0) revoke();
}

int note(int result, const MPI_Comm* made) {
  if (result == MPI_SUCCESS && *made != MPI_COMM_NULL && g_comm != MPI_COMM_NULL) g_made.push_back(*made);
  return result;
}

}  // namespace

extern "C" int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  return note(PMPI_Comm_create(comm, group, made), made);
}
extern "C" int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  return note(PMPI_Comm_split(comm, color, key, made), made);
}
extern "C" int MPI_Comm_free(MPI_Comm* comm) {
  std::erase(g_made, *comm);
  return PMPI_Comm_free(comm);
}
extern "C" int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  count_call();
  return PMPI_Allreduce(in, out, count, type, op, comm);
}
extern "C" int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  count_call();
  return PMPI_Waitall(count, requests, statuses);
}
extern "C" int MPI_Isend(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  count_call();
  return PMPI_Isend(data, n, type, to, tag, comm, request);
}
extern "C" int MPI_Irecv(void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  count_call();
  return PMPI_Irecv(data, n, type, from, tag, comm, request);
}
extern "C" int MPI_Recv(void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                        MPI_Status* status) {
  count_call();
  return PMPI_Recv(data, n, type, from, tag, comm, status);
}

namespace {

using namespace spe10;

// How the solver ended on this rank; anywhere: whether it did so by an exception on any.
bool solves(const Field& field, int calls) {
  MPI_Comm comm = MPI_COMM_NULL;  // what was lost stays in it
  PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
  PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const SparseRows system = seven_point(field, comm);
  std::vector<double> x(system.count(), 0);
  int left = 0, left_anywhere = 0;
  {
    LinearSolver solver(comm, {});
    g_calls = calls;
    g_comm = comm;
    try {
      solver.solve(system, x);
    } catch (const elastic::Error& error) {
      int error_class = 0;
      PMPI_Error_class(error.code(), &error_class);
      EXPECT_EQ(error_class, MPIX_ERR_REVOKED) << error.what();
      left = 1;
    }
    // The others may wait for this rank in what they have made.
    if (left) revoke();
    g_comm = MPI_COMM_NULL;
  }
  g_made.clear();
  PMPI_Allreduce(&left, &left_anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return left_anywhere == 0;
}

TEST(HypreErrors, LeaveItAnywhereByAnException) {
  const Field field = synthetic_field(8, 8, 2, 3);
  int calls = 0;
  while (!solves(field, calls) && !HasFailure()) calls += 5;
  std::printf("%d calls\n", calls);
  EXPECT_GT(calls, 50);
}

}  // namespace
