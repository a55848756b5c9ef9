// SPDX-License-Identifier: Apache-2.0
// One thread that waits for descriptors and points in time. Everything of local jobs that happens by
// itself (a pod ends, a line is printed, a command arrives, a signal) is handled there, shortly; the
// controller's thread is woken through Wakeup.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "operator/local/process.hpp"
#include "runtime/base/wakeup.hpp"

namespace emj::local {

using empi::Wakeup;

class EventLoop {
 public:
  using Clock = std::chrono::steady_clock;
  EventLoop();
  ~EventLoop() { stop(); }
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  using Id = std::uint64_t;
  // `ready` is called whenever `fd` is readable or has hung up, until it returns false. The loop owns `fd`.
  Id watch(UniqueFd fd, std::function<bool(int fd)> ready);
  // Closes it, if it is watched still: its callback does not run afterwards. Not from that callback.
  void forget(Id id);
  void at(Clock::time_point time, std::function<void()> action);
  // Ends the thread: no callback runs afterwards. Not from a callback.
  void stop();

 private:
  struct Watch {
    UniqueFd fd;
    std::function<bool(int)> ready;
  };
  void run();
  void call(Id id);

  Wakeup wakeup_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::map<Id, Watch> watches_;
  Id last_id_ = 0, calling_ = 0;  // calling_: whose callback runs, or 0
  std::multimap<Clock::time_point, std::function<void()>> timers_;
  bool stopping_ = false;
  std::thread thread_;
};

// Stands after what callbacks use: they are over before it is gone.
struct StoppedAtEnd {
  EventLoop& loop;
  ~StoppedAtEnd() { loop.stop(); }
};

}  // namespace emj::local
