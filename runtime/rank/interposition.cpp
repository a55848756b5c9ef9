// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/interposition.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

namespace empi::rank {

namespace {

// The program or library that has `address`; its base is null when none does.
Dl_info home_of(const void* address) {
  Dl_info info{};
  if (!address || dladdr(address, &info) == 0) info.dli_fbase = nullptr;
  return info;
}

int find_fortran(dl_phdr_info* loaded, std::size_t, void* found) {
  const char* slash = std::strrchr(loaded->dlpi_name, '/');
  const char* name = slash ? slash + 1 : loaded->dlpi_name;
  if (std::strncmp(name, "libmpi_mpifh", std::strlen("libmpi_mpifh")) != 0) return 0;
  *static_cast<std::string*>(found) = loaded->dlpi_name;
  return 1;
}

}  // namespace

std::string interposition_fault() {
  const Dl_info here = home_of(reinterpret_cast<const void*>(&home_of));
  for (const char* const* name = kWrappedFunctions; *name; ++name) {
    const Dl_info taken = home_of(dlsym(RTLD_DEFAULT, *name));
    if (taken.dli_fbase != here.dli_fbase)
      return std::string(*name) + " is taken from " + (taken.dli_fname ? taken.dli_fname : "elsewhere") +
             ", not from libelastic_mpi. Link libelastic_mpi before libmpi, and preload no tool that defines "
             "MPI calls";
  }
  std::string fortran;
  dl_iterate_phdr(find_fortran, &fortran);
  if (!fortran.empty())
    return "it has parts in Fortran (" + fortran +
           " is loaded), whose MPI calls do not pass through libelastic_mpi";
  return "";
}

}  // namespace empi::rank
