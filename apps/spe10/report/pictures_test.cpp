// SPDX-License-Identifier: Apache-2.0
// Promise: pictures go by the run that they show: its size, its wells, and its liquids' range of saturations.
#include "apps/spe10/report/pictures.hpp"

#include <gtest/gtest.h>

#include "apps/io/test_pictures.hpp"

namespace {

using namespace spe10;

// One square of two triangles and one layer.
Snapshot square(float side, float s) {
  Snapshot snapshot;
  snapshot.ranks = snapshot.nz = 1;
  snapshot.top = 8000, snapshot.dz = 10;
  snapshot.columns = {{{0, side, side}, {0, 0, side}, 0, 0}, {{0, side, 0}, {0, side, side}, 0, 0}};
  snapshot.s = {s, s}, snapshot.p = {4000, 4000}, snapshot.k = {100, 100};
  return snapshot;
}

io::draw::Colour middle(const Snapshot& s, const PictureOptions& options) {
  return draw_layers(s, options).pixel(30 + 280, 92 + 280 + 40);  // of the first panel, off its diagonal
}

TEST(Pictures, ColoursGoFromLeastToMostWaterThatFlows) {
  PictureOptions options;
  options.layers = {0};
  const auto oil = middle(square(300, 0.2F), options), water = middle(square(300, 0.8F), options);
  options.lowest_s = 0.05, options.highest_s = 0.95;
  const auto other_oil = middle(square(300, 0.05F), options),
             other_water = middle(square(300, 0.95F), options);
  EXPECT_NEAR(oil.r, other_oil.r, 1e-6);
  EXPECT_NEAR(water.b, other_water.b, 1e-6);
  EXPECT_GT(std::abs(middle(square(300, 0.8F), options).b - water.b), 0.02) << "it is not all water here";
}

TEST(Pictures, WithoutAnInjectorTheCutIsInTheMiddle) {
  PictureOptions options;
  options.layers = {0};
  const auto canvas = draw_cut(square(300, 0.2F), options);
  const auto inside = canvas.pixel(570, 92 + 120);
  options.cut_y = 150;
  const auto expected = draw_cut(square(300, 0.2F), options).pixel(570, 92 + 120);
  EXPECT_EQ(inside.r, expected.r);
  EXPECT_LT(inside.r, 0.5) << "oil is dark; y = 1100 ft lies outside";
}

}  // namespace
