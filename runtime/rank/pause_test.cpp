// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/pause.hpp"

#include <gtest/gtest.h>

namespace empi::rank {
namespace {

using std::chrono::microseconds;

class Pauses : public testing::Test {
 protected:
  // After `later` more.
  Pause::Duration after(microseconds later, unsigned passes = 1, bool news = false) {
    return pause.after(passes, news, call, now += later);
  }
  Pause pause;
  Pause::Time now{std::chrono::hours(1)};
  unsigned call = 1;
};

TEST_F(Pauses, BeginByYielding) {
  EXPECT_EQ(after(microseconds(0)), Pause::kYield);
  EXPECT_EQ(after(microseconds(199)), Pause::kYield);
  EXPECT_EQ(after(microseconds(1)), Pause::kShortest);
}

TEST_F(Pauses, GrowWithWhatWasWaitedFor) {
  after(microseconds(0));
  EXPECT_EQ(after(microseconds(4000)), microseconds(500));
  EXPECT_EQ(after(microseconds(4000)), microseconds(1000));
  EXPECT_EQ(after(microseconds(1'000'000)), Pause::kLongest);
}

TEST_F(Pauses, BeginAnewInEachCall) {
  after(microseconds(0));
  after(microseconds(10'000));
  ++call;
  EXPECT_EQ(after(microseconds(10'000)), Pause::kYield);
  EXPECT_EQ(after(microseconds(800)), microseconds(100));
}

// Of a message in many pieces each would be late by a pause otherwise.
TEST_F(Pauses, BeginAnewWhenSomethingCameThroughMemory) {
  after(microseconds(0));
  after(microseconds(10'000));
  EXPECT_EQ(after(microseconds(10), 2), Pause::kYield);
  EXPECT_EQ(after(microseconds(100)), Pause::kYield);
  EXPECT_EQ(after(microseconds(100)), Pause::kShortest);
}

TEST_F(Pauses, AreNoneWhenSomethingCameByASocket) {
  after(microseconds(0));
  after(microseconds(10'000));
  EXPECT_EQ(after(microseconds(10), 1, true), Pause::kNone);
  EXPECT_EQ(after(microseconds(10)), Pause::kYield);
}

TEST_F(Pauses, AreNotForWhoWaitsForALock) {
  after(microseconds(0));
  EXPECT_EQ(after(microseconds(10'000), 0), Pause::kYield);
}

}  // namespace
}  // namespace empi::rank
