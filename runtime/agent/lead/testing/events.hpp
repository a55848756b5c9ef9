// SPDX-License-Identifier: Apache-2.0
// The clock of a simulated history, and what happens on it, in the order of time.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "runtime/agent/lead/change_driver.hpp"

namespace empi::agent::histories {

using Time = ChangeDriver::TimePoint;
using Ms = std::chrono::milliseconds;

class Events {
 public:
  Time now() const { return now_; }
  void at(Time time, std::function<void()> what) {
    std::size_t place = places_.size();
    if (free_.empty()) {
      places_.push_back(std::move(what));
    } else {
      place = free_.back();
      free_.pop_back();
      places_[place] = std::move(what);
    }
    heap_.push_back({std::max(time, now_), next_++, place});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  void after(Ms delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
  // Nothing waits for this very moment: what is asked for now would be next.
  bool none_due() const { return heap_.empty() || heap_.front().time > now_; }
  void run_until(Time end) {
    while (!heap_.empty() && heap_.front().time <= end) {
      const Entry next = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
      now_ = next.time;
      const std::function<void()> what = std::exchange(places_[next.place], nullptr);
      free_.push_back(next.place);
      what();
    }
    now_ = end;
  }

 private:
  // In the order of time, and of those of one moment in that in which they were asked for.
  struct Entry {
    Time time;
    std::uint64_t number;
    std::size_t place;
    bool operator>(const Entry& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  Time now_{std::chrono::hours(1)};
  std::uint64_t next_ = 0;
  std::vector<Entry> heap_;
  std::vector<std::function<void()>> places_;  // what is to be done, found by an entry's place
  std::vector<std::size_t> free_;
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
