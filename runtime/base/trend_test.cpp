// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/trend.hpp"

#include <gtest/gtest.h>

namespace empi::profile {
namespace {

TEST(Ewma, StartsAtTheFirstValueAndForgets) {
  Ewma e(0.5);
  EXPECT_FALSE(e.level());
  EXPECT_EQ(e.add(8), 8);
  EXPECT_EQ(e.add(0), 4);
  EXPECT_EQ(e.add(0), 2);
}

TEST(TheilSen, FindsTheSlopeOfALine) {
  std::vector<Point> line;
  for (int i = 0; i < 10; ++i) line.push_back({2.0 * i, 1 - 0.25 * 2 * i});
  EXPECT_NEAR(*theil_sen_slope(line), -0.25, 1e-12);
}

TEST(TheilSen, IsNotMovedByAFewWildValues) {
  std::vector<Point> line;
  for (int i = 0; i < 20; ++i) line.push_back({1.0 * i, 0.5 * i});
  line[3].value = 1000;
  line[12].value = -1000;
  line[17].value = 1e9;
  EXPECT_NEAR(*theil_sen_slope(line), 0.5, 0.05);
}

TEST(TheilSen, TakesTheMeanOfTheMiddlePairOfSlopes) {
  // Slopes 1 (0-1), 2 (0-2), 3 (1-2): median 2. With a fourth point 1, 2, 3 and 5/3, 2, 1: median (5/3 + 2)
  // / 2.
  EXPECT_DOUBLE_EQ(*theil_sen_slope({{0, 0}, {1, 1}, {2, 4}}), 2);
  EXPECT_DOUBLE_EQ(*theil_sen_slope({{0, 0}, {1, 1}, {2, 4}, {3, 5}}), (5.0 / 3 + 2) / 2);
}

TEST(TheilSen, NeedsTwoTimes) {
  EXPECT_FALSE(theil_sen_slope({}));
  EXPECT_FALSE(theil_sen_slope({{1, 1}}));
  EXPECT_FALSE(theil_sen_slope({{1, 1}, {1, 2}}));
}

TEST(Trend, KeepsTheLastValuesOnly) {
  Trend t(6, 0.3);
  for (int i = 0; i < 4; ++i) t.add(i, 100 - i);
  EXPECT_FALSE(t.slope());  // too few
  for (int i = 4; i < 20; ++i) t.add(i, 3.0 * i);
  EXPECT_NEAR(*t.slope(), 3, 1e-12);
  t.reset();
  EXPECT_FALSE(t.slope());
  EXPECT_FALSE(t.level());
}

}  // namespace
}  // namespace empi::profile
