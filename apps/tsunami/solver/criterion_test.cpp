// SPDX-License-Identifier: Apache-2.0
// Which cells each criterion refines and lets coarsen. Run on 1 and 3 ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "apps/tsunami/solver/test_tools.hpp"

namespace swe {
namespace {

using namespace testing;

// The thesis' criterion (5.4) finds what moves, not what is high; a region counts in its time.
TEST(Refining, FollowsTheFluxAndTheRegionsInTheirTime) {
  constexpr double side = 1000;
  Parameters setup{.domain = {1, 1}, .frame = {.width = side, .height = side}, .coarsest = 6, .finest = 10};
  setup.physics.order = 2;
  setup.criterion = {.refine_amplitude = 1e9,
                     .coarsen_amplitude = 1e8,
                     .refine_flux = 0.02,
                     .buffer = 1,
                     .regions = {{0, 100, 0, 100, 9, 20, 10}}};
  Solver solver(
      MPI_COMM_WORLD, setup, [](double, double) { return -10.0; },
      [](double x, double y) {
        return 1 + std::exp(-((x - 700) * (x - 700) + (y - 700) * (y - 700)) / 4e3);
      });
  double at_wave = 0, far = 0, region = 0, before = 0;
  for (int k = 1; solver.time() < 18; ++k) {
    solver.step(1e9);
    if (k % 2 == 0) solver.adapt();
    if (k % 3 == 0) solver.balance(random_capacity(static_cast<std::uint64_t>(k)), 0);
    for (std::size_t i = 0; i < solver.cells(); ++i) {
      const auto [x, y] = centroid(solver, i);
      const double level = solver.mesh().leaves()[i].level();
      if (std::hypot(x - 700, y - 700) < 200) at_wave = std::max(at_wave, level);
      if (std::max(x, y) < 80)
        (solver.time() < 10 ? before : region) = std::max(solver.time() < 10 ? before : region, level);
      if (x < 300 && y > 800) far = std::max(far, level);
    }
  }
  EXPECT_EQ(maximum(at_wave), 10);
  EXPECT_LE(maximum(far), 7);
  EXPECT_LE(maximum(before), 7);
  EXPECT_EQ(maximum(region), 9);
}

// Fast water in the west, slow in the east, and in between what is too slow for finer cells and too fast for
// coarser ones; then all is slow.
TEST(Refining, FollowsTheSpeedOfTheWater) {
  constexpr int start = 8;
  Parameters setup{.domain = {2, 1}, .frame = {.width = 1000, .height = 1000}, .coarsest = 6, .finest = 10};
  setup.criterion = {.refine_amplitude = 1e9,
                     .coarsen_amplitude = 1e8,
                     .refine_speed = 1,
                     .coarsen_speed = 0.5,
                     .buffer = 0,
                     .regions = {{0, 2000, 0, 1000, start}}};
  constexpr double depth = 10;
  Solver solver(
      MPI_COMM_WORLD, setup, [](double, double) { return -depth; }, [](double, double) { return 0.0; });
  solver.criterion().regions.clear();
  const auto flows = [&](double west, double middle, double east) {
    for (std::size_t i = 0; i < solver.cells(); ++i) {
      const double x = centroid(solver, i).x, speed = x < 700 ? west : x < 1300 ? middle : east;
      Cell c = solver.cell(i);
      c.hu = 0.6 * speed * depth, c.hv = -0.8 * speed * depth;
      solver.set_cell(i, c);
    }
    for (int k = 0; k < 8; ++k) {
      solver.adapt();
      solver.balance(random_capacity(static_cast<std::uint64_t>(k)), 0);
    }
  };
  // Away from where they meet, which are as fine as their neighbours make them.
  const auto expect_levels = [&](int west, int middle, int east) {
    for (std::size_t i = 0; i < solver.cells(); ++i) {
      const double x = centroid(solver, i).x;
      const int level = solver.mesh().leaves()[i].level();
      const bool asked = x < 500 || (x > 900 && x < 1100) || x > 1600;
      if (!asked) continue;
      ASSERT_EQ(level, x < 500 ? west : x < 1100 ? middle : east) << x;
    }
  };
  expect_levels(start, start, start);
  flows(1.1, 0.9, 0.4);
  expect_levels(10, start, 6);
  flows(0.4, 0.4, 0.4);
  expect_levels(6, 6, 6);
}

// Finer cells than waves ask for are where a region wants them only.
TEST(Refining, LeavesTheFinestCellsToANest) {
  Parameters setup{.domain = {1, 1}, .frame = {.width = 1000, .height = 1000}, .coarsest = 6, .finest = 14};
  setup.coast = 9;
  setup.physics.order = 2;
  setup.criterion = {.refine_amplitude = 0.05,
                     .coarsen_amplitude = 0.02,
                     .buffer = 1,
                     .finest = 9,
                     .regions = {{750, 800, 750, 800, 14}}};
  Solver solver(
      MPI_COMM_WORLD, setup,
      [](double x, double y) { return std::hypot(x - 200, y - 700) < 60 ? 5.0 : -10.0; },
      [](double x, double y) { return std::exp(-((x - 500) * (x - 500) + (y - 500) * (y - 500)) / 2e4); });
  for (int k = 0; k <= 20; ++k) {
    int at_wave = 0, at_shore = 0, away = 0, least_in_nest = 14;
    for (std::size_t i = 0; i < solver.cells(); ++i) {
      const auto [x, y] = centroid(solver, i);
      const int level = solver.mesh().leaves()[i].level();
      if (std::hypot(x - 500, y - 500) < 100) at_wave = std::max(at_wave, level);
      if (std::hypot(x - 200, y - 700) < 60) at_shore = std::max(at_shore, level);
      if (std::max(std::abs(x - 775), std::abs(y - 775)) > 250) away = std::max(away, level);
      if (std::max(std::abs(x - 775), std::abs(y - 775)) < 25) least_in_nest = std::min(least_in_nest, level);
    }
    ASSERT_EQ(maximum(at_wave), 9) << "step " << k;
    ASSERT_EQ(maximum(at_shore), 9) << "step " << k;
    ASSERT_EQ(maximum(away), 9) << "step " << k;
    ASSERT_EQ(maximum(-least_in_nest), -14) << "step " << k;
    solver.step(1e9);
    if (k % 2 == 0) solver.adapt();
    if (k % 3 == 0) solver.balance(random_capacity(static_cast<std::uint64_t>(k)), 0);
  }
}

}  // namespace
}  // namespace swe
