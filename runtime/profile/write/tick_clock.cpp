// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile/write/tick_clock.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace empi::profile {

namespace {

// The counter ticks at one rate whatever the core's frequency and sleep states (CPUID 8000_0007h, EDX bit 8).
bool invariant_counter() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
#else
  return false;
#endif
}

}  // namespace

TickClock::TickClock() : counter_(invariant_counter()) {
  first_ns_ = monotonic_ns();
  first_ticks_ = now();
  anchor_ticks_ = first_ticks_;
  anchor_ns_ = first_ns_;
  if (!counter_) return;
  // A rough rate until the first anchor: 200 us are good to some 0.1 %.
  while (monotonic_ns() - first_ns_ < 200000) {
  }
  anchor();
}

void TickClock::anchor() {
  const std::uint64_t ns = monotonic_ns(), ticks = now();
  anchor_ns_ = ns;
  anchor_ticks_ = ticks;
  if (!counter_ || ticks <= first_ticks_) return;
  ns_per_tick_2_32_ = static_cast<std::uint64_t>((static_cast<unsigned __int128>(ns - first_ns_) << 32) /
                                                 (ticks - first_ticks_));
}

}  // namespace empi::profile
