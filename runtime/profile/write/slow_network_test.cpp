// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile/write/slow_network.hpp"

#include <gtest/gtest.h>

namespace empi::profile {
namespace {

// 1 ms for each message, 8 us for each byte.
class MegabitNetwork : public ::testing::Test {
 protected:
  MegabitNetwork() {
    network.set_delay(1000);
    network.set_rate(1);
  }
  // All that is due, in us.
  std::uint64_t sleep() {
    const std::uint64_t due = network.due();
    network.slept(due);
    return due / 1000;
  }
  SlowNetwork network;
};

TEST_F(MegabitNetwork, AMessageCostsADelayAndItsBytes) {
  network.messages(1, 100);
  EXPECT_EQ(sleep(), 1800u);
  EXPECT_EQ(sleep(), 0u);
  network.messages(4, 100);
  EXPECT_EQ(sleep(), 4800u);
}

TEST_F(MegabitNetwork, ACollectiveDoesSoInEachRound) {
  const std::uint64_t rounds[] = {0, 0, 1, 2, 2, 3, 3, 3, 3, 4};
  for (int ranks = 1; ranks <= 9; ++ranks) {
    network.collective(ranks, 100);
    EXPECT_EQ(sleep(), rounds[ranks] * 1800) << ranks;
  }
}

TEST_F(MegabitNetwork, ShortSleepsAreSavedUpAndLateOnesMadeUpFor) {
  network.set_delay(50);
  for (int i = 0; i < 3; ++i) {
    network.messages(1, 0);
    EXPECT_EQ(sleep(), 0u);
  }
  network.messages(1, 0);
  EXPECT_EQ(network.due(), 200'000u);
  network.slept(260'000);
  for (int i = 0; i < 5; ++i) network.messages(1, 0);
  EXPECT_EQ(sleep(), 0u);
  network.messages(1, 0);
  EXPECT_EQ(sleep(), 240u);
}

TEST(SlowNetwork, AsItIsCostsNothing) {
  SlowNetwork network;
  EXPECT_FALSE(network.slows());
  network.set_rate(0);
  EXPECT_FALSE(network.slows());
  network.set_rate(100);
  EXPECT_TRUE(network.slows());
}

}  // namespace
}  // namespace empi::profile
