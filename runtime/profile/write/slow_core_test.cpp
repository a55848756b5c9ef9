// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile/write/slow_core.hpp"

#include <gtest/gtest.h>

namespace empi::profile {
namespace {

constexpr std::uint64_t kMs = 1000000, kUs = 1000;

// A rank that computes and sleeps; the clock goes on as it is told.
class Rank : public testing::Test {
 protected:
  Rank() { core_.set_factor(16); }
  // `cpu` of processor time in `clock` of time, then the sleep that is due (which may take longer).
  std::uint64_t compute(std::uint64_t cpu, std::uint64_t clock, std::uint64_t overshoot = 0) {
    cpu_ += cpu;
    now_ += clock;
    const std::uint64_t due = core_.due(cpu_, now_);
    if (due > 0) {
      now_ += due + overshoot;
      core_.slept(due + overshoot);
    }
    core_.begin(cpu_, now_);
    return due;
  }
  SlowCore core_;
  std::uint64_t cpu_ = 0, now_ = 0;
};

TEST_F(Rank, TakesTheFactorOfItsProcessorTime) {
  compute(10 * kMs, 10 * kMs);
  EXPECT_EQ(now_, 160 * kMs);
}

TEST_F(Rank, TakesNoLongerWhereItWaitsForAProcessor) {
  compute(10 * kMs, 70 * kMs);
  EXPECT_EQ(now_, 160 * kMs);
  compute(10 * kMs, 160 * kMs);
  EXPECT_EQ(now_, 320 * kMs);
}

TEST_F(Rank, MakesUpForWhatCameLate) {
  compute(10 * kMs, 10 * kMs, 3 * kMs);
  EXPECT_EQ(now_, 163 * kMs);
  compute(1 * kMs, 50 * kMs);
  EXPECT_EQ(now_, 213 * kMs);
  compute(10 * kMs, 10 * kMs);
  EXPECT_EQ(now_, 21 * 16 * kMs);
}

TEST_F(Rank, DoesNotRunFastForLongAfterItStoodStill) {
  compute(1 * kMs, 60000 * kMs);
  for (int i = 0; i < 20; ++i) compute(1 * kMs, 1 * kMs);
  EXPECT_EQ(now_, 60000 * kMs + 20 * 16 * kMs - 100 * kMs);
}

TEST_F(Rank, SavesUpShortSleeps) {
  EXPECT_EQ(compute(5 * kUs, 5 * kUs), 0u);
  EXPECT_EQ(compute(5 * kUs, 5 * kUs), 0u);
  EXPECT_EQ(compute(5 * kUs, 5 * kUs), 225 * kUs);
}

TEST_F(Rank, WhatIsBeforeABeginningDoesNotCount) {
  cpu_ += 100 * kMs;
  now_ += 900 * kMs;
  core_.begin(cpu_, now_);
  EXPECT_EQ(compute(1 * kMs, 1 * kMs), 15 * kMs);
}

}  // namespace
}  // namespace empi::profile
