// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/backoff.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

namespace empi {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Backoff, DoublesUpToTheLongest) {
  const int expected[] = {10, 20, 40, 80, 160, 320, 360, 360};
  for (int failures = 0; failures < 8; ++failures)
    EXPECT_EQ(backoff(seconds(10), seconds(360), failures), seconds(expected[failures])) << failures;
}

TEST(Backoff, DoesNotOverflow) {
  EXPECT_EQ(backoff(milliseconds(5), seconds(1000), std::numeric_limits<int>::max()), seconds(1000));
  EXPECT_EQ(backoff(seconds(30), seconds(3600), 1000), seconds(3600));
}

TEST(Backoff, StartsWithTheFirst) {
  EXPECT_EQ(backoff(milliseconds(20), milliseconds(500), 0), milliseconds(20));
  EXPECT_EQ(backoff(milliseconds(20), milliseconds(20), 7), milliseconds(20));
  EXPECT_EQ(backoff(milliseconds(20), milliseconds(20), -1), milliseconds(20));
}

}  // namespace
}  // namespace empi
