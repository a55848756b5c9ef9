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

EventLoop::Id EventLoop::watch(UniqueFd fd, std::function<bool(int)> ready) {
  Id id = 0;
  {
    std::lock_guard lock(mutex_);
    id = ++last_id_;
    watches_[id] = Watch{std::move(fd), std::move(ready)};
  }
  wakeup_.notify();
  return id;
}

void EventLoop::forget(Id id) {
  decltype(watches_)::node_type forgotten;  // what its callback holds ends without the lock
  std::unique_lock lock(mutex_);
  forgotten = watches_.extract(id);  // it stays where it is, and is not called again
  idle_.wait(lock, [this, id] { return calling_ != id; });
  lock.unlock();
}

void EventLoop::at(Clock::time_point time, std::function<void()> action) {
  {
    std::lock_guard lock(mutex_);
    timers_.emplace(time, std::move(action));
  }
  wakeup_.notify();
}

void EventLoop::call(Id id) {
  Watch* watch = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = watches_.find(id);
    if (stopping_ || entry == watches_.end()) return;  // forgotten meanwhile
    watch = &entry->second;  // map nodes do not move, and forget() waits until it is not called
    calling_ = id;
  }
  const bool goes_on = watch->ready(watch->fd.get());
  decltype(watches_)::node_type finished;
  {
    const std::lock_guard lock(mutex_);
    calling_ = 0;
    if (!goes_on) finished = watches_.extract(id);
  }
  idle_.notify_all();
}

void EventLoop::run() {
  std::vector<pollfd> descriptors;
  std::vector<Id> ids;  // of the descriptors
  for (;;) {
    descriptors.assign(1, pollfd{wakeup_.fd(), POLLIN, 0});
    ids.assign(1, 0);
    int timeout = -1;
    std::vector<std::function<void()>> due;
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      for (const auto& [id, watch] : watches_) {
        descriptors.push_back({watch.fd.get(), POLLIN, 0});
        ids.push_back(id);
      }
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
      call(ids[i]);
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
  }
}

}  // namespace emj::local
