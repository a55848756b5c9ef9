// SPDX-License-Identifier: Apache-2.0
// A processor that is a number of times slower than the one a rank runs on, emulated by sleeping: pure, the
// clocks are the caller's. What takes the rank C of processor time takes `factor` C of the clock. Where other
// processes keep the rank from a processor meanwhile, that wait is part of those: on the slow node it would
// not have been, and the emulated time is to be the same however busy this machine is.
#pragma once
#include <cstdint>

#include "runtime/profile/write/owed_sleep.hpp"

namespace empi::profile {

class SlowCore {
 public:
  void set_factor(double factor) { factor_ = factor; }
  bool slows() const { return factor_ > 1; }

  // From here on the rank computes; what was before does not count. Both in ns: the thread's processor time,
  // the clock.
  void begin(std::uint64_t cpu, std::uint64_t clock);

  // Until here it has computed. How long it is to sleep now: 0 while that is too short to be worth a sleep.
  std::uint64_t due(std::uint64_t cpu, std::uint64_t clock);
  // So long it has slept.
  void slept(std::uint64_t ns) { sleep_.slept(ns); }

 private:
  double factor_ = 1;
  std::uint64_t cpu_ = 0, clock_ = 0;
  OwedSleep sleep_;
};

}  // namespace empi::profile
