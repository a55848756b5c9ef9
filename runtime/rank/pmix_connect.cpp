// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/pmix_connect.hpp"

#include <pmix.h>

#include <cstddef>

#include "runtime/rank/found.hpp"

namespace empi::rank {
namespace {

thread_local bool acquainted = false;

}  // namespace

Acquainted::Acquainted(bool they_are) { acquainted = they_are; }
Acquainted::~Acquainted() { acquainted = false; }

}  // namespace empi::rank

pmix_status_t PMIx_Connect(const pmix_proc_t procs[], size_t proc_count, const pmix_info_t infos[],
                           size_t info_count) {
  if (empi::rank::acquainted) return PMIX_SUCCESS;
  static const auto next = empi::rank::stood_before<decltype(&PMIx_Connect)>("PMIx_Connect");
  return next(procs, proc_count, infos, info_count);
}
