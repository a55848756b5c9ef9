// SPDX-License-Identifier: Apache-2.0
// What sections of the curve promise: the same bits for any number of threads, which may change between two
// steps, on any ranks; and little memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "apps/tsunami/solver/test_tools.hpp"

namespace swe {
namespace {

using namespace testing;

// A wave over an island, walls and open borders, on the sphere, with an n by place; some 10,000 cells.
Solver ocean(MPI_Comm comm, int order, RiemannSolver riemann = RiemannSolver::Hllc) {
  Parameters setup{
      .domain = {1, 2},
      .frame = {.coordinates = Coordinates::Sphere, .west = -80, .south = -40, .width = 10, .height = 10},
      .coarsest = 9,
      .finest = 14,
      .coast = 9};
  setup.physics.order = order;
  setup.physics.solver = riemann;
  setup.physics.rotation = 7.292e-5;
  setup.physics.friction_depth = 5000;  // everywhere
  setup.borders = {BorderKind::Wall, BorderKind::Radiation, BorderKind::Wall, BorderKind::Radiation};
  setup.criterion = {.refine_amplitude = 0.05, .coarsen_amplitude = 0.02, .buffer = 2};
  const auto square = [](double x, double y) { return (x + 75) * (x + 75) + (y + 30) * (y + 30); };
  SeaFloor floor = [=](double x, double y) { return -4000 + 4500 * std::exp(-4 * square(x - 2, y)); };
  floor.manning = [](double x, double y) { return 0.02 + 0.01 * std::sin(x + y); };
  return Solver(comm, setup, floor, [=](double x, double y) { return 5 * std::exp(-square(x, y)); });
}

// 1, 2 and 3 by turns, on each rank another number.
int threads_of_step(int k) { return (k + rank()) % 3 + 1; }

TEST(Threads, AnyNumberGivesTheSameBitsBetweenAnyResizes) {
  for (const int order : {1, 2})
    for (const auto riemann : {RiemannSolver::Hllc, RiemannSolver::Augmented}) {
      Solver alone = ocean(MPI_COMM_SELF, order, riemann), changing = ocean(MPI_COMM_WORLD, order, riemann);
      ASSERT_GT(alone.cells(), 3 * mesh::kSectionCells) << "too few sections";
      for (int k = 1; k <= 24; ++k) {
        changing.set_threads(threads_of_step(k));
        ASSERT_EQ(alone.step(1e9), changing.step(1e9)) << "step " << k;
        if (k % 4 == 0) {
          ASSERT_EQ(alone.adapt(), changing.adapt());
        }
        if (k % 6 == 0) changing.balance(random_capacity(static_cast<std::uint64_t>(k)), 0);
        if (k % 8 != 0) continue;
        const auto all = gather(changing), expected = alone.elements();
        ASSERT_EQ(all.size(), expected.size()) << "step " << k;
        ASSERT_EQ(std::memcmp(all.data(), expected.data(), all.size() * sizeof(Element)), 0) << "step " << k;
      }
    }
}

// The same steps by every fixed number of threads.
TEST(Threads, OneTwoAndThreeGiveTheSameBits) {
  std::vector<std::vector<Element>> results;
  for (const int threads : {1, 2, 3}) {
    Solver solver = ocean(MPI_COMM_WORLD, 2);
    solver.set_threads(threads);
    EXPECT_EQ(solver.threads(), threads);
    for (int k = 1; k <= 12; ++k) {
      solver.step(1e9);
      if (k % 4 == 0) solver.adapt();
    }
    results.push_back(gather(solver));
    ASSERT_EQ(results.back().size(), results[0].size()) << threads;
    EXPECT_EQ(std::memcmp(results.back().data(), results[0].data(), results[0].size() * sizeof(Element)), 0)
        << threads;
  }
}

// Over wet and dry cells of all sizes, whose sections meet anywhere.
TEST(Threads, KeepALakeAtRest) {
  for (const int order : {1, 2}) {
    Parameters setup{
        .domain = {1, 1}, .frame = {.width = 1000, .height = 1000}, .coarsest = 11, .finest = 14};
    setup.coast = 11;
    setup.physics.order = order;
    setup.sea_level = 0.37;
    Solver solver(
        MPI_COMM_WORLD, setup, [](double x, double y) { return rough(x, y, 90, -8, 5); },
        [](double, double) { return 0.37; });
    solver.criterion().regions = {{300, 600, 200, 700, 14}};
    double wet = 0, dry = 0;
    for (int k = 1; k <= 40; ++k) {
      solver.set_threads(threads_of_step(k));
      solver.step(1e9);
      if (k % 10 == 0) solver.adapt();
      if (k % 15 == 0) solver.balance(random_capacity(static_cast<std::uint64_t>(k)), 0);
      for (std::size_t i = 0; i < solver.cells(); ++i) {
        const Cell c = solver.cell(i);
        ASSERT_NEAR(c.eta, std::max(0.37, c.b), 1e-12 * 8) << "step " << k;
        ASSERT_NEAR(std::hypot(c.hu, c.hv), 0, 1e-12 * 8 * std::sqrt(kG * 8)) << "step " << k;
        ++(c.eta > c.b ? wet : dry);
      }
    }
    EXPECT_GT(sum(wet), 40 * mesh::kSectionCells);
    EXPECT_GT(sum(dry), 4 * mesh::kSectionCells);
  }
}

TEST(Threads, NoneIsRefused) {
  Solver solver = ocean(MPI_COMM_SELF, 1);
  EXPECT_THROW(solver.set_threads(0), std::invalid_argument);
}

// Of what grows with the cells: while they become more, a few at a time, and after a resize; in the deep, and
// on a shelf of the earth that turns, where a raster of Manning's n is 4 bytes more. On three ranks halos
// take five of a mesh of this size.
TEST(Memory, IsAtMostTwoHundredBytesPerCellAtSecondOrder) {
  struct Case {
    bool shelf, raster;
    double bytes;
  };
  for (const auto& [shelf, raster, bytes] :
       {Case{false, false, 200}, {true, false, 200}, {true, true, 204.5}}) {
    Parameters setup{
        .domain = {1, 1}, .frame = {.width = 1e5, .height = 1e5}, .coarsest = 14, .finest = 16, .coast = 14};
    if (shelf)
      setup.frame = {.coordinates = Coordinates::Sphere, .south = 30, .width = 1, .height = 1},
      setup.physics.rotation = 7.292e-5;
    const double side = setup.frame.width, south = setup.frame.south;
    setup.physics.order = 2;
    SeaFloor floor = [depth = shelf ? 50.0 : 1000.0](double, double) { return -depth; };
    if (raster) floor.manning = [](double x, double) { return 0.02 + 0.02 * x; };
    Solver solver(MPI_COMM_WORLD, setup, floor, [=](double x, double y) {
      return 0.01 * std::sin(10 * x / side) * std::cos(10 * (y - south) / side);
    });
    const auto per_cell = [&] { return static_cast<double>(solver.bytes()) / solver.cells(); };
    for (double east = 0.4; east <= 1; east += 0.04) {
      solver.criterion().regions = {{0, east * side, south, south + side, 16}};
      solver.step(1e9);
      solver.adapt();
      if (ranks() == 1) {
        EXPECT_LE(per_cell(), bytes) << solver.cells() << " cells";
      }
    }
    solver.balance();
    solver.step(1e9);
    EXPECT_LE(maximum(per_cell()), bytes + (shelf && ranks() > 1 ? 5 : 0)) << solver.cells() << " cells";
  }
}

}  // namespace
}  // namespace swe
