// SPDX-License-Identifier: Apache-2.0
// The tasks of one phase of a master-worker program: who has which, which are done. Pure: no clock, no
// threads, no sockets.
//
// Every task is done once or more often (a lost worker's are given out again) and recorded exactly once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace empi::queue {

// Tasks [first, first + count).
struct Range {
  std::int64_t first = 0, count = 0;
  std::int64_t end() const { return first + count; }
  bool operator==(const Range&) const = default;
};

using WorkerId = std::string;

// Durations of tasks, for the size of chunks and for the metrics.
struct TaskTimes {
  std::int64_t tasks = 0;
  double seconds = 0, squares = 0;  // sums of the durations and of their squares (s, s^2)
  void add(const TaskTimes& other);
  double mean() const { return tasks > 0 ? seconds / static_cast<double>(tasks) : 0; }
  double deviation() const;  // standard deviation (s)
};

inline constexpr std::size_t kInFlight = 2;  // chunks a worker has: one in work, one to begin at once

class TaskQueue {
 public:
  explicit TaskQueue(std::int64_t total = 0);

  // A chunk for `worker`, when there is one and it has not enough already. Guided self-scheduling: the
  // fewer tasks are left for each of `workers`, the smaller the chunk; and neither so short that messages
  // dominate nor so long that a worker that wants to leave is kept.
  std::optional<Range> take(const WorkerId& worker, int workers);

  // Tasks of a chunk that `worker` had are done, in any portions. Returns those that were not done before.
  std::vector<Range> done(const WorkerId& worker, Range tasks, const TaskTimes& times);

  // What `worker` has and has not done goes back to the front of the queue: it left, or it is lost.
  // Returns the number of tasks.
  std::int64_t give_back(const WorkerId& worker);
  // The same for all but `kept`: after the queue has been handed over, a worker says what it has.
  std::int64_t keep_only(const WorkerId& worker, const std::vector<Range>& kept);

  std::int64_t total() const { return static_cast<std::int64_t>(done_.size()); }
  std::int64_t completed() const { return completed_; }
  std::int64_t queued() const { return queued_; }
  std::int64_t in_work() const;
  bool finished() const { return completed_ == total(); }
  bool is_done(std::int64_t task) const { return done_[static_cast<std::size_t>(task)]; }
  std::vector<Range> held(const WorkerId& worker) const;
  const std::map<WorkerId, std::vector<Range>>& holders() const { return held_; }
  const TaskTimes& times() const { return times_; }

  // All there is to know, for the next master.
  std::vector<std::byte> pack() const;
  // Throws std::runtime_error when `bytes` are no packed queue.
  static TaskQueue unpack(std::span<const std::byte> bytes);

 private:
  std::int64_t chunk_size(int workers) const;
  void requeue(Range tasks);

  std::vector<bool> done_;
  std::deque<Range> free_;
  std::map<WorkerId, std::vector<Range>> held_;
  std::int64_t queued_ = 0, completed_ = 0;
  TaskTimes times_;
};

}  // namespace empi::queue
