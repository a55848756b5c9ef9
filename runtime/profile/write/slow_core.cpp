// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile/write/slow_core.hpp"

#include <algorithm>

namespace empi::profile {
namespace {

constexpr double kShortestSleepNs = 200e3;  // nanosleep overshoots by some 60 us: save up shorter ones
// What came late is made up for, but not for long: a rank that stood still for a minute does not run fast for
// one.
constexpr double kLongestLateNs = 100e6;

}  // namespace

void SlowCore::begin(std::uint64_t cpu, std::uint64_t clock) {
  cpu_ = cpu;
  clock_ = clock;
}

std::uint64_t SlowCore::due(std::uint64_t cpu, std::uint64_t clock) {
  owe(factor_ * static_cast<double>(cpu - cpu_) - static_cast<double>(clock - clock_));
  begin(cpu, clock);
  return owed_ns_ < kShortestSleepNs ? 0 : static_cast<std::uint64_t>(owed_ns_);
}

void SlowCore::slept(std::uint64_t ns) { owe(-static_cast<double>(ns)); }

void SlowCore::owe(double ns) { owed_ns_ = std::max(owed_ns_ + ns, -kLongestLateNs); }

}  // namespace empi::profile
