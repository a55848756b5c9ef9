// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/page.hpp"

#include <cstring>

namespace empi {

bool read_counters(const Page& page, Counters& out) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const std::uint64_t before = page.sequence.load(std::memory_order_acquire);
    if (before & 1) continue;
    std::memcpy(&out, &page.counters, sizeof out);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (page.sequence.load(std::memory_order_relaxed) == before) return true;
  }
  return false;
}

}  // namespace empi
