// SPDX-License-Identifier: Apache-2.0
// What workers take and pools have, as a vector: a set of workers fits where each component does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace emj::queue {

struct Resources {
  std::int64_t milli_cpu = 0;
  std::int64_t memory_mib = 0;

  Resources& operator+=(const Resources& other) {
    milli_cpu += other.milli_cpu;
    memory_mib += other.memory_mib;
    return *this;
  }
  Resources& operator-=(const Resources& other) {
    milli_cpu -= other.milli_cpu;
    memory_mib -= other.memory_mib;
    return *this;
  }
  friend Resources operator+(Resources a, const Resources& b) { return a += b; }
  friend Resources operator-(Resources a, const Resources& b) { return a -= b; }
  friend Resources operator*(const Resources& one, std::int64_t count) {
    return {one.milli_cpu * count, one.memory_mib * count};
  }
  bool operator==(const Resources&) const = default;
};

// What is not asked for may be short.
inline bool fits(const Resources& need, const Resources& room) {
  return (need.milli_cpu <= 0 || need.milli_cpu <= room.milli_cpu) &&
         (need.memory_mib <= 0 || need.memory_mib <= room.memory_mib);
}

// How many of `one` fit; as many as can be told where it asks for nothing.
inline std::int64_t times(const Resources& one, const Resources& room) {
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (one.milli_cpu > 0) most = std::min(most, std::max<std::int64_t>(0, room.milli_cpu) / one.milli_cpu);
  if (one.memory_mib > 0) most = std::min(most, std::max<std::int64_t>(0, room.memory_mib) / one.memory_mib);
  return most;
}

inline Resources positive(const Resources& r) {
  return {std::max<std::int64_t>(0, r.milli_cpu), std::max<std::int64_t>(0, r.memory_mib)};
}

inline bool any_positive(const Resources& r) { return r.milli_cpu > 0 || r.memory_mib > 0; }

inline Resources smaller(const Resources& a, const Resources& b) {
  return {std::min(a.milli_cpu, b.milli_cpu), std::min(a.memory_mib, b.memory_mib)};
}

}  // namespace emj::queue
