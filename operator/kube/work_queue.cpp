// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/work_queue.hpp"

#include <algorithm>

#include "runtime/base/backoff.hpp"

namespace emj::kube {

void WorkQueue::enter(const ObjectKey& key, const Waiting& waiting) {
  lines_[static_cast<std::size_t>(waiting.lane)].emplace(waiting.since, key);
}

void WorkQueue::add_locked(const ObjectKey& key, Lane lane, Instant now) {
  if (shut_) return;
  const auto [entry, fresh] = queued_.try_emplace(key, Waiting{lane, now});
  Waiting& waiting = entry->second;
  const bool promoted = !fresh && lane == Lane::News && waiting.lane == Lane::Look;
  if (!fresh && !promoted) return;
  if (fresh) ++added_;
  const bool in_hand = in_hand_.contains(key);  // done() puts it into its line
  if (promoted) {
    if (!in_hand) {
      Line& looks = lines_[static_cast<std::size_t>(Lane::Look)];
      const auto [begin, end] = looks.equal_range(waiting.since);
      looks.erase(std::find_if(begin, end, [&](const auto& other) { return other.second == key; }));
    }
    waiting = {Lane::News, now};
  }
  if (!in_hand) enter(key, waiting);
}

// One of those that wait in take(): any of the others, if there is one, else the one that keeps the time.
void WorkQueue::wake_one() {
  if (waiting_takers_ > wakes_) {
    ++wakes_;
    takers_.notify_one();
  } else if (time_is_kept_) {
    ++revision_;
    timekeeper_.notify_one();
  }
}

void WorkQueue::add(const ObjectKey& key, Lane lane) {
  const std::lock_guard lock(mutex_);
  add_locked(key, lane, clock_.now());
  if (any_ready()) wake_one();
}

void WorkQueue::add_after_locked(const ObjectKey& key, Millis delay) {
  if (shut_) return;
  const Instant now = clock_.now();
  if (delay.count() <= 0) {
    add_locked(key, Lane::Look, now);
    if (any_ready()) wake_one();
    return;
  }
  const Instant due = now + delay;
  const auto known = delayed_.find(key);
  if (known != delayed_.end()) {
    if (known->second <= due) return;
    const auto [begin, end] = due_.equal_range(known->second);
    due_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == key; }));
  }
  delayed_[key] = due;
  const auto entry = due_.emplace(due, key);
  if (entry == due_.begin() && time_is_kept_) {
    ++revision_;
    timekeeper_.notify_one();
  }
}

void WorkQueue::add_after(const ObjectKey& key, Millis delay) {
  const std::lock_guard lock(mutex_);
  add_after_locked(key, delay);
}

void WorkQueue::add_after_failure(const ObjectKey& key) {
  const std::lock_guard lock(mutex_);
  if (shut_) return;
  const int before = failures_[key]++;
  ++failed_;
  add_after_locked(key, empi::backoff(options_.first_backoff, options_.longest_backoff, before));
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
    const auto [due, key] = *due_.begin();
    due_.erase(due_.begin());
    delayed_.erase(key);
    add_locked(key, Lane::Look, due);
  }
}

WorkQueue::Taken WorkQueue::take_locked(Instant now) {
  Line &news = lines_[static_cast<std::size_t>(Lane::News)],
       &looks = lines_[static_cast<std::size_t>(Lane::Look)];
  const bool look = news.empty() || (!looks.empty() && news_in_a_row_ >= kNewsInARow);
  news_in_a_row_ = look ? 0 : news_in_a_row_ + 1;
  Line& line = look ? looks : news;
  const auto first = line.begin();
  Taken taken{first->second, look ? Lane::Look : Lane::News,
              std::chrono::duration_cast<Millis>(now - first->first)};
  line.erase(first);
  queued_.erase(taken.key);
  in_hand_.insert(taken.key);
  ++taken_;
  return taken;
}

void WorkQueue::wait(std::unique_lock<std::mutex>& lock) {
  if (time_is_kept_) {
    ++waiting_takers_;
    clock_.wait_until(takers_, lock, Instant::max(), [this] { return wakes_ > 0 || shut_; });
    --waiting_takers_;
    if (wakes_ > 0) --wakes_;
  } else {
    time_is_kept_ = true;
    const Instant next = due_.empty() ? Instant::max() : due_.begin()->first;
    const std::uint64_t seen = revision_;
    clock_.wait_until(timekeeper_, lock, next, [&] { return revision_ != seen || shut_; });
    time_is_kept_ = false;
  }
  ++woken_;
}

std::optional<WorkQueue::Taken> WorkQueue::take() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const Instant now = clock_.now();
    ripen(now);
    if (shut_) return std::nullopt;
    if (any_ready()) {
      Taken taken = take_locked(now);
      // Somebody else goes on with what is left, and keeps the time.
      if (any_ready() || !time_is_kept_) wake_one();
      return taken;
    }
    wait(lock);
  }
}

void WorkQueue::done(const ObjectKey& key) {
  const std::lock_guard lock(mutex_);
  if (in_hand_.erase(key) == 0) return;
  if (const auto again = queued_.find(key); again != queued_.end() && !shut_) {
    enter(key, again->second);
    wake_one();
  }
  if (in_hand_.empty()) idle_.notify_all();
}

void WorkQueue::shut_down() {
  const std::lock_guard lock(mutex_);
  shut_ = true;
  takers_.notify_all();
  timekeeper_.notify_all();
}

bool WorkQueue::drain(Millis timeout) {
  std::unique_lock lock(mutex_);
  return clock_.wait_until(idle_, lock, clock_.now() + timeout, [this] { return in_hand_.empty(); });
}

WorkQueue::Stats WorkQueue::stats() const {
  std::lock_guard lock(mutex_);
  return {lines_[0].size() + lines_[1].size(),
          delayed_.size(),
          in_hand_.size(),
          failures_.size(),
          added_,
          taken_,
          failed_,
          woken_};
}

}  // namespace emj::kube
