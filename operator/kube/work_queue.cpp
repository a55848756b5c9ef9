// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/work_queue.hpp"

#include <algorithm>

#include "runtime/base/backoff.hpp"

namespace emj::kube {

void WorkQueue::add_locked(const ObjectKey& key) {
  if (shut_ || !queued_.insert(key).second) return;
  ++added_;
  if (in_hand_.contains(key)) return;  // done() puts it into the line
  ready_.push_back(key);
}

void WorkQueue::add(const ObjectKey& key) {
  {
    std::lock_guard lock(mutex_);
    add_locked(key);
    ++revision_;
  }
  condition_.notify_all();
}

void WorkQueue::add_after_locked(const ObjectKey& key, Millis delay) {
  if (shut_) return;
  if (delay.count() <= 0) return add_locked(key);
  const Instant due = clock_.now() + delay;
  const auto known = delayed_.find(key);
  if (known != delayed_.end()) {
    if (known->second <= due) return;
    const auto [begin, end] = due_.equal_range(known->second);
    due_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == key; }));
  }
  delayed_[key] = due;
  due_.emplace(due, key);
}

void WorkQueue::add_after(const ObjectKey& key, Millis delay) {
  {
    std::lock_guard lock(mutex_);
    add_after_locked(key, delay);
    ++revision_;
  }
  condition_.notify_all();
}

void WorkQueue::add_after_failure(const ObjectKey& key) {
  {
    std::lock_guard lock(mutex_);
    if (shut_) return;
    const int before = failures_[key]++;
    ++failed_;
    add_after_locked(key, empi::backoff(options_.first_backoff, options_.longest_backoff, before));
    ++revision_;
  }
  condition_.notify_all();
}

void WorkQueue::forget(const ObjectKey& key) {
  std::lock_guard lock(mutex_);
  failures_.erase(key);
}

int WorkQueue::failures(const ObjectKey& key) const {
  std::lock_guard lock(mutex_);
  const auto found = failures_.find(key);
  return found == failures_.end() ? 0 : found->second;
}

void WorkQueue::ripen(Instant now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const ObjectKey key = due_.begin()->second;
    due_.erase(due_.begin());
    delayed_.erase(key);
    add_locked(key);
  }
}

std::optional<ObjectKey> WorkQueue::take() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ripen(clock_.now());
    if (shut_) return std::nullopt;
    if (!ready_.empty()) {
      const ObjectKey key = std::move(ready_.front());
      ready_.pop_front();
      queued_.erase(key);
      in_hand_.insert(key);
      ++taken_;
      return key;
    }
    const Instant next = due_.empty() ? Instant::max() : due_.begin()->first;
    const std::uint64_t seen = revision_;
    clock_.wait_until(condition_, lock, next, [&] { return revision_ != seen; });
  }
}

void WorkQueue::done(const ObjectKey& key) {
  {
    std::lock_guard lock(mutex_);
    if (in_hand_.erase(key) == 0) return;
    if (queued_.contains(key) && !shut_) ready_.push_back(key);
    ++revision_;
  }
  condition_.notify_all();
}

void WorkQueue::shut_down() {
  {
    std::lock_guard lock(mutex_);
    shut_ = true;
    ++revision_;
  }
  condition_.notify_all();
}

bool WorkQueue::drain(Millis timeout) {
  std::unique_lock lock(mutex_);
  return clock_.wait_until(condition_, lock, clock_.now() + timeout, [this] { return in_hand_.empty(); });
}

WorkQueue::Stats WorkQueue::stats() const {
  std::lock_guard lock(mutex_);
  return {ready_.size(), delayed_.size(), in_hand_.size(), failures_.size(), added_, taken_, failed_};
}

}  // namespace emj::kube
