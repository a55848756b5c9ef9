// SPDX-License-Identifier: Apache-2.0
// Time that this process has lived through (decision R16). An agent that was stopped, or whose machine stood
// still, has not listened meanwhile: the silence of others in that time says nothing about them.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>

#include "runtime/agent/lead/history_hooks.hpp"

namespace empi::agent {

using RunningTime = std::chrono::nanoseconds;  // on a RunningClock

class RunningClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // advance() is called far more often than this; of a longer gap no more counts.
  static constexpr std::chrono::milliseconds kLongestGap{250};

  // From one thread, the one whose standstill is to stop the clock.
  void advance(TimePoint now) {
    if (last_ != TimePoint{})
      time_ = time_.load() + (put_back(OldFault::B6)
                                  ? now - last_
                                  : std::clamp<RunningTime>(now - last_, RunningTime{0}, kLongestGap));
    last_ = now;
  }
  RunningTime now() const { return time_.load(); }  // from any thread

 private:
  TimePoint last_{};
  std::atomic<RunningTime> time_{RunningTime{0}};
};

}  // namespace empi::agent
