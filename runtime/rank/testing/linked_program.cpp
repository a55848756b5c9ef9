// SPDX-License-Identifier: Apache-2.0
// Linked in ways in which MPI calls do not reach libelastic_mpi (see CMakeLists.txt). Such a program is never
// asked to adapt, and ends as any other.
#include <elastic_mpi.h>

#include "runtime/rank/testing/check.hpp"

int main(int argc, char** argv) {
  int status = -1, adapt = -1, one = 1, sum = 0, size = 0;
  CHECK(MPI_Init_adapt(&argc, &argv, &status) == MPI_SUCCESS && status == MPI_ADAPT_STATUS_NEW);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 10; ++i) {
    CHECK(MPI_Probe_adapt(&adapt, &status, nullptr) == MPI_SUCCESS && adapt == MPI_ADAPT_FALSE);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size);
  }
  MPI_Finalize();
}
