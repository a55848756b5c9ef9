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

}  // namespace mesh
