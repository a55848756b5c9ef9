// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/thread_time.hpp"

#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace empi {
namespace {

double own_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Computes for 50 ms of processor time, then waits to be let go.
class Busy {
 public:
  Busy()
      : thread_([this] {
          while (own_seconds() < 0.05) {
          }
          std::unique_lock lock(mutex_);
          id_ = gettid();
          changed_.notify_all();
          changed_.wait(lock, [this] { return over_; });
        }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return id_ != 0; });
  }
  ~Busy() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  pid_t id() const { return id_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  pid_t id_ = 0;
  bool over_ = false;
  std::thread thread_;
};

TEST(ThreadTime, CountsTheThreadsOfThatNameAlone) {
  const Busy one, other, unnamed;
  EXPECT_EQ(thread_seconds(getpid(), "a (b) c"), 0);
  name_thread(one.id(), "a (b) c");
  const double of_one = thread_seconds(getpid(), "a (b) c");
  EXPECT_GE(of_one, 0.03);  // ticks are of 10 ms
  name_thread(other.id(), "a (b) c");
  EXPECT_GE(thread_seconds(getpid(), "a (b) c"), of_one + 0.03);
}

TEST(ThreadTime, IsNothingForAProcessThatIsNotThere) { EXPECT_EQ(thread_seconds(-7, "a"), 0); }

}  // namespace
}  // namespace empi
