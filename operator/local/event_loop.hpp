// SPDX-License-Identifier: Apache-2.0
#pragma once

// One thread that waits for descriptors and points in time. Everything of a local job that happens by
// itself (a pod ends, a line is printed, a command arrives, a signal) is handled there, shortly; the
// controller's thread is woken through Wakeup.

#include <chrono>
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

  // `ready` is called whenever `fd` is readable or has hung up, until it returns false. The loop owns `fd`.
  void watch(UniqueFd fd, std::function<bool(int fd)> ready);
  void at(Clock::time_point time, std::function<void()> action);
  // Ends the thread: no callback runs afterwards. Not from a callback.
  void stop();

 private:
  struct Watch {
    UniqueFd fd;
    std::function<bool(int)> ready;
  };
  void run();

  Wakeup wakeup_;
  std::mutex mutex_;
  std::map<int, Watch> watches_;  // by descriptor
  std::multimap<Clock::time_point, std::function<void()>> timers_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace emj::local
