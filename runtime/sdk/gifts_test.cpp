// SPDX-License-Identifier: Apache-2.0
// Promise: whoever leaves, every copy that was there is on two pods that stay, or on the only one, and
// nothing is moved that need not be.
#include "runtime/sdk/gifts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "runtime/sdk/guardians.hpp"

namespace elastic {
namespace {

// A rank has its own copy and that of the same slot on the pod that it keeps those of, as after a snapshot.
std::vector<Holder> world(const std::vector<std::uint64_t>& nodes, int slots) {
  const int pods = static_cast<int>(nodes.size());
  std::vector<Holder> holders;
  for (int rank = 0; rank < pods * slots; ++rank)
    holders.push_back({{rank}, rank / slots, false, nodes[rank / slots]});
  const auto guardian = guardians(nodes);
  for (int rank = 0; rank < pods * slots && pods > 1; ++rank)
    holders[guardian[rank / slots] * slots + rank % slots].copies.push_back(rank);
  return holders;
}

// Each pod on a node of its own.
std::vector<Holder> world(int pods, int slots) {
  std::vector<std::uint64_t> nodes(static_cast<std::size_t>(pods));
  std::iota(nodes.begin(), nodes.end(), 0);
  return world(nodes, slots);
}

void leave(std::vector<Holder>& holders, int pod) {
  for (Holder& holder : holders) holder.leaving = holder.leaving || holder.pod == pod;
}

void expect_safe(const std::vector<Holder>& holders, int copies) {
  const auto given = gifts(holders, copies);
  std::set<int> staying;
  std::set<std::uint64_t> nodes;
  std::vector<std::set<int>> pods_with(static_cast<std::size_t>(copies));
  std::vector<std::set<std::uint64_t>> nodes_with(static_cast<std::size_t>(copies));
  const auto has = [&](int rank, int copy) { return std::ranges::count(holders[rank].copies, copy) > 0; };
  for (const Holder& holder : holders) {
    if (holder.leaving) continue;
    staying.insert(holder.pod);
    nodes.insert(holder.node);
    for (const int copy : holder.copies) {
      pods_with[copy].insert(holder.pod);
      nodes_with[copy].insert(holder.node);
    }
  }
  for (const Gift& gift : given) {
    EXPECT_TRUE(has(gift.giver, gift.copy));
    EXPECT_FALSE(holders[gift.taker].leaving);
    EXPECT_TRUE(pods_with[gift.copy].insert(holders[gift.taker].pod).second) << "it was there";
    nodes_with[gift.copy].insert(holders[gift.taker].node);
  }
  for (const Gift& gift : given)
    EXPECT_GE(nodes_with[gift.copy].size(), std::min<std::size_t>(2, nodes.size()))
        << "given to the same node";
  for (const auto& pods : pods_with) EXPECT_GE(pods.size(), std::min<std::size_t>(2, staying.size()));
}

TEST(Gifts, NobodyLeaves) { EXPECT_TRUE(gifts(world(4, 2), 8).empty()); }

TEST(Gifts, WhatALeaverHadGoesToAnotherPodThanTheOneThatHasIt) {
  auto holders = world(4, 1);
  leave(holders, 3);
  const auto given = gifts(holders, 4);
  ASSERT_EQ(given.size(), 2U) << "its own, which pod 1 has, and that of pod 1";
  EXPECT_EQ(given[0].copy, 1);
  EXPECT_NE(given[0].taker, 1);
  EXPECT_EQ(given[1].copy, 3);
  EXPECT_NE(given[1].taker, 1);
  EXPECT_EQ(given[0].giver, 3);
}

TEST(Gifts, ANewPodTakesWhatTheOnlyOneHas) {
  auto holders = world(1, 2);
  holders.push_back({{}, 1, false, 1});
  holders.push_back({{}, 1, false, 1});
  const auto given = gifts(holders, 2);
  ASSERT_EQ(given.size(), 2U);
  EXPECT_NE(given[0].taker, given[1].taker) << "in turn";
}

TEST(Gifts, WhatIsGivenGoesToAnotherNode) {
  auto holders = world({1, 1, 1, 2, 2, 2}, 1);  // 0 and 3, 1 and 4, 2 and 5 have each other's
  leave(holders, 3);
  for (const Gift& gift : gifts(holders, 6))
    EXPECT_TRUE(gift.copy == 0 ? gift.taker > 3 : gift.copy == 3 && gift.taker > 3)
        << "copy " << gift.copy << ", which pod 0 has, is given to pod " << gift.taker;
  expect_safe(holders, 6);
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
    std::vector<std::uint64_t> nodes(static_cast<std::size_t>(pods));
    const unsigned all_nodes = 1 + random() % 7;
    for (auto& node : nodes) node = random() % all_nodes;
    auto holders = world(nodes, slots);
    for (int pod = 1; pod < pods; ++pod)
      if (random() % 2) leave(holders, static_cast<int>(random() % static_cast<unsigned>(pods)));
    if (random() % 2) holders.push_back({{}, pods, false, random() % all_nodes});
    if (std::ranges::all_of(holders, &Holder::leaving)) continue;
    expect_safe(holders, pods * slots);
  }
}

}  // namespace
}  // namespace elastic
