// SPDX-License-Identifier: Apache-2.0
// The clocks of the measurements, in nanoseconds.
#pragma once
#include <cstdint>
#include <ctime>

namespace empi::profile {

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

inline std::uint64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }  // the clock of the pages
inline std::uint64_t thread_cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }
inline std::int64_t wall_ns() { return static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME)); }  // since 1970

}  // namespace empi::profile
