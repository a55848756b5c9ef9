// SPDX-License-Identifier: Apache-2.0
// Quirk error-class: a class made by MPI_Add_error_class is not its own error code (MPI 4.1, 9.5: every class
// is a code).
#include "runtime/quirks/quirk.hpp"

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  int made = 0, found = -1;
  MPI_Add_error_class(&made);
  const int result = MPI_Error_class(made, &found);
  quirk::say(result != MPI_SUCCESS || found != made);
  MPI_Finalize();
  return 0;
}
