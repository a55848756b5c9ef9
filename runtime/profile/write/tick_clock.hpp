// SPDX-License-Identifier: Apache-2.0
// A clock for timing single MPI calls: the processor's time stamp counter, converted to nanoseconds of
// CLOCK_MONOTONIC. Reading it costs a third of clock_gettime. Where the counter is not invariant (or not
// x86) ticks are nanoseconds of CLOCK_MONOTONIC themselves.
#pragma once
#include <cstdint>

#include "runtime/base/clocks.hpp"
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace empi::profile {

class TickClock {
 public:
  // Starts the calibration; `anchor` a good while later (MPI_Init lies between) completes it.
  TickClock();

  std::uint64_t now() const {
#if defined(__x86_64__)
    if (counter_) return __rdtsc();
#endif
    return monotonic_ns();
  }
  // Length of an interval in ticks.
  std::uint64_t to_ns(std::uint64_t ticks) const {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(ticks) * ns_per_tick_2_32_) >> 32);
  }
  // Point in time on CLOCK_MONOTONIC. Good for ticks near the last anchor, before or after it.
  std::uint64_t at_ns(std::uint64_t ticks) const {
    return ticks >= anchor_ticks_ ? anchor_ns_ + to_ns(ticks - anchor_ticks_)
                                  : anchor_ns_ - to_ns(anchor_ticks_ - ticks);
  }
  // Measures the rate since the first reading and re-anchors, so that corrections of CLOCK_MONOTONIC do not
  // add up.
  void anchor();
  std::uint64_t anchor_age(std::uint64_t ticks) const { return to_ns(ticks - anchor_ticks_); }

 private:
  bool counter_ = false;
  std::uint64_t first_ticks_ = 0, first_ns_ = 0;
  std::uint64_t anchor_ticks_ = 0, anchor_ns_ = 0;
  std::uint64_t ns_per_tick_2_32_ = std::uint64_t{1} << 32;  // fixed point, 32 fractional bits
};

}  // namespace empi::profile
