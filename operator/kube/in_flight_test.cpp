// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/in_flight.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "operator/kube/testing/manual_clock.hpp"

namespace emj::kube {
namespace {

class InFlightTest : public ::testing::Test {
 protected:
  // `count` requests side by side, whose answers come after `time`.
  void round(int count, Millis time, InFlight::End end = InFlight::End::Answered) {
    std::vector<std::unique_ptr<InFlight::Turn>> turns;
    for (int i = 0; i < count; ++i) turns.push_back(std::make_unique<InFlight::Turn>(limit_));
    clock_.advance(time);
    if (end == InFlight::End::Answered)
      for (const auto& turn : turns) turn->answered();
    if (end == InFlight::End::NotSent)
      for (const auto& turn : turns) turn->not_sent();
  }

  testing::ManualClock clock_;
  InFlight limit_{64, Seconds(1), clock_};
};

TEST_F(InFlightTest, LateAnswersHalveItOnceForAllThatWereUnderWay) {
  round(64, Millis(20));
  EXPECT_EQ(limit_.limit(), 64);
  round(64, Seconds(2));
  EXPECT_EQ(limit_.limit(), 32);
  round(32, Seconds(2));
  EXPECT_EQ(limit_.limit(), 16);
  for (int i = 0; i < 9; ++i) round(1, Seconds(2));
  EXPECT_EQ(limit_.limit(), 8) << "as many are always allowed";
}

TEST_F(InFlightTest, NoAnswerCountsAsALateOne) {
  round(1, Millis(1), InFlight::End::NotAnswered);
  EXPECT_EQ(limit_.limit(), 32);
  round(1, Seconds(5), InFlight::End::NotSent);
  EXPECT_EQ(limit_.limit(), 32) << "it tells nothing of the server";
}

TEST_F(InFlightTest, GoodAnswersRaiseItByOneARound) {
  round(64, Seconds(2));
  for (int size = 32; size < 40; ++size) {
    EXPECT_EQ(limit_.limit(), size);
    round(size, Millis(20));
  }
  for (int i = 0; i < 100; ++i) round(32, Millis(20));
  EXPECT_EQ(limit_.limit(), 64) << "never more than it was made for";
}

TEST_F(InFlightTest, WhoIsOverTheLimitWaitsForAnother) {
  InFlight one{1, Seconds(1), clock_};
  std::vector<std::unique_ptr<InFlight::Turn>> turns;
  for (int i = 0; i < one.limit(); ++i) turns.push_back(std::make_unique<InFlight::Turn>(one));
  std::atomic<bool> sent = false;
  std::thread late([&] { sent = InFlight::Turn(one).may_go(); });
  EXPECT_FALSE(sent);
  turns.pop_back();
  late.join();
  EXPECT_TRUE(sent);
}

TEST_F(InFlightTest, StopLetsNobodyGo) {
  InFlight one{1, Seconds(1), clock_};
  std::vector<std::unique_ptr<InFlight::Turn>> turns;
  for (int i = 0; i < one.limit(); ++i) turns.push_back(std::make_unique<InFlight::Turn>(one));
  bool went = true;
  std::thread waiting([&] { went = InFlight::Turn(one).may_go(); });
  one.stop();
  waiting.join();
  EXPECT_FALSE(went);
  EXPECT_FALSE(InFlight::Turn(one).may_go());
}

}  // namespace
}  // namespace emj::kube
