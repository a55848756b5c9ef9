// SPDX-License-Identifier: Apache-2.0
#pragma once

// Keys that want work. A key is queued once however often it is added, is never in two hands at once, and
// when it is added while in hand it comes again afterwards. Any thread may call anything.
//
//   while (auto key = queue.take()) {          // blocks
//     if (work(*key)) queue.forget(*key);      // success: its backoff starts over
//     else queue.add_after_failure(*key);
//     queue.done(*key);
//   }

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "operator/kube/clock.hpp"
#include "operator/kube/resource.hpp"

namespace emj::kube {

class WorkQueue {
 public:
  struct Options {
    Millis first_backoff{5};
    Millis longest_backoff{1000 * 1000};
  };
  struct Stats {
    std::size_t ready = 0, delayed = 0, in_hand = 0, failing = 0;
    std::uint64_t added = 0, taken = 0, failures = 0;
  };

  explicit WorkQueue(Clock& clock = real_clock()) : WorkQueue(Options{}, clock) {}
  WorkQueue(Options options, Clock& clock) : options_(options), clock_(clock) {}

  void add(const ObjectKey& key);
  void add_after(const ObjectKey& key, Millis delay);  // of several delays of a key the earliest counts
  void add_after_failure(const ObjectKey& key);        // 5 ms, 10 ms, 20 ms ... 1000 s
  void forget(const ObjectKey& key);                   // success: the next failure waits 5 ms again
  int failures(const ObjectKey& key) const;            // since forget()

  // The key that has waited longest. nullopt after shut_down(), at once: what is still queued is found again
  // by the next process.
  std::optional<ObjectKey> take();
  void done(const ObjectKey& key);  // every take() needs one

  void shut_down();  // no more adds, no more takes
  // Waits until no key is in hand; false: some still are after `timeout` (real or virtual time).
  bool drain(Millis timeout);
  Stats stats() const;

 private:
  void add_locked(const ObjectKey& key);
  void add_after_locked(const ObjectKey& key, Millis delay);
  void ripen(Instant now);  // moves what is due from delayed to ready

  const Options options_;
  Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable condition_;
  std::deque<ObjectKey> ready_;
  std::set<ObjectKey> queued_;  // in ready_, or wanted again while in hand
  std::set<ObjectKey> in_hand_;
  std::map<ObjectKey, Instant> delayed_;
  std::multimap<Instant, ObjectKey> due_;  // the same by time
  std::map<ObjectKey, int> failures_;
  std::uint64_t added_ = 0, taken_ = 0, failed_ = 0;
  std::uint64_t revision_ = 0;  // wakes takers that wait for a later time
  bool shut_ = false;
};

}  // namespace emj::kube
