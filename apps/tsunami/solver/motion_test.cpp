// SPDX-License-Identifier: Apache-2.0
// What a floor that moves promises. Run on 1 and 3 ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "apps/tsunami/solver/test_tools.hpp"

namespace swe {
namespace {

using namespace testing;

// A floor that rises for five minutes lifts the water in that time, keeps its volume, and finds fine cells
// there.
TEST(Motion, LiftsTheWaterInItsTime) {
  Parameters setup{.domain = {1, 1}, .frame = {.width = 4e5, .height = 4e5}, .coarsest = 6, .finest = 12};
  setup.physics.order = 2;
  const Motion rise{[](double x, double y, double t) {
                      const double r = std::hypot(x - 2e5, y - 2e5) / 1e5;
                      return r < 1 ? 2 * (1 - r * r) * std::clamp((t - 100) / 300, 0.0, 1.0) : 0.0;
                    },
                    100,
                    400,
                    1e5,
                    3e5,
                    1e5,
                    3e5};
  const auto deep = [](double, double) { return -4000.0; };
  Solver solver(MPI_COMM_WORLD, setup, {deep, rise}, [](double, double) { return 0.0; });
  solver.add_gauge(2e5, 2e5);
  const double start = sum(solver.volume()), cells = sum(static_cast<double>(solver.cells()));
  EXPECT_GT(cells, 128 * 4) << "the source was not resolved";
  double run = 0;
  for (int k = 0; solver.time() < 500; ++k) {
    run += solver.step(std::min(k % 2 == 0 ? 1e9 : 3, 500 - solver.time()));
    ASSERT_NEAR(solver.time(), run, 1e-9);
    if (k % 5 == 0) solver.adapt();
    if (k % 3 == 0) solver.balance(random_capacity(static_cast<std::uint64_t>(k)), 0);
  }
  solver.sample_gauges();
  EXPECT_NEAR(sum(solver.volume()), start, 1e-12 * start);
  const auto& samples = solver.gauges()[0].samples;
  bool begins = false, ends = false;
  for (const auto& [time, eta, depth, u, v, level] : samples) {
    begins = begins || time == 100, ends = ends || time == 400;
    if (time <= 100) {
      EXPECT_EQ(eta, 0) << time;
    }
    // 120 s of gravity waves at 198 m/s take little from the middle of 100 km.
    if (time > 100 && time < 220) {
      EXPECT_NEAR(eta, 2 * (time - 100) / 300, 0.1) << time;
    }
  }
  EXPECT_TRUE(begins && ends) << "a step goes over the beginning or the end of the motion";
  for (std::size_t i = 0; i < solver.cells(); ++i) {
    const mesh::Triangle t = solver.mesh().triangle(i);
    const auto bed = [&](double px, double py) { return -4000 + rise.lift(px, py, 400); };
    EXPECT_EQ(solver.cell(i).b, cell_average(bed, solver.metric(), 12, solver.mesh().leaves()[i], t));
  }
}

// Of single storage, whose rounding of the floor is no motion.
TEST(Motion, LeavesWhatDoesNotMoveToTheBit) {
  Parameters setup{.domain = {1, 1}, .frame = {.width = 4e5, .height = 4e5}, .coarsest = 8, .finest = 8};
  setup.criterion = {.refine_amplitude = 100, .coarsen_amplitude = 50};
  const Motion none{.lift = [](double, double, double) { return 0.0; },
                    .begin = 0,
                    .end = 300,
                    .west = 0,
                    .east = 4e5,
                    .south = 0,
                    .north = 4e5};
  const Function floor = [](double x, double y) { return rough(x, y, 3e4, -5000, -3000); };
  SingleSolver solver(MPI_COMM_WORLD, setup, {floor, none}, [](double, double) { return 0.0; });
  const double start = sum(solver.volume());
  for (int k = 0; k < 100; ++k) solver.step(3);
  for (std::size_t i = 0; i < solver.cells(); ++i) ASSERT_EQ(solver.cell(i).eta, 0);
  EXPECT_EQ(sum(solver.volume()), start);
}

// A floor of rasters: finer cells that there might be cost nothing.
TEST(Motion, CostsWhatItsRasterIsWorth) {
  const auto asked_with = [](int finest) {
    Parameters setup{.domain = {1, 1},
                     .frame = {.width = 4e5, .height = 4e5},
                     .coarsest = 6,
                     .finest = finest,
                     .coast = 6};
    setup.criterion = {.refine_amplitude = 100, .coarsen_amplitude = 50};
    auto asked = std::make_shared<long>(0);
    const Motion rise{.lift =
                          [asked](double, double, double t) {
                            ++*asked;
                            return std::clamp(t / 300, 0.0, 1.0);
                          },
                      .begin = 0,
                      .end = 300,
                      .west = 1e5,
                      .east = 3e5,
                      .south = 1e5,
                      .north = 3e5,
                      .spacing = 1e5};
    const Function deep = Interpolated{[](double, double) { return -4000.0; },
                                       [](double, double, double, double) { return 5e4; }};
    Solver solver(MPI_COMM_WORLD, setup, {deep, rise}, [](double, double) { return 0.0; });
    solver.step(10);
    return sum(static_cast<double>(*asked));
  };
  const double coarse = asked_with(10);
  EXPECT_GT(coarse, 100);
  EXPECT_EQ(asked_with(18), coarse);
}

}  // namespace
}  // namespace swe
