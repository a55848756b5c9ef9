// SPDX-License-Identifier: Apache-2.0
// Sleeps by which something slower is emulated: short ones are saved up, and what came late is made up for.
#pragma once
#include <algorithm>
#include <cstdint>

namespace empi::profile {

class OwedSleep {
 public:
  // Below 0: that much less.
  void owe(double ns) { owed_ns_ = std::max(owed_ns_ + ns, -kLongestLateNs); }
  // How long to sleep now: 0 while that is too short to be worth a sleep.
  std::uint64_t due() const { return owed_ns_ < kShortestSleepNs ? 0 : static_cast<std::uint64_t>(owed_ns_); }
  // So long it was slept.
  void slept(std::uint64_t ns) { owe(-static_cast<double>(ns)); }

 private:
  static constexpr double kShortestSleepNs =
      200e3;  // nanosleep overshoots by some 60 us: save up shorter ones
  // What came late is made up for, but not for long: a rank that stood still for a minute does not run fast
  // for one.
  static constexpr double kLongestLateNs = 100e6;

  double owed_ns_ = 0;  // below 0: late
};

}  // namespace empi::profile
