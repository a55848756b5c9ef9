// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/common_world.hpp"

#include <gtest/gtest.h>

namespace empi::rank {
namespace {

TEST(CommonWorld, IsTheNewestThatAllWereIn) {
  const PlaceInWorld first{"", 0}, third{"", 2};
  EXPECT_EQ(common_world({{first}, {third}}), (CommonWorld{"", {0, 2}}));
  // The first one has adopted the next world, the other one has not.
  EXPECT_EQ(common_world({{{"recover-2", 0}, first}, {third}}), (CommonWorld{"", {0, 2}}));
  EXPECT_EQ(common_world({{first}, {{"recover-2", 1}, third}}), (CommonWorld{"", {0, 2}}));
  EXPECT_EQ(common_world({{{"recover-2", 0}, first}, {{"recover-2", 1}, third}}),
            (CommonWorld{"recover-2", {0, 1}}));
}

TEST(CommonWorld, IsNoneWhereOneHasComeFromElsewhere) {
  EXPECT_EQ(common_world({{{"", 0}}, {{"change-3", 1}}}), std::nullopt);
  EXPECT_EQ(common_world({{{"", 0}}, {}}), std::nullopt);
  EXPECT_EQ(common_world({}), std::nullopt);
}

TEST(CommonWorld, TravelsAsText) {
  const std::vector<PlaceInWorld> places{{"recover-2", 3}, {"", 12}, {"a name with spaces", 0}};
  EXPECT_EQ(places_from(to_text(places)), places);
  const std::optional<CommonWorld> common = CommonWorld{"", {4, 0, 2}};
  EXPECT_EQ(common_world_from(to_text(common)), common);
  EXPECT_EQ(common_world_from(to_text(std::optional<CommonWorld>{})), std::nullopt);
  EXPECT_TRUE(places_from("").empty());
  EXPECT_TRUE(places_from("no number").empty());
}

}  // namespace
}  // namespace empi::rank
