#pragma once
#include <mpi.h>

#include <stdexcept>
#include <string>

namespace mesh {

// Turns a failed MPI call into an exception that says what was being done.
inline void check_mpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string("mesh: ") + what +
                           " failed: " + std::string(text, static_cast<size_t>(length)));
}

// Adds up over world. Collective.
inline double total(MPI_Comm world, double mine) {
  double all = 0;
  check_mpi(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, world), "adding up");
  return all;
}

}  // namespace mesh
