// SPDX-License-Identifier: Apache-2.0
// What master and worker have in common: a phase, a task, what becomes of it.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/queue/connection.hpp"
#include "runtime/queue/queue.hpp"

namespace empi::queue {

struct Phase {
  std::uint64_t number = 0;  // 1, 2, ...
  std::int64_t tasks = 0;
  std::int64_t width = 0;  // bytes per result
  bool operator==(const Phase&) const = default;
  std::string text() const {
    return std::to_string(tasks) + " tasks with results of " + std::to_string(width) + " bytes";
  }
};

// Does task `index` and writes its result, `width` bytes.
using Task = std::function<void(std::int64_t index, std::byte* result)>;

struct Outcome {
  bool left = false;     // this process is not part of the job any more
  SharedBytes results;   // of all tasks, by index; null when left
  int workers = 1;       // processes that were there at the end
  bool changed = false;  // some have come or gone since the start
};

// What makes MPI worlds of the processes that take part (decision R8); empty: they do not want one.
struct WorldMaker {
  // Begins to build the world `name`, in place of one that is being built; the same is asked of all `ranks`,
  // which are in their order. Must not wait; Participant::world_built is told. Any thread.
  std::function<void(const std::string& name, const std::vector<WorkerId>& ranks)> build;
  // All have built it: it is the world from now on. Main thread.
  std::function<void(const std::string& name)> adopt;
};

// Of the clock that all of this is measured by.
inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Does tasks until `stop` says so after one; appends their results. Returns the tasks that were done.
struct Portion {
  Range tasks;
  TaskTimes times;
  Bytes results;
};
Portion compute(Range tasks, std::int64_t width, const Task& task, const std::function<bool()>& stop);

// Seconds that the main thread has spent on something, ever. Written by it, read by any thread.
class SpentClock {
 public:
  double seconds() const { return static_cast<double>(ns_.load(std::memory_order_relaxed)) * 1e-9; }
  void add(std::int64_t ns) { ns_.fetch_add(ns, std::memory_order_relaxed); }
  std::int64_t ns() const { return ns_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> ns_{0};
};

}  // namespace empi::queue
