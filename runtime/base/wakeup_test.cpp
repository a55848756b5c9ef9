// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/wakeup.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace empi {
namespace {

bool is_readable(const Wakeup& wakeup) {
  pollfd ready{wakeup.fd(), POLLIN, 0};
  return poll(&ready, 1, 0) == 1;
}

TEST(Wakeup, IsReadableFromNotifyToClear) {
  const Wakeup wakeup;
  EXPECT_FALSE(is_readable(wakeup));
  wakeup.notify();
  wakeup.notify();
  EXPECT_TRUE(is_readable(wakeup));
  wakeup.clear();
  EXPECT_FALSE(is_readable(wakeup));
  wakeup.clear();  // nothing to clear: does not wait
}

TEST(Wakeup, ANotifyBetweenTwoWaitsIsNotLost) {
  const Wakeup wakeup;
  wakeup.notify();
  const auto start = Wakeup::Clock::now();
  wakeup.wait_until(start + std::chrono::seconds(20));
  EXPECT_LT(Wakeup::Clock::now() - start, std::chrono::seconds(20));
  EXPECT_FALSE(is_readable(wakeup));
}

TEST(Wakeup, WaitsNoLongerThanTheDeadline) {
  const Wakeup wakeup;
  const auto deadline = Wakeup::Clock::now() + std::chrono::milliseconds(3);
  wakeup.wait_until(deadline);
  EXPECT_GE(Wakeup::Clock::now(), deadline);
  wakeup.wait_until(deadline - std::chrono::seconds(5));  // past already
}

TEST(Wakeup, EndsAWaitOfAnotherThread) {
  const Wakeup wakeup;
  const auto start = Wakeup::Clock::now();
  std::thread waiting([&] { wakeup.wait_until(start + std::chrono::seconds(20)); });
  wakeup.notify();
  waiting.join();
  EXPECT_LT(Wakeup::Clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace empi
