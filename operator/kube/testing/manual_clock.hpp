// SPDX-License-Identifier: Apache-2.0
// A clock that only the test moves. Threads that wait for a time look again every millisecond.
#pragma once
#include <algorithm>
#include <atomic>
#include <set>

#include "operator/kube/clock.hpp"

namespace emj::kube::testing {

class ManualClock final : public Clock {
 public:
  Instant now() override {
    std::lock_guard lock(mutex_);
    return now_;
  }
  WallTime wall() override { return WallTime(std::chrono::seconds(1'800'000'000)) + (now() - Instant{}); }

  bool wait_until(std::condition_variable& condition, std::unique_lock<std::mutex>& lock, Instant deadline,
                  const std::function<bool()>& done) override {
    const auto entry = enter(deadline);
    bool result = done();
    while (!result && now() < deadline) {
      condition.wait_for(lock, std::chrono::milliseconds(1));
      result = done();
    }
    leave(entry);
    return result;
  }

  void advance(std::chrono::steady_clock::duration time) {
    std::lock_guard lock(mutex_);
    now_ += time;
  }

  // Blocks (at most 20 s of real time) until some thread waits for a time in the future that is at most
  // `at_most` away, and tells how far the earliest one is; zero when none came.
  Millis next_wait(std::chrono::steady_clock::duration at_most = std::chrono::hours(24)) {
    std::unique_lock lock(mutex_);
    const auto earliest = [this] {
      const auto entry = std::find_if(waits_.begin(), waits_.end(), [this](Instant at) { return at > now_; });
      return entry == waits_.end() ? Instant::max() : *entry;
    };
    if (!changed_.wait_for(lock, std::chrono::seconds(20), [&] { return earliest() <= now_ + at_most; }))
      return Millis(0);
    return std::chrono::ceil<Millis>(earliest() - now_);
  }

 private:
  std::multiset<Instant>::iterator enter(Instant deadline) {
    std::lock_guard lock(mutex_);
    const auto entry = waits_.insert(deadline);
    changed_.notify_all();
    return entry;
  }
  void leave(std::multiset<Instant>::iterator entry) {
    std::lock_guard lock(mutex_);
    waits_.erase(entry);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multiset<Instant> waits_;
  Instant now_ = Instant{} + std::chrono::hours(1000);
};

}  // namespace emj::kube::testing
