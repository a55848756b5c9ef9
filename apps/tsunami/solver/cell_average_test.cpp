// SPDX-License-Identifier: Apache-2.0
// Promise: means and shores of what a raster has told cost what the raster is worth, however fine the mesh
// may become, and a cell's mean is its children's.
#include "apps/tsunami/solver/cell_average.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace swe {
namespace {

constexpr int kFinest = 24;
constexpr double kSize = 10, kSpacing = 0.5, kEverywhere = std::numeric_limits<double>::infinity();

class Means : public ::testing::Test {
 protected:
  // Bilinear between points that are kSpacing apart: hills and a shore.
  double height(double x, double y) {
    ++asked;
    const double i = std::floor(x / kSpacing), j = std::floor(y / kSpacing), u = x / kSpacing - i,
                 v = y / kSpacing - j;
    const auto node = [&](double p, double q) { return 100 * std::sin(p * 0.9) * std::cos(q * 0.7) - 20; };
    return (1 - v) * ((1 - u) * node(i, j) + u * node(i + 1, j)) +
           v * ((1 - u) * node(i, j + 1) + u * node(i + 1, j + 1));
  }
  Function plain() {
    return [this](double x, double y) { return height(x, y); };
  }
  Function raster(double spacing = kSpacing) {
    return Interpolated{plain(), [=](double, double, double, double) { return spacing; }};
  }
  double mean(const Function& f, mesh::Leaf leaf, int level = kFinest) {
    return cell_average(f, metric, level, leaf, domain.triangle(leaf));
  }
  bool shore(const Function& f, mesh::Leaf leaf, int level) {
    return lies_on_both_sides(f, metric, level, 0, leaf, domain.triangle(leaf));
  }
  mesh::Leaf any_leaf(int level) {
    mesh::Leaf leaf = mesh::Leaf::of_root(static_cast<std::uint32_t>(random() % 2));
    while (leaf.level() < level) leaf = leaf.child(static_cast<int>(random() % 2));
    return leaf;
  }

  mesh::Domain domain{1, 1};
  Metric metric{{.coordinates = Coordinates::Sphere, .west = 0, .south = 30, .width = kSize, .height = kSize},
                domain,
                kFinest};
  std::minstd_rand random{1};
  long asked = 0;
};

TEST_F(Means, CostWhatTheRasterIsWorth) {
  const mesh::Leaf root = mesh::Leaf::of_root(0);
  mean(plain(), root, 12);
  EXPECT_EQ(asked, 1 << 12);
  asked = 0;
  mean(raster(), root, 12);
  const long coarse = asked;
  asked = 0;
  mean(raster(), root, kFinest);
  EXPECT_EQ(asked, coarse) << "a finer mesh costs more";
  EXPECT_LE(asked, 20 * 20 / 2 * 21) << "for 20 x 20 points, of which half are in the triangle";
  asked = 0;
  mean(raster(), any_leaf(kFinest), kFinest);
  EXPECT_LE(asked, 2 * kFinest);
  asked = 0;
  mean(raster(kEverywhere), root, kFinest);
  EXPECT_EQ(asked, 1) << "where there is no raster";
  asked = 0;
  EXPECT_FALSE(lies_on_both_sides(raster(), metric, kFinest, 1e9, root, domain.triangle(root)));
  EXPECT_LE(asked, 4 * coarse);
}

TEST_F(Means, AreThoseOfTheChildren) {
  const Function f = raster();
  for (int k = 0; k < 2000; ++k) {
    const mesh::Leaf leaf = any_leaf(4 + k % (kFinest - 4));
    const mesh::Triangle t = domain.triangle(leaf);
    const double value0 = mean(f, leaf.child(0)), value1 = mean(f, leaf.child(1));
    EXPECT_NEAR(
        mean(f, leaf),
        join(metric.area(leaf.child(0), t.child(0)), value0, metric.area(leaf.child(1), t.child(1)), value1),
        1e-12)
        << "level " << leaf.level();
  }
}

TEST_F(Means, AreNearlyThoseOfTheFinestCells) {
  double worst = 0;
  for (int k = 0; k < 400; ++k) {
    const int level = 8 + k % 12;
    const mesh::Leaf leaf = any_leaf(level);
    worst = std::max(worst, std::abs(mean(raster(), leaf, 20) - mean(plain(), leaf, 20)));
  }
  EXPECT_LT(worst, 5) << "of hills of 100 m, 7 points long";
  EXPECT_GT(worst, 0);
  const mesh::Leaf leaf = any_leaf(3);
  EXPECT_EQ(mean(raster(1e-3), leaf, 12), mean(plain(), leaf, 12)) << "a finer raster changes no bit";
  const Function flat = Interpolated{[](double, double) { return -4000.1; },
                                     [](double, double, double, double) { return kSpacing; }};
  for (int level = 0; level < kFinest; ++level) EXPECT_EQ(mean(flat, any_leaf(level)), -4000.1);
}

TEST_F(Means, FindTheShoresOfTheFinestCells) {
  int shores = 0, more = 0, missed = 0;
  for (int k = 0; k < 1500; ++k) {
    const mesh::Leaf leaf = any_leaf(6 + k % 10);
    const bool expected = shore(plain(), leaf, 18), found = shore(raster(), leaf, 18);
    shores += expected;
    more += found && !expected;
    missed += expected && !found;
  }
  EXPECT_GT(shores, 100);
  EXPECT_LT(more, shores / 20) << "seen by a corner only";
  EXPECT_LT(missed, shores / 50) << "that cut an edge twice, in less than a quarter of the spacing";
}

}  // namespace
}  // namespace swe
