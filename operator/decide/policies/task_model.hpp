// SPDX-License-Identifier: Apache-2.0
// When a phase of independent tasks will be over, by the number of workers.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "operator/decide/policy.hpp"

namespace emj {

// The running phase as last seen.
struct TaskLoad {
  std::int64_t phase = 0, total = 0, done = 0, queued = 0;
  double mean = 0;       // seconds of a task
  double deviation = 0;  // of their durations
  double longest = 0;
  std::int64_t measured = 0;  // tasks that mean and deviation come from
  double busy = 1;            // share of the ranks' time in tasks while there was a queue

  std::int64_t running() const { return total - done - queued; }
  std::int64_t left() const { return total - done; }
  // Standard deviation of the mean over the mean.
  double error() const;
};

// From the windows of the newest window's phase; nothing when no phase is running or no task has ended.
std::optional<TaskLoad> task_load(const std::vector<Sample>& windows);

class TaskModel {
 public:
  // `measured`: seconds per task of the whole job at sizes where that is known (a queue was there).
  TaskModel(TaskLoad load, int workers, int slots, std::map<int, double> measured = {});

  // Seconds per task of the whole job while there is a queue. Where it was not measured, a rank needs mean +
  // o for a task, with the o of the nearest measured size; o grows in proportion to the ranks towards more
  // workers (one master serves them all) and stays towards fewer.
  double pace(int workers) const;
  // Until the last result: what is left at that pace, and the tail in which some ranks have nothing more to
  // do. The tail is half of the longest task to be expected of as many as there are ranks,
  // mean + deviation sqrt(2 ln ranks) (normal), at least the longest seen so far.
  double seconds_left(int workers) const { return seconds_left(workers, static_cast<double>(load_.left())); }
  // As many workers from now, others after `delay` seconds.
  double seconds_left_changing(int workers, double delay) const;
  // Share of the workers' time until then that is spent in tasks.
  double efficiency(int workers) const;
  // Workers that still have a task once the queue is empty.
  int needed() const;
  const TaskLoad& load() const { return load_; }

 private:
  double seconds_left(int workers, double tasks) const;
  double tail(int workers) const;
  double ranks(int workers) const { return static_cast<double>(workers) * slots_; }

  TaskLoad load_;
  int workers_, slots_;
  std::map<int, double> pace_;
};

// Of a job with these windows, at its present size.
std::optional<TaskModel> task_model(const PolicyInput& input, const PolicyState& state);

}  // namespace emj
