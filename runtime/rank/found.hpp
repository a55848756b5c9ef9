// SPDX-License-Identifier: Apache-2.0
// What the libraries of the process export and no header of ours names.
#pragma once
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace empi::rank {

// Null when there is none.
template <class Pointer>
Pointer found(const char* name) {
  return reinterpret_cast<Pointer>(dlsym(RTLD_DEFAULT, name));
}

// The function that one of ours of the same name stands before; the process ends when there is none.
template <class Pointer>
Pointer stood_before(const char* name) {
  if (const auto function = reinterpret_cast<Pointer>(dlsym(RTLD_NEXT, name))) return function;
  std::fprintf(stderr, "elastic-mpi: Open MPI has come without %s\n", name);
  std::abort();
}

}  // namespace empi::rank
