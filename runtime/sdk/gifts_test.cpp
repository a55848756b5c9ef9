// SPDX-License-Identifier: Apache-2.0
// Promise: whoever leaves, every copy that was there is on two pods that stay, or on the only one, and
// nothing is moved that need not be.
#include "runtime/sdk/gifts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace elastic {
namespace {

// A rank has its own copy and that of the same slot on the pod before, as after a snapshot.
std::vector<Holder> world(int pods, int slots) {
  std::vector<Holder> holders;
  const int ranks = pods * slots;
  for (int rank = 0; rank < ranks; ++rank) {
    holders.push_back({{rank}, rank / slots, false});
    if (pods > 1) holders.back().copies.push_back((rank + ranks - slots) % ranks);
  }
  return holders;
}

void leave(std::vector<Holder>& holders, int pod) {
  for (Holder& holder : holders) holder.leaving = holder.leaving || holder.pod == pod;
}

void expect_safe(const std::vector<Holder>& holders, int copies) {
  const auto given = gifts(holders, copies);
  std::set<int> staying;
  std::vector<std::set<int>> pods_with(static_cast<std::size_t>(copies));
  const auto has = [&](int rank, int copy) { return std::ranges::count(holders[rank].copies, copy) > 0; };
  for (const Holder& holder : holders) {
    if (holder.leaving) continue;
    staying.insert(holder.pod);
    for (const int copy : holder.copies) pods_with[copy].insert(holder.pod);
  }
  for (const Gift& gift : given) {
    EXPECT_TRUE(has(gift.giver, gift.copy));
    EXPECT_FALSE(holders[gift.taker].leaving);
    EXPECT_TRUE(pods_with[gift.copy].insert(holders[gift.taker].pod).second) << "it was there";
  }
  for (const auto& pods : pods_with) EXPECT_GE(pods.size(), std::min<std::size_t>(2, staying.size()));
}

TEST(Gifts, NobodyLeaves) { EXPECT_TRUE(gifts(world(4, 2), 8).empty()); }

TEST(Gifts, WhatALeaverHadGoesToAnotherPodThanTheOneThatHasIt) {
  auto holders = world(4, 1);
  leave(holders, 3);
  const auto given = gifts(holders, 4);
  ASSERT_EQ(given.size(), 2U) << "its own, which pod 0 has, and that of pod 2";
  EXPECT_EQ(given[0].copy, 2);
  EXPECT_NE(given[0].taker, 2);
  EXPECT_EQ(given[1].copy, 3);
  EXPECT_NE(given[1].taker, 0);
  EXPECT_EQ(given[0].giver, 3);
}

TEST(Gifts, ANewPodTakesWhatTheOnlyOneHas) {
  auto holders = world(1, 2);
  holders.push_back({{}, 1, false});
  holders.push_back({{}, 1, false});
  const auto given = gifts(holders, 2);
  ASSERT_EQ(given.size(), 2U);
  EXPECT_NE(given[0].taker, given[1].taker) << "in turn";
}

TEST(Gifts, TheOnlyPodThatStaysHasAll) {
  auto holders = world(3, 2);
  leave(holders, 0);
  leave(holders, 2);
  expect_safe(holders, 6);
}

TEST(Gifts, NobodyHasACopyOfWhatIsLost) {
  auto holders = world(3, 1);
  holders[1].copies.clear();
  holders[2].copies = {2};
  EXPECT_NO_THROW(gifts(holders, 3));
}

TEST(Gifts, EveryoneMayLeaveOrJoin) {
  std::mt19937 random(7);
  for (int history = 0; history < 2000; ++history) {
    const int pods = 1 + static_cast<int>(random() % 7), slots = 1 + static_cast<int>(random() % 3);
    auto holders = world(pods, slots);
    for (int pod = 1; pod < pods; ++pod)
      if (random() % 2) leave(holders, static_cast<int>(random() % static_cast<unsigned>(pods)));
    if (random() % 2) holders.push_back({{}, pods, false});
    if (std::ranges::all_of(holders, &Holder::leaving)) continue;
    expect_safe(holders, pods * slots);
  }
}

}  // namespace
}  // namespace elastic
