// SPDX-License-Identifier: Apache-2.0
// The clock of a simulated history, and what happens on it, in the order of time.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <utility>

#include "runtime/agent/lead/change_driver.hpp"

namespace empi::agent::histories {

using Time = ChangeDriver::TimePoint;
using Ms = std::chrono::milliseconds;

class Events {
 public:
  Time now() const { return now_; }
  void at(Time time, std::function<void()> what) {
    queue_.emplace(std::pair(std::max(time, now_), next_++), std::move(what));
  }
  void after(Ms delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
  void run_until(Time end) {
    while (!queue_.empty() && queue_.begin()->first.first <= end) {
      auto event = queue_.extract(queue_.begin());
      now_ = event.key().first;
      event.mapped()();
    }
    now_ = end;
  }

 private:
  Time now_{std::chrono::hours(1)};
  std::uint64_t next_ = 0;
  std::map<std::pair<Time, std::uint64_t>, std::function<void()>> queue_;
};

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  int below(int n) { return n <= 1 ? 0 : static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  int between(int least, int most) { return least + below(most - least + 1); }
  bool percent(int chance) { return below(100) < chance; }
  Ms delay(int least, int most) { return Ms(between(least, most)); }

 private:
  std::mt19937_64 random_;
};

}  // namespace empi::agent::histories
