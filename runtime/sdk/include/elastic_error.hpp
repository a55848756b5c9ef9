// SPDX-License-Identifier: Apache-2.0
// The exception of the C++ parts of Elastic MPI.
#pragma once
#include <mpi.h>

#include <stdexcept>
#include <string>

namespace elastic {

/// A call that could not be done. what() says what was tried, with which value, and what to do.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what, int code = MPI_SUCCESS) : std::runtime_error(what), code_(code) {}

  /// The error code MPI returned, or MPI_SUCCESS when the error is not one of MPI (a bad argument, say).
  int code() const { return code_; }

 private:
  int code_;
};

/// Throws Error when `code`, returned by the MPI call described by `doing`, is not MPI_SUCCESS. Local.
inline void check_mpi(int code, const char* doing) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (PMPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  throw Error(std::string(doing) + " failed: " + std::string(text, static_cast<std::size_t>(length)), code);
}

}  // namespace elastic
