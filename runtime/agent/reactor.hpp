// SPDX-License-Identifier: Apache-2.0
// The agent's one thread of decisions: an epoll loop with timers, to which other threads post work.
// Everything that is not said to be callable from any thread belongs to the thread in run().
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/unique_fd.hpp"
#include "runtime/base/wakeup.hpp"

namespace empi::agent {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Millis = std::chrono::milliseconds;

class Reactor {
 public:
  using Task = std::function<void()>;
  using TimerId = std::uint64_t;

  Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // From any thread: runs `task` in the loop, in the order of posting. Tasks posted after the loop has
  // stopped are dropped.
  void post(Task task);

  // Calls `on_ready(epoll events)` while `fd` is ready. The caller keeps owning `fd`; unwatch before closing.
  void watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> on_ready);
  void unwatch(int fd);

  TimerId after(Millis delay, Task task);
  void cancel(TimerId timer);

  void run();   // until stop()
  void stop();  // from any thread

  // From any thread: how long ago the loop went round last. It goes round for each timer, so that with one
  // that is due often an old loop is one that hangs in a task.
  Millis age() const;

 private:
  int wait_milliseconds() const;
  void run_posted();
  void run_due_timers();

  std::atomic<TimePoint> turned_{Clock::now()};
  UniqueFd epoll_;
  Wakeup wakeup_;
  bool stopped_ = false;
  bool closed_ = false;  // guarded by mutex_: run() has ended, posted tasks are dropped
  std::mutex mutex_;     // guards posted_
  std::vector<Task> posted_;
  std::unordered_map<int, std::function<void(std::uint32_t)>> watched_;
  std::map<std::pair<TimePoint, TimerId>, Task> timers_;
  std::unordered_map<TimerId, TimePoint> timer_times_;
  TimerId next_timer_ = 1;
};

}  // namespace empi::agent
