// SPDX-License-Identifier: Apache-2.0
#include "runtime/queue/phase.hpp"

#include <chrono>

namespace empi::queue {

Portion compute(Range tasks, std::int64_t width, const Task& task, const std::function<bool()>& stop) {
  using Clock = std::chrono::steady_clock;
  Portion portion;
  portion.tasks = {tasks.first, 0};
  portion.results.resize(static_cast<std::size_t>(tasks.count * width));
  Clock::time_point before = Clock::now();
  for (std::int64_t i = 0; i < tasks.count; ++i) {
    task(tasks.first + i, portion.results.data() + i * width);
    const Clock::time_point after = Clock::now();
    const double seconds = std::chrono::duration<double>(after - before).count();
    portion.times.add({1, seconds, seconds * seconds});
    ++portion.tasks.count;
    before = after;
    if (i + 1 < tasks.count && stop()) break;
  }
  portion.results.resize(static_cast<std::size_t>(portion.tasks.count * width));
  return portion;
}

}  // namespace empi::queue
