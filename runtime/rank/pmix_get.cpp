// SPDX-License-Identifier: Apache-2.0
// PMIx_Get, by which MPI_Init learns how each neighbour in its pod sends messages. The neighbour says so when
// it is there itself, and PMIx waits for that two seconds, then answers that nothing was found, and MPI_Init
// fails (quirk late-neighbour). Every rank says this one thing, so it is asked for again until it is there. A
// rank that never comes is its agent's business.
#include <pmix.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "runtime/protocol/names.hpp"
#include "runtime/protocol/pmix_words.hpp"
#include "runtime/rank/found.hpp"

namespace empi::rank {
namespace {

using namespace std::chrono_literals;

// What the ranks' Open MPI calls it: framework and component, then a version.
constexpr char kMessageLayer[] = "pml.base";
// An answer that came sooner has not waited for the neighbour: there is no PMIx server any more.
constexpr auto kHasWaited = 1s;

bool is_late(const char* key, int status) {
  if (status != kPmixNotFound && status != kPmixTimeout) return false;
  if (!key || std::strncmp(key, kMessageLayer, std::strlen(kMessageLayer)) != 0) return false;
  return std::getenv(names::kSocket) != nullptr;
}

}  // namespace
}  // namespace empi::rank

pmix_status_t PMIx_Get(const pmix_proc_t* proc, const char key[], const pmix_info_t infos[],
                       size_t info_count, pmix_value_t** value) {
  using Clock = std::chrono::steady_clock;
  static const auto next = empi::rank::stood_before<decltype(&PMIx_Get)>("PMIx_Get");
  for (;;) {
    const auto asked = Clock::now();
    const int status = next(proc, key, infos, info_count, value);
    if (!empi::rank::is_late(key, status) || Clock::now() - asked < empi::rank::kHasWaited) return status;
  }
}
