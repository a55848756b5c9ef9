// SPDX-License-Identifier: Apache-2.0
// What no number of ranks, adaption or move of cells may change: rest, mass, bits. Run with 1, 2, 3 and 5
// ranks.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "apps/tsunami/solver/test_tools.hpp"

namespace swe {
namespace {

using namespace testing;

// Rectangles that wander: cells inside are refined to changing levels, the rest coarsens.
void random_regions(Solver& solver, std::uint64_t step, double x0, double width, double y0, double height) {
  auto& regions = solver.criterion().regions;
  regions.clear();
  for (std::uint64_t r = 0; r < 3; ++r) {
    const double x = x0 + width * noise(step, r, 1), y = y0 + height * noise(step, r, 2);
    const int level =
        solver.setup().coarsest +
        static_cast<int>(noise(step, r, 3) * (solver.setup().finest - solver.setup().coarsest + 1));
    regions.push_back({x, x + 0.3 * width, y, y + 0.3 * height, level});
  }
}

struct Rest {
  double surface = 0, momentum = 0;  // largest deviations, m and m^2/s
  double wet = 0, dry = 0;           // cell-steps seen
  double coarsened = 0, refined = 0;
};
Rest lake_at_rest(const Parameters& setup, const Function& bed, double level, int steps) {
  Solver solver(MPI_COMM_WORLD, setup, bed, [=](double, double) { return level; });
  const Frame& f = setup.frame;
  Rest rest;
  for (int k = 0; k < steps; ++k) {
    const double dt = solver.step(1e9);
    EXPECT_GT(dt, 0);
    random_regions(solver, static_cast<std::uint64_t>(k / 4), f.west, f.width * setup.domain.nx, f.south,
                   f.height * setup.domain.ny);
    const double before = sum(static_cast<double>(solver.cells()));
    solver.adapt();
    const double after = sum(static_cast<double>(solver.cells()));
    rest.refined += after > before, rest.coarsened += after < before;
    if (k % 3 == 0) solver.balance(random_capacity(static_cast<std::uint64_t>(k)), 0);
    for (std::size_t i = 0; i < solver.cells(); ++i) {
      const Cell c = solver.cell(i);
      rest.momentum = std::max({rest.momentum, std::abs(c.hu), std::abs(c.hv)});
      if (c.eta > c.b)
        rest.surface = std::max(rest.surface, std::abs(c.eta - level)), ++rest.wet;
      else
        ++rest.dry;
    }
  }
  rest.surface = maximum(rest.surface), rest.momentum = maximum(rest.momentum);
  rest.wet = sum(rest.wet), rest.dry = sum(rest.dry);
  return rest;
}

TEST(LakeAtRest, StaysAtRestOverWetAndDryBedsOnThePlane) {
  Parameters setup{.domain = {2, 1},
                   .frame = {.west = 0, .south = 0, .width = 1000, .height = 1000},
                   .coarsest = 4,
                   .finest = 11,
                   .coast = 4};
  setup.sea_level = 0.37;
  const auto bed = [](double x, double y) { return rough(x, y, 90, -8, 5); };
  struct Case {
    int order;
    RiemannSolver solver;
    int steps;
  };
  for (const auto& [order, solver, steps] : {Case{1, RiemannSolver::Hllc, 150},
                                             {2, RiemannSolver::Hllc, 700},
                                             {2, RiemannSolver::Augmented, 150}}) {
    setup.physics.order = order;
    setup.physics.solver = solver;
    const Rest rest = lake_at_rest(setup, bed, 0.37, steps);
    EXPECT_LE(rest.surface, 1e-12 * 8) << order;
    EXPECT_LE(rest.momentum, 1e-12 * 8 * std::sqrt(9.81 * 8)) << order;
    EXPECT_GT(rest.wet, 100 * steps);
    EXPECT_GT(rest.dry, 10 * steps);
    EXPECT_GT(rest.refined, 0.1 * steps);
    EXPECT_GT(rest.coarsened, 0.1 * steps);
  }
}

TEST(LakeAtRest, StaysAtRestOverWetAndDryBedsOnTheSphere) {
  Parameters setup{
      .domain = {1, 2},
      .frame = {.coordinates = Coordinates::Sphere, .west = -80, .south = -60, .width = 20, .height = 20},
      .coarsest = 6,
      .finest = 12,
      .coast = 6};
  setup.physics.order = 2;
  setup.borders = {BorderKind::Radiation, BorderKind::Wall, BorderKind::Radiation, BorderKind::Radiation};
  setup.borders[0].wave = {[](double) { return 0.0; }, 0, 1e300};
  setup.borders[2].sponge = 500e3;
  const auto bed = [](double x, double y) { return rough(x + 100, y + 100, 1.7, -6000, 2000); };
  const Rest rest = lake_at_rest(setup, bed, 0, 400);
  EXPECT_LE(rest.surface, 1e-12 * 6000);
  EXPECT_LE(rest.momentum, 1e-12 * 6000 * std::sqrt(9.81 * 6000));
  EXPECT_GT(rest.dry, 1e4);
  EXPECT_GT(rest.coarsened, 40);
}

// Cells that are refined in mid-run have the bed that they would have had from the start.
TEST(Refining, ShowsTheTrueBedAndKeepsTheRestingSea) {
  for (const int coast : {6, 12}) {
    Parameters setup{
        .domain = {1, 1},
        .frame = {.coordinates = Coordinates::Sphere, .west = -80, .south = -40, .width = 20, .height = 20},
        .coarsest = 6,
        .finest = 12,
        .coast = coast};
    const auto bed = [](double x, double y) { return rough(x + 100, y + 100, 1.7, -6000, 3000); };
    Solver solver(MPI_COMM_WORLD, setup, bed, [](double, double) { return 0.0; });
    const double start = sum(solver.volume());
    double added = 0;
    solver.step(1e9);
    solver.criterion().regions = {{-80, -60, -40, -20, 12}};
    while (solver.adapt()) added += solver.added();
    EXPECT_EQ(sum(static_cast<double>(solver.cells())), 2 << 12);
    for (std::size_t i = 0; i < solver.cells(); ++i) {
      const auto [x, y] = centroid(solver, i);
      const Cell c = solver.cell(i);
      ASSERT_EQ(c.b, bed(x, y)) << x << ", " << y;
      ASSERT_NEAR(c.eta, std::max(0.0, c.b), 6e-9) << x << ", " << y;
    }
    EXPECT_NEAR(sum(solver.volume()), start + added, 1e-13 * start);
    if (coast == 12)
      EXPECT_EQ(added, 0);
    else
      EXPECT_GT(added, 1e-4 * start);
  }
}

// One side of each kind, and a floor as rough as it likes.
enum class Sides { Closed, Mixed };

// A heap of water collapses in a closed basin with islands; criterion-driven adaption, resizes on the way.
Solver closed_basin(MPI_Comm comm, Coordinates coordinates, int order = 1, int coast = 5,
                    RiemannSolver solver = RiemannSolver::Hllc, Sides sides = Sides::Closed) {
  const bool sphere = coordinates == Coordinates::Sphere;
  const double size = sphere ? 10 : 1000;
  Parameters setup{.domain = {1, 1},
                   .frame = {.coordinates = coordinates,
                             .west = 0,
                             .south = sphere ? 30.0 : 0.0,
                             .width = size,
                             .height = size},
                   .coarsest = 5,
                   .finest = 11,
                   .coast = coast};
  const double depth = sphere ? 3000 : 6;
  setup.physics.order = order;
  setup.physics.solver = solver;
  setup.criterion = {.refine_amplitude = 0.02 * depth, .coarsen_amplitude = 0.01 * depth, .buffer = 2};
  const double south = setup.frame.south;
  SeaFloor floor([=](double x, double y) { return rough(x, y, 0.11 * size, -depth, 0.3 * depth); });
  if (sides == Sides::Mixed) {
    floor.manning = [=](double x, double y) { return rough(x, y, 0.07 * size, 0, 0.1); };
    setup.borders[1].sponge = 200e3;
    setup.borders[2] = setup.borders[3] = BorderKind::Radiation;
    setup.borders[2].wave = {[](double t) { return 100 * std::sin(t / 60); }, 100, 1e300};
  }
  return Solver(comm, setup, floor, [=](double x, double y) {
    const double rx = x / size - 0.4, ry = (y - south) / size - 0.6;
    return 0.5 * depth * std::exp(-80 * (rx * rx + ry * ry));
  });
}

TEST(Mass, IsKeptInAClosedBasinThroughAdaptionAndResizes) {
  using enum Coordinates;
  struct Run {
    Coordinates coordinates;
    int order, coast;
    RiemannSolver riemann = RiemannSolver::Hllc;
  };
  for (const auto& [coordinates, order, coast, riemann] :
       {Run{Plane, 1, 5}, {Plane, 2, 5}, {Sphere, 2, 9}, {Plane, 2, 9, RiemannSolver::Augmented}}) {
    Solver solver = closed_basin(MPI_COMM_WORLD, coordinates, order, coast, riemann);
    const double start = sum(solver.volume());
    double added = 0;
    const int steps = coast == 5 ? 400 : 100;
    double fewest = 1e9, most = 0;
    for (int k = 1; k <= steps; ++k) {
      solver.step(1e9);
      if (k % 4 == 0 && solver.adapt()) added += solver.added();
      if (k % 20 == 0) solver.balance(random_capacity(static_cast<std::uint64_t>(k)), 0);
      const double cells = sum(static_cast<double>(solver.cells()));
      fewest = std::min(fewest, cells), most = std::max(most, cells);
    }
    solver.sample_gauges();  // throws, as step() does, if the last step left less than no water
    EXPECT_LE(std::abs(sum(solver.volume()) - start - added), 1e-13 * std::sqrt(steps) * start) << coast;
    EXPECT_NE(added, 0);            // by shores that are refined in mid-run
    EXPECT_GT(most, 1.3 * fewest);  // the mesh did change
  }
}

// A wave that runs into coarse cells between two adaptions is flattened there.
TEST(Buffer, HoldsTheWaveUntilTheNextAdaption) {
  const double size = 4000e3, depth = 4000;
  for (const int every : {5, 10}) {
    Parameters setup{
        .domain = {},
        .frame = {.coordinates = Coordinates::Plane, .west = 0, .south = 0, .width = size, .height = size},
        .coarsest = 6,
        .finest = 13};
    setup.physics.order = 2;
    setup.criterion = {.refine_amplitude = 0.1, .coarsen_amplitude = 0.05, .buffer = buffer_for(every)};
    Solver solver(
        MPI_COMM_WORLD, setup, [=](double, double) { return -depth; },
        [=](double x, double y) {
          const double rx = (x - 0.5 * size) / 150e3, ry = (y - 0.5 * size) / 150e3;
          return 5 * std::exp(-(rx * rx + ry * ry));
        });
    double high = 0, coarse = 0;
    for (int k = 1; k <= 120; ++k) {
      solver.step(1e9);
      if (k % every != 0) continue;
      const auto leaves = solver.mesh().leaves();
      for (std::size_t i = 0; i < solver.cells(); ++i) {
        if (std::abs(solver.cell(i).eta) <= setup.criterion.refine_amplitude) continue;
        ++high;
        coarse += leaves[i].level() < setup.finest;
      }
      solver.adapt();
      solver.balance();
    }
    EXPECT_LT(sum(coarse), 0.01 * sum(high)) << "of cells with a wave, each " << every << " steps";
    EXPECT_GT(sum(high), 1000);
  }
}

TEST(Bits, AreTheSameForEveryNumberOfRanksAndEveryResizeHistory) {
  struct Case {
    Coordinates coordinates;
    int order;
    RiemannSolver solver = RiemannSolver::Hllc;
    Sides sides = Sides::Closed;
  };
  for (const auto& [coordinates, order, solver, sides] :
       {Case{Coordinates::Plane, 2, RiemannSolver::Augmented},
        {Coordinates::Sphere, 1},
        {Coordinates::Sphere, 2, RiemannSolver::Hllc, Sides::Mixed}}) {
    Solver shared = closed_basin(MPI_COMM_WORLD, coordinates, order, 5, solver, sides),
           alone = closed_basin(MPI_COMM_SELF, coordinates, order, 5, solver, sides);
    for (Solver* s : {&shared, &alone})
      s->add_gauge(0.3 * s->setup().frame.width, s->setup().frame.south + 0.3 * s->setup().frame.height);
    int moves = 0;
    for (int k = 1; k <= 200; ++k) {
      ASSERT_EQ(shared.step(1e9), alone.step(1e9)) << "step " << k;
      if (k % 5 == 0) {
        ASSERT_EQ(shared.adapt(), alone.adapt());
      }
      if (k % 7 == 0) moves += shared.balance(random_capacity(static_cast<std::uint64_t>(k)), 0);
      if (k % 40 == 0) {
        const auto all = gather(shared), expected = alone.elements();
        ASSERT_EQ(all.size(), expected.size());
        ASSERT_EQ(std::memcmp(all.data(), expected.data(), all.size() * sizeof(Element)), 0) << "step " << k;
      }
    }
    EXPECT_GT(moves, ranks() > 1 ? 10 : -1);
    EXPECT_EQ(shared.gauges()[0].samples, alone.gauges()[0].samples);
    EXPECT_EQ(shared.gauges()[0].samples.size(), 200u);
  }
}

// It does not become dry land without a word, on whichever rank and of whichever order.
TEST(Solver, AnUndefinedStateIsRefusedWithItsPlace) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                   infinity = std::numeric_limits<double>::infinity();
  for (const int order : {1, 2})
    for (const auto& [field, value] :
         {std::pair{0, nan}, {1, nan}, {2, nan}, {3, nan}, {0, infinity}, {1, infinity}}) {
      Solver solver = closed_basin(MPI_COMM_WORLD, Coordinates::Plane, order);
      solver.step(1e9);
      std::size_t wet = 0;
      while (wet + 1 < solver.cells() && solver.cell(wet).eta - solver.cell(wet).b < 1) ++wet;
      if (rank() == ranks() - 1) {
        Cell c = solver.cell(wet);
        (field == 0 ? c.eta : field == 1 ? c.hu : field == 2 ? c.hv : c.b) = value;
        solver.set_cell(wet, c);
      }
      try {
        solver.step(1e9);  // not the next one: a new mesh in between would make dry land of it
        ADD_FAILURE() << "field " << field << ", order " << order << " went on";
      } catch (const StateError& error) {
        const std::string what = error.what();
        EXPECT_NE(what.find("at t = "), what.npos) << what;
        EXPECT_NE(what.find(field == 0 || field == 3 ? "surface" : "momentum"), what.npos) << what;
        char place[64];
        const auto [x, y] = centroid(solver, wet);
        std::snprintf(place, sizeof place, "(%f, %f)", x, y);
        if (rank() == ranks() - 1) {
          EXPECT_NE(what.find(place), what.npos) << what;
        }
      }
    }
}

// A step that would leave less than no water is an error, not new water.
TEST(Solver, ADepthBelowZeroIsRefused) {
  Parameters setup{.domain = {1, 1}, .frame = {.width = 100, .height = 100}, .coarsest = 8, .finest = 8};
  Solver solver(
      MPI_COMM_WORLD, setup, [](double, double) { return -1.0; }, [](double, double) { return 0.0; });
  ASSERT_GT(solver.step(1e9), 0);
  if (rank() == 0) {
    Cell c = solver.cell(0);
    c.eta = c.b - 0.5;
    solver.set_cell(0, c);
  }
  EXPECT_THROW(
      {
        solver.step(1e9);
        solver.step(1e9);
      },
      StateError);
}

// A source in a corner is refined by whose cells it was; nobody waits for that rank until the first adaption.
TEST(Solver, BeginsWithAsManyCellsOnEachRank) {
  Parameters setup{.domain = {1, 1}, .frame = {.width = 1000, .height = 1000}, .coarsest = 6, .finest = 12};
  setup.criterion = {.refine_amplitude = 0.1, .coarsen_amplitude = 0.05};
  const Solver solver(
      MPI_COMM_WORLD, setup, [](double, double) { return -10.0; },
      [](double x, double y) { return std::exp(-(x * x + y * y) / 2e4); });
  const auto cells = static_cast<double>(solver.cells());
  EXPECT_GT(sum(cells), 3 * (2 << 6)) << "the source was not resolved";
  EXPECT_LE(maximum(cells), 1.03 * sum(cells) / ranks() + 4);
}

TEST(Solver, ElementsTakenOutAndPutBackChangeNothing) {
  Solver solver = closed_basin(MPI_COMM_WORLD, Coordinates::Plane);
  for (int k = 0; k < 20; ++k) solver.step(1e9);
  const auto before = gather(solver);
  solver.elements();
  solver.rebuild(MPI_COMM_WORLD);
  const auto after = gather(solver);
  ASSERT_EQ(before.size(), after.size());
  EXPECT_EQ(std::memcmp(before.data(), after.data(), after.size() * sizeof(Element)), 0);
}

}  // namespace
}  // namespace swe
