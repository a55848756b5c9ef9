// SPDX-License-Identifier: Apache-2.0
// Keys that want work. A key is queued once however often it is added, is never in two hands at once, and
// when it is added while in hand it comes again afterwards. Any thread may call anything.
//
// There are two lanes: news, which somebody waits for, go before looks, which come by the clock. Looks are
// not forgotten over news: after kNewsInARow of them one look that waits is taken. A key that was to be
// looked at and is news by now goes into the lane of news.
//
// Of the threads that wait in take() one knows what is due next; a key wakes one thread, not all.
//
//   while (auto taken = queue.take()) {                  // blocks
//     if (work(taken->key)) queue.forget(taken->key);    // success: its backoff starts over
//     else queue.add_after_failure(taken->key);
//     queue.done(taken->key);
//   }
#pragma once
#include <array>
#include <condition_variable>
#include <cstdint>
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
  enum class Lane { News, Look };
  static constexpr int kNewsInARow = 7;
  struct Stats {
    std::size_t ready = 0, delayed = 0, in_hand = 0, failing = 0;  // `ready`: in both lanes
    std::uint64_t added = 0, taken = 0, failures = 0;
    std::uint64_t wake_ups = 0;  // of threads in take(), also of those that found nothing to do
  };
  struct Taken {
    ObjectKey key;
    Lane lane = Lane::News;
    Millis waited{0};  // in its lane
    operator const ObjectKey&() const { return key; }
    bool operator==(const ObjectKey& other) const { return key == other; }
  };

  explicit WorkQueue(Clock& clock = real_clock()) : WorkQueue(Options{}, clock) {}
  WorkQueue(Options options, Clock& clock) : options_(options), clock_(clock) {}

  void add(const ObjectKey& key, Lane lane = Lane::News);
  // As a look, when it is due; of several delays of a key the earliest counts.
  void add_after(const ObjectKey& key, Millis delay);
  void add_after_failure(const ObjectKey& key);  // 5 ms, 10 ms, 20 ms ... 1000 s
  void forget(const ObjectKey& key);             // success: the next failure waits 5 ms again
  int failures(const ObjectKey& key) const;      // since forget()

  // The key that has waited longest in its lane. nullopt after shut_down(), at once: what is still queued is
  // found again by the next process.
  std::optional<Taken> take();
  void done(const ObjectKey& key);  // every take() needs one

  void shut_down();  // no more adds, no more takes
  // Waits until no key is in hand; false: some still are after `timeout` (real or virtual time).
  bool drain(Millis timeout);
  Stats stats() const;

 private:
  struct Waiting {
    Lane lane;
    Instant since;
  };
  using Line = std::multimap<Instant, ObjectKey>;  // by the time since when it waits
  // All with mutex_ held.
  void add_locked(const ObjectKey& key, Lane lane, Instant now);
  void enter(const ObjectKey& key, const Waiting& waiting);
  void add_after_locked(const ObjectKey& key, Millis delay);
  void ripen(Instant now);  // moves what is due from delayed to ready
  Taken take_locked(Instant now);
  void wait(std::unique_lock<std::mutex>& lock);
  void wake_one();
  bool any_ready() const { return !lines_[0].empty() || !lines_[1].empty(); }

  const Options options_;
  Clock& clock_;
  mutable std::mutex mutex_;
  // Takers wait here, but for the one that keeps the time; the caller of drain().
  std::condition_variable takers_, timekeeper_, idle_;
  bool time_is_kept_ = false;
  std::size_t waiting_takers_ = 0;
  std::uint64_t wakes_ = 0;    // given to takers_ and not taken yet
  std::array<Line, 2> lines_;  // by lane
  int news_in_a_row_ = 0;
  std::map<ObjectKey, Waiting> queued_;  // in a line, or wanted again while in hand
  std::set<ObjectKey> in_hand_;
  std::map<ObjectKey, Instant> delayed_;
  std::multimap<Instant, ObjectKey> due_;  // the same by time
  std::map<ObjectKey, int> failures_;
  std::uint64_t added_ = 0, taken_ = 0, failed_ = 0, woken_ = 0;
  std::uint64_t revision_ = 0;  // wakes the one that keeps the time
  bool shut_ = false;
};

}  // namespace emj::kube
