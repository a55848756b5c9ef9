// SPDX-License-Identifier: Apache-2.0
// Promise: checkpoints come as often as cost and failures ask for, within bounds, and the moment is met with
// few looks.
#include "runtime/checkpoint/cadence.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace empi::checkpoint {
namespace {

TEST(Cadence, IsDalysWithinBounds) {
  // A stop of .1 s on 100 nodes of 720 h: sqrt(2 x .1 x 25,920) - .1, by hand.
  EXPECT_NEAR(interval({}, .1, 100), 71.9, .1);
  EXPECT_EQ(interval({}, 1e-6, 100), kShortestInterval);
  EXPECT_EQ(interval({}, 60, 1), kLongestInterval);
  EXPECT_LT(interval({.mtbf_hours = 72}, .1, 100), interval({}, .1, 100)) << "where nodes fail more often";
  EXPECT_LT(interval({}, .1, 400), interval({}, .1, 100)) << "on more of them";
  EXPECT_EQ(interval({}, 0, 0), kShortestInterval);
}

TEST(Cadence, WhatIsGivenHolds) { EXPECT_EQ(interval({.every_seconds = 3}, 100, 1), 3); }

TEST(Cadence, NothingKnownMeansTheNextIteration) {
  EXPECT_EQ(next_look(100, 0, 0, 10), 1);
  EXPECT_EQ(next_look(0, 10, 1, 10), 1) << "what is due is looked for at once";
  EXPECT_EQ(next_look(-5, 10, 1, 10), 1);
}

// Runs iterations of the length `each(i)` until a checkpoint after `wanted` seconds; says when it came and
// after how many looks.
template <class Each>
std::pair<double, int> meet(double wanted, Each each) {
  double now = 0, since = 0;
  std::int64_t until = 1, done = 0;
  int looks = 0;
  for (std::int64_t i = 0;; ++i) {
    now += each(i);
    ++done;
    if (--until > 0) continue;
    ++looks;
    if (now >= wanted) return {now, looks};
    until = next_look(wanted - now, done, now - since, 30);
    since = now;
    done = 0;
  }
}

TEST(Cadence, TheMomentIsMetInFewLooks) {
  const auto [even, looks] = meet(60, [](std::int64_t) { return .01; });
  EXPECT_LT(even, 60.1);
  EXPECT_LT(looks, 40);
  const auto [slowing, more] = meet(60, [](std::int64_t i) { return i < 1000 ? .01 : .02; });
  EXPECT_LT(slowing, 61) << "iterations that become twice as long";
  EXPECT_LT(more, 40);
  const auto [first, others] = meet(60, [](std::int64_t i) { return i == 0 ? 1e-6 : 1.0; });
  EXPECT_LT(first, 63) << "a first iteration that did nothing";
  EXPECT_LT(others, 40);
}

}  // namespace
}  // namespace empi::checkpoint
