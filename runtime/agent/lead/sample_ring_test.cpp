// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/sample_ring.hpp"

#include <gtest/gtest.h>

namespace empi::agent {
namespace {

WindowSample of_window(std::int64_t index) {
  WindowSample s;
  s.index = index;
  s.width_s = 1;
  s.ranks = 2;
  s.pods = 1;
  return s;
}

constexpr std::int64_t kStart = 1'763'800'000;

// Two pods at the same time: one whose clock is ours, one whose clock is `ahead` windows ahead.
void expect_merged(std::int64_t ahead) {
  SampleRing ring;
  for (std::int64_t now = kStart; now < kStart + 600; ++now) {
    ring.add("a", of_window(now), now);
    ring.add("b", of_window(now + ahead), now);
  }
  const auto windows = ring.since(-1);
  ASSERT_EQ(windows.size(), 512u) << ahead;
  EXPECT_EQ(windows.back().index, kStart + 599) << ahead;
  for (const WindowSample& w : windows) EXPECT_EQ(w.pods, 2) << ahead << " at " << w.index - kStart;
  EXPECT_EQ(ring.since(kStart + 598).size(), 1u) << ahead;
}

TEST(SampleRingTest, MergesPodsByWindowAndForgetsTheOldest) { expect_merged(0); }

TEST(SampleRingTest, AClockThatIsAheadPushesNothingOutAndIsMerged) {
  expect_merged(3600);
  expect_merged(2);
}

TEST(SampleRingTest, AClockThatIsBehindIsMerged) {
  expect_merged(-3600);
  expect_merged(-2);
}

TEST(SampleRingTest, SamplesThatWereHeldUpCountForTheirWindow) {
  SampleRing ring;
  for (std::int64_t i = 0; i < 100; ++i) ring.add("a", of_window(kStart + i), kStart + i);
  for (std::int64_t i = 0; i < 60; ++i) ring.add("b", of_window(kStart + i), kStart + i);
  for (std::int64_t i = 60; i < 100; ++i) ring.add("b", of_window(kStart + i), kStart + 99);  // all at once
  for (const WindowSample& w : ring.since(-1)) EXPECT_EQ(w.pods, 2) << w.index - kStart;
}

TEST(SampleRingTest, AClockThatIsSetRightIsBelievedAtOnce) {
  SampleRing ring;
  for (std::int64_t i = 0; i < 20; ++i) {
    ring.add("a", of_window(kStart + i), kStart + i);
    ring.add("b", of_window(kStart + i + (i < 10 ? 3600 : 0)), kStart + i);
    ring.add("c", of_window(kStart + i - (i < 10 ? 3600 : 0)), kStart + i);
  }
  EXPECT_EQ(ring.since(-1).size(), 20u);
  for (const WindowSample& w : ring.since(-1)) EXPECT_EQ(w.pods, 3) << w.index - kStart;
}

TEST(SampleRingTest, ALeadWhoseClockWasAheadHandsNoFutureOver) {
  SampleRing ring;
  ring.take_over({of_window(kStart - 1), of_window(kStart + 3600)}, kStart);
  ring.add("a", of_window(kStart), kStart);
  EXPECT_EQ(ring.since(-1).size(), 2u);
  EXPECT_EQ(ring.since(-1).back().index, kStart);
}

TEST(SampleRingTest, IndicesThatCannotBeAreIgnored) {
  SampleRing ring;
  for (const std::int64_t index : {INT64_MIN, INT64_MAX, std::int64_t{-1}})
    ring.add("a", of_window(index), kStart);
  EXPECT_TRUE(ring.since(INT64_MIN).empty());
}

}  // namespace
}  // namespace empi::agent
