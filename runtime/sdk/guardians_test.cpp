// SPDX-License-Identifier: Apache-2.0
// Promise: each pod keeps the copies of one other, on another node wherever that can be, and not beside it.
#include "runtime/sdk/guardians.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>

namespace elastic {
namespace {

using Nodes = std::vector<std::uint64_t>;

Nodes each_its_own(int pods) {
  Nodes nodes(static_cast<std::size_t>(pods));
  std::iota(nodes.begin(), nodes.end(), 100);
  return nodes;
}

int on_one_node(const Nodes& nodes) {
  const auto all = guardians(nodes);
  int same = 0;
  for (std::size_t pod = 0; pod < nodes.size(); ++pod) same += nodes[pod] == nodes[all[pod]];
  return same;
}

// Of the shorter way around.
int nearest(const Nodes& nodes) {
  const auto all = guardians(nodes);
  const int pods = static_cast<int>(nodes.size());
  int least = pods;
  for (int pod = 0; pod < pods; ++pod) {
    const int apart = std::abs(all[pod] - pod);
    least = std::min({least, apart, pods - apart});
  }
  return least;
}

TEST(Guardians, TwoPodsAreEachOthersAndOneIsItsOwn) {
  EXPECT_EQ(guardians(each_its_own(1)), (std::vector<int>{0}));
  EXPECT_EQ(guardians(each_its_own(2)), (std::vector<int>{1, 0}));
  EXPECT_EQ(guardians(Nodes{7, 7}), (std::vector<int>{1, 0})) << "better on the same node than nowhere";
  EXPECT_TRUE(guardians(Nodes{}).empty());
}

TEST(Guardians, AreHalfTheWorldAway) {
  EXPECT_EQ(guardians(each_its_own(6)), (std::vector<int>{3, 4, 5, 0, 1, 2}));
  for (int pods = 2; pods < 40; ++pods) EXPECT_EQ(nearest(each_its_own(pods)), pods / 2);
  EXPECT_EQ(nearest(Nodes(8, 1)), 4) << "where all are on one node, too";
}

TEST(Guardians, AreOnOtherNodesHoweverPodsWerePlaced) {
  EXPECT_EQ(on_one_node({1, 1, 2, 2}), 0) << "one node after the other";
  EXPECT_EQ(on_one_node({1, 2, 1, 2}), 0) << "in turn";
  EXPECT_EQ(on_one_node({2, 1, 1, 2, 1, 2}), 0) << "no distance is right for all";
}

TEST(Guardians, OfPodsThatWerePlacedInTurnAreStillFarAway) {
  for (const int count : {2, 3, 4, 8}) {
    Nodes nodes;
    for (int pod = 0; pod < 16 * count; ++pod) nodes.push_back(static_cast<std::uint64_t>(pod % count));
    EXPECT_EQ(on_one_node(nodes), 0) << count;
    EXPECT_GE(nearest(nodes), 8 * count - 1) << count;
  }
}

TEST(Guardians, ANodeWithMoreThanHalfOfThePodsKeepsOnlyWhatItMust) {
  EXPECT_EQ(on_one_node({1, 1, 1, 2}), 2);
  EXPECT_EQ(on_one_node({1, 2, 1}), 1);
  EXPECT_EQ(on_one_node({1, 1, 2, 1, 3, 1, 1}), 3);
}

TEST(Guardians, AnyPlacesOfPods) {
  std::mt19937 random(11);
  for (int world = 0; world < 3000; ++world) {
    const int pods = 2 + static_cast<int>(random() % 20);
    const unsigned count = 1 + random() % 6;
    Nodes nodes;
    for (int pod = 0; pod < pods; ++pod) nodes.push_back(random() % count);
    const auto all = guardians(nodes);
    std::vector<int> sorted = all;
    std::ranges::sort(sorted);
    for (int pod = 0; pod < pods; ++pod) {
      ASSERT_EQ(sorted[pod], pod) << "each keeps those of one";
      ASSERT_NE(all[pod], pod);
    }
    std::map<std::uint64_t, int> on_node;
    int most = 0;
    for (const auto node : nodes) most = std::max(most, ++on_node[node]);
    ASSERT_EQ(on_one_node(nodes), std::max(0, 2 * most - pods)) << "fewer cannot be";
  }
}

}  // namespace
}  // namespace elastic
