// SPDX-License-Identifier: Apache-2.0
#include "operator/local/event_loop.hpp"

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace emj::local {

EventLoop::EventLoop() {
  thread_ = std::thread([this] { run(); });
}

void EventLoop::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakeup_.notify();
  if (thread_.joinable()) thread_.join();
}

void EventLoop::watch(UniqueFd fd, std::function<bool(int)> ready) {
  {
    std::lock_guard lock(mutex_);
    const int key = fd.get();
    watches_[key] = Watch{std::move(fd), std::move(ready)};
  }
  wakeup_.notify();
}

void EventLoop::at(Clock::time_point time, std::function<void()> action) {
  {
    std::lock_guard lock(mutex_);
    timers_.emplace(time, std::move(action));
  }
  wakeup_.notify();
}

void EventLoop::run() {
  std::vector<pollfd> descriptors;
  for (;;) {
    descriptors.assign(1, pollfd{wakeup_.fd(), POLLIN, 0});
    int timeout = -1;
    std::vector<std::function<void()>> due;
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      for (const auto& [fd, watch] : watches_) descriptors.push_back({fd, POLLIN, 0});
      const auto now = Clock::now();
      while (!timers_.empty() && timers_.begin()->first <= now) {
        due.push_back(std::move(timers_.begin()->second));
        timers_.erase(timers_.begin());
      }
      if (!timers_.empty()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first - now);
        timeout = static_cast<int>(std::min<std::int64_t>(left.count(), 60'000));
      }
    }
    for (auto& action : due) action();
    if (!due.empty()) continue;

    if (poll(descriptors.data(), descriptors.size(), timeout) < 0) continue;
    if (descriptors[0].revents) wakeup_.clear();
    for (std::size_t i = 1; i < descriptors.size(); ++i) {
      if (descriptors[i].revents == 0) continue;
      std::function<bool(int)>* ready = nullptr;
      {
        std::lock_guard lock(mutex_);
        if (stopping_) return;
        // Only this thread removes watches, and map nodes do not move: the pointer stays good.
        ready = &watches_.at(descriptors[i].fd).ready;
      }
      if ((*ready)(descriptors[i].fd)) continue;
      Watch finished;
      std::lock_guard lock(mutex_);
      auto entry = watches_.find(descriptors[i].fd);
      finished = std::move(entry->second);
      watches_.erase(entry);
    }
  }
}

}  // namespace emj::local
