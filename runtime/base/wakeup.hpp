// SPDX-License-Identifier: Apache-2.0
// Wakes a thread that waits for descriptors, or for a point in time. From any thread, also from a signal
// handler.
#pragma once
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <system_error>

#include "runtime/base/unique_fd.hpp"

namespace empi {

class Wakeup {
 public:
  using Clock = std::chrono::steady_clock;

  // Throws std::system_error.
  Wakeup() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!fd_) throw std::system_error(errno, std::generic_category(), "making an eventfd");
  }

  // `fd()` is readable from now on until clear(). A notify() that nobody waits for is not lost.
  void notify() const {
    const std::uint64_t one = 1;
    static_cast<void>(!write(fd_.get(), &one, sizeof one));  // fails when it is full: then it is readable
  }
  void clear() const {
    std::uint64_t count = 0;
    static_cast<void>(!read(fd_.get(), &count, sizeof count));  // fails when nobody notified
  }
  // For poll and epoll, where it is one of several.
  int fd() const { return fd_.get(); }

  // Returns at the deadline or after notify(), whichever is first, and clears.
  void wait_until(Clock::time_point deadline) const {
    using std::chrono::nanoseconds;
    for (;;) {
      const nanoseconds left = std::max(nanoseconds(0), nanoseconds(deadline - Clock::now()));
      const timespec limit{static_cast<std::time_t>(left.count() / 1'000'000'000),
                           left.count() % 1'000'000'000};
      pollfd ready{fd_.get(), POLLIN, 0};
      const int n = ppoll(&ready, 1, &limit, nullptr);
      if (n < 0 && errno == EINTR) continue;
      clear();
      return;
    }
  }

 private:
  UniqueFd fd_;
};

}  // namespace empi
