// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/pmix_connect.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace empi::adapt {
namespace {

thread_local bool acquainted = false;

}  // namespace

Acquainted::Acquainted(bool they_are) { acquainted = they_are; }
Acquainted::~Acquainted() { acquainted = false; }

}  // namespace empi::adapt

// pmix_status_t PMIx_Connect(const pmix_proc_t[], size_t, const pmix_info_t[], size_t) of the PMIx that Open
// MPI has, whose headers need not be here.
extern "C" __attribute__((visibility("default"))) int PMIx_Connect(const void* procs, std::size_t proc_count,
                                                                   const void* infos,
                                                                   std::size_t info_count) {
  using Function = int (*)(const void*, std::size_t, const void*, std::size_t);
  constexpr int kSuccess = 0;
  if (empi::adapt::acquainted) return kSuccess;
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "PMIx_Connect"));
  if (next) return next(procs, proc_count, infos, info_count);
  std::fputs("elastic-mpi: Open MPI has come without PMIx_Connect\n", stderr);
  std::abort();
}
