// SPDX-License-Identifier: Apache-2.0
// MPI calls of the applications: a failed one throws elastic::Error, which says what was being done.
#pragma once
#include <elastic_error.hpp>

namespace mesh {

using elastic::check_mpi;

// Adds up over world. Collective.
inline double total(MPI_Comm world, double mine) {
  double all = 0;
  check_mpi(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, world), "adding up");
  return all;
}

}  // namespace mesh
