// SPDX-License-Identifier: Apache-2.0
// What single storage promises: rest stays rest, mass and waves are those of double storage but for the
// rounding of what is stored, the bits are the same on any ranks, and cells take a fifth less memory. Run on
// 1 and 3 ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "apps/tsunami/solver/test_tools.hpp"

namespace swe {
namespace {

using namespace testing;

// A wave over an island in a closed sea, which the mesh follows; rough ground, friction and the earth's
// rotation.
Parameters sea(int order) {
  Parameters setup{
      .domain = {1, 1},
      .frame = {.coordinates = Coordinates::Sphere, .west = -80, .south = -40, .width = 10, .height = 10},
      .coarsest = 7,
      .finest = 12};
  setup.physics.order = order;
  setup.physics.rotation = 7.292e-5;
  setup.criterion = {.refine_amplitude = 0.05, .coarsen_amplitude = 0.02, .buffer = 2};
  return setup;
}
double away(double x, double y) { return (x + 75) * (x + 75) + (y + 35) * (y + 35); }
double island(double x, double y) {
  return -4000 + 4500 * std::exp(-4 * away(x - 2, y)) + rough(x + 100, y + 100, .7, 0, 100);
}
double heap(double x, double y) { return 5 * std::exp(-2 * away(x, y)); }

TEST(SingleStorage, KeepsALakeAtRestToTheBit) {
  constexpr float level = 0.37F;
  for (const int order : {1, 2}) {
    Parameters setup = sea(order);
    setup.sea_level = level;
    SingleSolver solver(MPI_COMM_WORLD, setup, island, [](double, double) { return level; });
    double wet = 0, dry = 0;
    for (int k = 1; k <= 60; ++k) {
      solver.step(1e9);
      solver.criterion().regions = {{-78, -73 - 0.05 * k, -38, -33, 11}};
      if (k % 6 == 0) solver.adapt();
      if (k % 10 == 0) solver.balance(random_capacity(static_cast<std::uint64_t>(k)), 0);
      for (std::size_t i = 0; i < solver.cells(); ++i) {
        const Cell c = solver.cell(i);
        ASSERT_EQ(c.eta, std::max(static_cast<double>(level), c.b)) << "step " << k;
        ASSERT_LE(std::hypot(c.hu, c.hv), 1e-12 * 4000 * std::sqrt(kG * 4000)) << "step " << k;
        ++(c.eta > c.b ? wet : dry);
      }
    }
    EXPECT_GT(sum(wet), 1e4);
    EXPECT_GT(sum(dry), 100);
  }
}

TEST(SingleStorage, KeepsMassAndTheWaveButForItsRounding) {
  for (const int order : {1, 2}) {
    Parameters setup = sea(order);
    setup.coarsest = setup.finest = 11;
    Solver twice(MPI_COMM_WORLD, setup, island, heap);
    SingleSolver once(MPI_COMM_WORLD, setup, island, heap);
    const double start = sum(once.volume());
    for (Solver* s = &twice; s->time() < 1500;) once.step(s->step(1e9));
    EXPECT_NEAR(once.time(), twice.time(), 1e-6 * twice.time());
    EXPECT_NEAR(sum(once.volume()), start, 1e-8 * start);
    ASSERT_EQ(once.cells(), twice.cells());
    double highest = 0, furthest = 0;
    for (std::size_t i = 0; i < once.cells(); ++i) {
      const Cell a = once.cell(i), b = twice.cell(i);
      if (std::min(a.eta - a.b, b.eta - b.b) < 1) continue;
      highest = std::max(highest, std::abs(b.eta));
      furthest = std::max(furthest, std::abs(a.eta - b.eta));
    }
    EXPECT_GT(maximum(highest), 0.5);
    EXPECT_LT(maximum(furthest), 1e-3 * maximum(highest)) << "order " << order;
  }
}

TEST(SingleStorage, HasTheSameBitsOnAnyRanks) {
  SingleSolver alone(MPI_COMM_SELF, sea(2), island, heap), shared(MPI_COMM_WORLD, sea(2), island, heap);
  for (int k = 1; k <= 60; ++k) {
    ASSERT_EQ(shared.step(1e9), alone.step(1e9)) << "step " << k;
    if (k % 5 == 0) {
      ASSERT_EQ(shared.adapt(), alone.adapt());
    }
    if (k % 7 == 0) shared.balance(random_capacity(static_cast<std::uint64_t>(k)), 0);
    shared.set_threads(k % 3 + 1);
  }
  const auto all = gather(shared), expected = alone.elements();
  ASSERT_EQ(all.size(), expected.size());
  EXPECT_EQ(std::memcmp(all.data(), expected.data(), all.size() * sizeof(Element)), 0);
}

TEST(SingleStorage, TakesAFifthLessMemory) {
  Parameters setup{.domain = {1, 1}, .frame = {.width = 1e5, .height = 1e5}, .coarsest = 15, .finest = 15};
  setup.physics.order = 2;
  SingleSolver solver(
      MPI_COMM_WORLD, setup, [](double, double) { return -1000.0; }, [](double, double) { return 0.0; });
  solver.step(1e9);
  EXPECT_LE(maximum(static_cast<double>(solver.bytes()) / solver.cells()), 160);
}

}  // namespace
}  // namespace swe
