// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/kajiura.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "apps/tsunami/io/degrees.hpp"

namespace io {
namespace {

double volume(const Raster& heights) {
  double sum = 0;
  for (int j = 0; j < heights.ny; ++j)
    for (int i = 0; i < heights.nx; ++i)
      sum += heights.node(i, j) * std::cos((heights.y0 + j * heights.dy) * std::numbers::pi / 180);
  return sum;
}

TEST(Kajiura, TheKernelIsThatOfOneOverCosh) {
  // 1 / (2 pi) times Catalan's constant times 2, which is the integral of k / cosh(k).
  EXPECT_NEAR(kajiura_kernel(0), .915965594177219 / std::numbers::pi, 1e-12);
  for (const double k : {0.0, .5, 1.0, 2.0}) {  // its Hankel transform
    double sum = 0;
    for (double r = .005; r < 12; r += .01)
      sum += 2 * std::numbers::pi * r * kajiura_kernel(r) * std::cyl_bessel_j(0, k * r) * .01;
    EXPECT_NEAR(sum, 1 / std::cosh(k), 2e-5) << k;
  }
}

// Ridges of the floor from west to east, in water that is as deep everywhere.
TEST(Kajiura, WaterFollowsAWaveOfTheFloorByOneOverCosh) {
  constexpr double depth = 6000;
  for (const double lengths : {6.0, 10.0, 20.0}) {  // of a wave, in depths
    const double length = lengths * depth / kMetresPerDegree;
    const Raster floor =
        sample([&](double, double lat) { return std::cos(2 * std::numbers::pi * lat / length); },
               {-1, 1, -1.5, 1.5}, 61, 91);
    const Raster surface = kajiura(floor, [](double, double) { return -depth; });
    EXPECT_NEAR(surface.at(0, 0), 1 / std::cosh(2 * std::numbers::pi / lengths), .002) << lengths;
  }
}

TEST(Kajiura, NothingIsLostAndLandMovesAsItDoes) {
  const auto floor = [](double lon, double) { return lon < 142 ? 100.0 : 3000 * (142 - lon) - 20; };
  const Raster uplift = sample(
      [](double lon, double lat) {
        return 5 * std::exp(-40 * ((lon - 142.4) * (lon - 142.4) + (lat - 38) * (lat - 38)));
      },
      {141, 144, 36.5, 39.5}, 91, 91);
  const Raster surface = kajiura(uplift, floor);
  EXPECT_NEAR(volume(surface), volume(uplift), 1e-10 * volume(uplift));
  EXPECT_NEAR(surface.at(141.5, 38), uplift.at(141.5, 38), 1e-12);
  EXPECT_LT(surface.at(142.5, 38), uplift.at(142.5, 38)) << "over more than a kilometre of water";
  EXPECT_LT(surface.region().west, 141) << "it spreads";
}

// A global file, of which a motion is a small part.
TEST(Kajiura, ARasterMayReachToThePoles) {
  Raster uplift = sample([](double, double) { return 0.0; }, {-180, 180, -90, 90}, 37, 19);
  uplift.node(18, 9) = 1;
  const Raster surface = kajiura(uplift, [](double, double) { return -4000.0; });
  EXPECT_NEAR(surface.at(0, 0), 1, 1e-9) << "nodes of ten degrees are wide beside the depth";
}

TEST(Kajiura, ShallowWaterFollowsEverything) {
  const Raster uplift =
      sample([](double lon, double) { return lon > 0 ? 1.0 : 0.0; }, {-1, 1, -1, 1}, 41, 41);
  const Raster surface = kajiura(uplift, [](double, double) { return -50.0; });
  for (const double lon : {-.5, -.05, .05, .5})
    EXPECT_NEAR(surface.at(lon, 0), uplift.at(lon, 0), 1e-12) << lon;
}

}  // namespace
}  // namespace io
