// SPDX-License-Identifier: Apache-2.0
// What workers take and pools have, as a vector: a set of workers fits where each component does.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "operator/decide/queue/devices.hpp"

namespace emj::queue {

// Of anything, that one pod or queue can ask for (in units of a Resources): whoever writes more gets this.
// Times the workers of a job (10,000), and added up over all jobs, it is still a number.
inline constexpr std::int64_t kMostOfOne = std::int64_t{1} << 40;

// That there is: what is not bounded has so much. More than anybody asks for.
inline constexpr std::int64_t kNotCounted = std::int64_t{1} << 50;

// Amounts in units of a Resources: what is asked for is rounded up, what there is down, but for an error of
// rounding before. What is negative is nothing.
inline std::int64_t bounded(double amount, std::int64_t most) {
  if (!(amount > 0)) return 0;
  return amount >= static_cast<double>(most) ? most : static_cast<std::int64_t>(amount);
}
inline std::int64_t rounded_up(double amount) { return bounded(std::ceil(amount - 1e-6), kMostOfOne); }
inline std::int64_t rounded_down(double amount) { return bounded(std::floor(amount + 1e-6), kNotCounted); }

struct Resources {
  std::int64_t milli_cpu = 0;
  std::int64_t memory_mib = 0;
  CountedDevices devices{};

  Resources& operator+=(const Resources& other) {
    milli_cpu += other.milli_cpu;
    memory_mib += other.memory_mib;
    for (std::size_t k = 0; k < kDevices; ++k) devices[k] += other.devices[k];
    return *this;
  }
  Resources& operator-=(const Resources& other) {
    milli_cpu -= other.milli_cpu;
    memory_mib -= other.memory_mib;
    for (std::size_t k = 0; k < kDevices; ++k) devices[k] -= other.devices[k];
    return *this;
  }
  friend Resources operator+(Resources a, const Resources& b) { return a += b; }
  friend Resources operator-(Resources a, const Resources& b) { return a -= b; }
  friend Resources operator*(Resources one, std::int64_t count) {
    one.milli_cpu *= count;
    one.memory_mib *= count;
    for (std::int64_t& device : one.devices) device *= count;
    return one;
  }
  bool operator==(const Resources&) const = default;
};

// Component by component.
template <class Of>
Resources each(const Resources& a, const Resources& b, Of of) {
  Resources c{of(a.milli_cpu, b.milli_cpu), of(a.memory_mib, b.memory_mib)};
  for (std::size_t k = 0; k < kDevices; ++k) c.devices[k] = of(a.devices[k], b.devices[k]);
  return c;
}
inline Resources smaller(const Resources& a, const Resources& b) {
  return each(a, b, [](std::int64_t x, std::int64_t y) { return std::min(x, y); });
}
inline Resources larger(const Resources& a, const Resources& b) {
  return each(a, b, [](std::int64_t x, std::int64_t y) { return std::max(x, y); });
}
inline Resources positive(const Resources& r) { return larger(r, {}); }

// So much of everything.
inline Resources everything(std::int64_t amount) {
  Resources all{amount, amount};
  all.devices.fill(amount);
  return all;
}

// What is not asked for may be short.
inline bool fits(const Resources& need, const Resources& room) {
  bool fits = (need.milli_cpu <= 0 || need.milli_cpu <= room.milli_cpu) &&
              (need.memory_mib <= 0 || need.memory_mib <= room.memory_mib);
  for (std::size_t k = 0; k < kDevices; ++k)
    fits = fits && (need.devices[k] <= 0 || need.devices[k] <= room.devices[k]);
  return fits;
}

// How many of `one` fit; as many as can be told where it asks for nothing.
inline std::int64_t times(const Resources& one, const Resources& room) {
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto bound = [&most](std::int64_t each, std::int64_t there) {
    if (each > 0) most = std::min(most, std::max<std::int64_t>(0, there) / each);
  };
  bound(one.milli_cpu, room.milli_cpu);
  bound(one.memory_mib, room.memory_mib);
  for (std::size_t k = 0; k < kDevices; ++k) bound(one.devices[k], room.devices[k]);
  return most;
}

inline bool any_positive(const Resources& r) { return positive(r) != Resources{}; }

}  // namespace emj::queue
