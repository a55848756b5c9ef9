// SPDX-License-Identifier: Apache-2.0
// Stands for the Open MPI of an older image: a library of the right name that says another version.
#include <cstring>

extern "C" int MPI_Get_library_version(char* text, int* length) {
  std::strcpy(text, "Open MPI v4.1.6, package: Debian OpenMPI");
  *length = static_cast<int>(std::strlen(text));
  return 0;
}
