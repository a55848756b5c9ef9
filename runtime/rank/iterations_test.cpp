// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/iterations.hpp"

#include <gtest/gtest.h>

namespace empi::rank {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

class Lost : public ::testing::Test {
 protected:
  void iterate(int times, std::uint64_t ms, bool undisturbed = true) {
    for (int i = 0; i < times; ++i) {
      now += ms * kMs;
      iterations.probe(now, undisturbed);
    }
  }
  Lost() { iterations.probe(now, true); }

  Iterations iterations;
  std::uint64_t now = kMs;
};

TEST_F(Lost, IsTheTimeBeyondTheMeanFromBuildingToFiveIterationsAfterTheCommit) {
  iterate(60, 9);
  iterate(60, 11);  // mean 10
  iterations.change_begins(1);
  iterate(20, 12);
  iterations.window_opens();
  iterations.committed(0);
  iterate(1, 50);  // the iteration that the window interrupted
  iterate(5, 13);
  ASSERT_EQ(iterations.lost_ms(), 20 * 2 + 40 + 5 * 3);
  EXPECT_EQ(iterations.lost_ms(), std::nullopt) << "told once";
}

TEST_F(Lost, BaselineIsOfIterationsBeforeTheChangeWasPrepared) {
  iterate(40, 10);
  iterate(200, 30, false);  // joiners start
  iterations.change_begins(1);
  iterate(10, 12);
  iterations.window_opens();
  iterations.committed(0);
  iterate(6, 10);
  EXPECT_EQ(iterations.lost_ms(), 20);
}

TEST_F(Lost, WithoutABaselineOnlyTheWindowCounts) {
  iterate(3, 10);
  iterations.change_begins(1);
  iterate(10, 12);
  iterations.window_opens();
  iterations.committed(7 * kMs);
  iterate(1, 25);  // most of it computes, in many programs
  iterate(5, 10);
  EXPECT_EQ(iterations.lost_ms(), 7);
}

TEST_F(Lost, AnInterruptedIterationIsNoMeasureOfOne) {
  EXPECT_EQ(iterations.probe(now + 5 * kMs, true), 5 * kMs);
  iterations.window_opens();
  EXPECT_EQ(iterations.probe(now + 100 * kMs, true), std::nullopt);
}

}  // namespace
}  // namespace empi::rank
