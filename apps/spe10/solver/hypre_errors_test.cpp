// SPDX-License-Identifier: Apache-2.0
// Promise: whichever message of hypre's MPI has lost, the solver says so by an exception and no rank crashes,
// nor in what hypre had made by half; and another solver, on another communicator, solves afterwards.
#include <gtest/gtest.h>

#include <elastic_error.hpp>
#include <vector>

#include "apps/spe10/testing/seven_point.hpp"

namespace {

// How many more reductions succeed; from then on the next one fails or, where they are to, whoever waits for
// messages before it. That is at the same place on all ranks. -1: one has failed.
MPI_Comm g_comm = MPI_COMM_NULL;
int g_reductions = -1;
bool g_waits_fail = false;

int fail() {
  g_reductions = -1;
  PMPI_Comm_call_errhandler(g_comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

}  // namespace

// As a lost rank makes them fail: nothing has come.
extern "C" int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  if (g_comm != MPI_COMM_NULL && g_reductions == 0) return fail();
  if (g_comm != MPI_COMM_NULL && g_reductions > 0) --g_reductions;
  return PMPI_Allreduce(in, out, count, type, op, comm);
}
extern "C" int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  if (g_comm != MPI_COMM_NULL && g_waits_fail && g_reductions == 0) return fail();
  return PMPI_Waitall(count, requests, statuses);
}

namespace {

using namespace spe10;

// False: nothing failed any more, the solver was done before.
bool solves_with_a_failure(const Field& field, int at) {
  MPI_Comm comm = MPI_COMM_NULL;  // what was lost stays in it
  PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
  PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const SparseRows system = seven_point(field, comm);
  std::vector<double> x(system.count(), 0);
  LinearSolver solver(comm, {});
  g_comm = comm;
  g_reductions = at;
  bool noticed = false;
  try {
    solver.solve(system, x);
  } catch (const elastic::Error& error) {
    noticed = true;
    EXPECT_EQ(error.code(), MPI_ERR_OTHER);
  }
  g_comm = MPI_COMM_NULL;
  const bool failed = g_reductions < 0;
  EXPECT_EQ(noticed, failed) << "after " << at << " reductions";
  return failed;
}

void expect_exceptions(bool waits_fail) {
  g_waits_fail = waits_fail;
  const Field field = synthetic_field(10, 10, 2, 3);
  int failures = 0;
  for (int at = 0; solves_with_a_failure(field, at) && !testing::Test::HasFailure(); ++at) ++failures;
  EXPECT_GT(failures, 3);
}

TEST(HypreErrors, OfReductionsAreExceptions) { expect_exceptions(false); }
TEST(HypreErrors, OfMessagesAreExceptions) { expect_exceptions(true); }

}  // namespace
