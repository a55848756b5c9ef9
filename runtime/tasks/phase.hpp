// What master and worker have in common: a phase, a task, what becomes of it.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>

#include "runtime/tasks/connection.hpp"
#include "runtime/tasks/queue.hpp"

namespace empi::tasks {

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

// Does tasks until `stop` says so after one; appends their results. Returns the tasks that were done.
struct Portion {
  Range tasks;
  TaskTimes times;
  Bytes results;
};
Portion compute(Range tasks, std::int64_t width, const Task& task, const std::function<bool()>& stop);

// Seconds that the main thread has waited for work, ever. Written by it, read by any thread.
class IdleClock {
 public:
  double seconds() const { return static_cast<double>(ns_.load(std::memory_order_relaxed)) * 1e-9; }
  void add(std::int64_t ns) { ns_.fetch_add(ns, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> ns_{0};
};

}  // namespace empi::tasks
