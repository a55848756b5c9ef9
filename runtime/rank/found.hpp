// SPDX-License-Identifier: Apache-2.0
// What the libraries of the process export and no header of ours names.
#pragma once
#include <dlfcn.h>

namespace empi::adapt {

// Null when there is none.
template <class Pointer>
Pointer found(const char* name) {
  return reinterpret_cast<Pointer>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace empi::adapt
