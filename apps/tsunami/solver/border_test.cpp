// SPDX-License-Identifier: Apache-2.0
// What borders promise: rest stays rest, exactly; a sponge throws back less than an open border; a wave from
// a file comes in with the height and the speed that long waves have. And the sea floor's own roughness, and
// the limit of speeds. Run on one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numbers>
#include <stdexcept>
#include <utility>
#include <vector>

#include "apps/tsunami/solver/borders.hpp"
#include "apps/tsunami/solver/test_tools.hpp"

namespace swe {
namespace {

using namespace testing;

Border sponge(double width) {
  Border border(BorderKind::Radiation);
  border.sponge = width;
  return border;
}

Border wave(std::function<double(double)> surface, double height, double end = 1e300) {
  Border border(BorderKind::Radiation);
  border.wave = {std::move(surface), height, end};
  return border;
}

Border silence() {
  return wave([](double) { return 0.0; }, 0);
}

// To the bit, over a bed that is wet and dry at each side.
TEST(Borders, AllOfThemLeaveALakeAtRest) {
  Parameters setup{.domain = {2, 2}, .frame = {.width = 500, .height = 500}, .coarsest = 9, .finest = 9};
  setup.sea_level = 0.37;
  const auto bed = [](double x, double y) { return rough(x, y, 90, -8, 5); };
  for (const int order : {1, 2})
    for (const Borders& borders : {Borders{sponge(200), BorderKind::Wall, silence(), BorderKind::Radiation},
                                   Borders{silence(), sponge(150), BorderKind::Radiation, sponge(300)}}) {
      setup.physics.order = order;
      setup.borders = borders;
      Solver s(MPI_COMM_SELF, setup, bed, [](double, double) { return 0.37; });
      for (int k = 0; k < 50; ++k) ASSERT_GT(s.step(1e9), 0);
      int wet = 0;
      for (std::size_t i = 0; i < s.cells(); ++i) {
        const Cell c = s.cell(i);
        ASSERT_EQ(c.eta, std::max(0.37, c.b));
        ASSERT_TRUE(c.hu == 0 && c.hv == 0);
        wet += c.eta > c.b;
      }
      EXPECT_TRUE(wet > 300 && wet < 4000) << wet;
    }
}

// A border with a wave of 0 is an open one, to the bit.
TEST(Borders, AWaveOfNothingIsAnOpenBorder) {
  const auto state = [](const Border& border) {
    Parameters setup{.domain = {1, 1}, .frame = {.width = 1e5, .height = 1e5}, .coarsest = 9, .finest = 9};
    setup.physics.order = 2;
    setup.borders.fill(border);
    Solver s(
        MPI_COMM_SELF, setup, [](double, double) { return -100.0; },
        [](double x, double y) { return std::exp(-((x - 3e4) * (x - 3e4) + (y - 6e4) * (y - 6e4)) / 1e8); });
    run(s, 2000);
    std::vector<double> values;
    for (std::size_t i = 0; i < s.cells(); ++i) values.insert(values.end(), {s.cell(i).eta, s.cell(i).hu});
    return values;
  };
  EXPECT_EQ(state(silence()), state(BorderKind::Radiation));
}

// What is missing has left, and what is too much has come.
TEST(Borders, WhatPassesThemIsCounted) {
  for (const int order : {1, 2}) {
    const double size = 1e6, depth = 3000;
    Parameters setup{
        .domain = {},
        .frame = {.coordinates = Coordinates::Plane, .west = 0, .south = 0, .width = size, .height = size},
        .coarsest = 5,
        .finest = 9};
    setup.physics.order = order;
    setup.criterion = {.refine_amplitude = 1, .coarsen_amplitude = .5, .buffer = 2};
    for (Border& border : setup.borders) border = BorderKind::Radiation;
    setup.borders[1].sponge = 300e3;
    setup.borders[2].wave = {[](double t) { return 5 * std::sin(t / 200); }, 5, 1e300};
    Solver solver(
        MPI_COMM_WORLD, setup, [=](double x, double) { return -depth + 0.0005 * x; },
        [=](double x, double y) {
          const double rx = x / size - 0.4, ry = y / size - 0.6;
          return 50 * std::exp(-80 * (rx * rx + ry * ry));
        });
    const double start = sum(solver.volume());
    double added = 0;
    const int steps = 200;
    for (int k = 1; k <= steps; ++k) {
      solver.step(1e9);
      if (k % 5 == 0 && solver.adapt()) added += solver.added(), solver.balance();
    }
    EXPECT_LE(std::abs(sum(solver.volume()) - start - added - solver.came_in()),
              1e-13 * std::sqrt(steps) * start);
    EXPECT_GT(std::abs(solver.came_in()), 1e-6 * start) << order;
  }
}

TEST(Borders, WhatCannotBeIsRefused) {
  const auto refused = [](const Border& border) {
    try {
      Parameters setup{.domain = {1, 1}, .frame = {}};
      setup.borders[2] = border;
      Solver(setup, [](double, double) { return -1.0; });
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refused(sponge(1)));
  EXPECT_FALSE(refused(silence()));
  EXPECT_TRUE(refused(sponge(-1)));
  EXPECT_TRUE(refused(sponge(std::nan(""))));
  Border both = silence();
  both.sponge = 1;
  EXPECT_TRUE(refused(both));
  both.sponge = 0, both.kind = BorderKind::Wall;
  EXPECT_TRUE(refused(both));
}

TEST(Sponge, IsStrongestAtItsBorderAndMeasuredInMetres) {
  const mesh::Domain domain{2, 1};
  const Frame frame{.coordinates = Coordinates::Sphere, .west = 10, .south = 50, .width = 10, .height = 20};
  const Metric metric(frame, domain, 8);
  const double degree = std::numbers::pi / 180 * frame.radius;
  const Sponge s({sponge(100e3), BorderKind::Radiation, BorderKind::Wall, sponge(400e3)}, metric, domain);
  EXPECT_TRUE(s.any());
  EXPECT_DOUBLE_EQ(s.strength(10, 55), 1 / 100e3);
  EXPECT_NEAR(s.strength(10 + 50e3 / (degree * 0.5), 60), 0.25 / 100e3, 1e-17)
      << "the parallel of 60 degrees";
  EXPECT_EQ(s.strength(10 + 101e3 / (degree * 0.5), 60), 0);
  EXPECT_DOUBLE_EQ(s.strength(20, 70), 1 / 400e3);
  EXPECT_EQ(s.strength(30, 60), 0) << "an open border has none";
  EXPECT_EQ(s.strength(20, 50), 0);
  EXPECT_FALSE(Sponge({}, metric, domain).any());
}

// What a border throws back of waves of 50 km that meet it at an angle: a mode of a channel between two walls
// is two such waves. A packet of them runs from the middle to both ends and back; beside one that is thrown
// back by walls, and so has spread alike.
std::array<double, 2> thrown_back(double degrees, const std::array<Border, 2>& borders) {
  constexpr double depth = 4000, length = 50e3;
  const double angle = degrees * std::numbers::pi / 180, along = length / std::cos(angle),
               across = length / std::sin(angle), root = 0.5 * across;
  const int roots = static_cast<int>(6 * along / root);
  const double middle = 0.5 * roots * root;
  Parameters setup{
      .domain = {roots, 1}, .frame = {.width = root, .height = root}, .coarsest = 6, .finest = 6};
  setup.physics.order = 2;
  const auto left = [&](const Border& ends) {
    setup.borders[0] = setup.borders[1] = ends;
    Solver s(
        MPI_COMM_SELF, setup, [](double, double) { return -depth; },
        [&](double x, double y) {
          const double r = (x - middle) / along, k = 2 * std::numbers::pi;
          return std::exp(-0.5 * r * r) * std::cos(k * r) * std::cos(k * y / across);
        });
    run(s, 2 * middle / (std::sqrt(kG * depth) * std::cos(angle)));
    double highest = 0;
    for (std::size_t i = 0; i < s.cells(); ++i)
      if (std::abs(centroid(s, i).x - middle) < along) highest = std::max(highest, std::abs(s.cell(i).eta));
    return highest;
  };
  const double all = left(BorderKind::Wall);
  return {left(borders[0]) / all, left(borders[1]) / all};
}

// An open border throws back (1 - cos a) / (1 + cos a): 17 % and 33 %. A sponge of 1.4 lengths of the wave
// less than 5 % and 8 %.
TEST(Sponge, ThrowsBackLessThanAnOpenBorder) {
  for (const auto& [degrees, bound] : {std::pair{45.0, 0.05}, {60.0, 0.08}}) {
    const double a = std::cos(degrees * std::numbers::pi / 180);
    const auto [open, calm] = thrown_back(degrees, {BorderKind::Radiation, sponge(70e3)});
    record("open" + std::to_string(int(degrees)), open);
    record("sponge" + std::to_string(int(degrees)), calm);
    EXPECT_NEAR(open, (1 - a) / (1 + a), 0.03) << degrees;
    EXPECT_LE(calm, bound) << degrees;
    EXPECT_LE(calm, 0.4 * open) << degrees;
  }
}

// A layer before a wall: at right angles, e^-4 = .018 of the wave comes back, from both sides at once.
TEST(Sponge, LetsHardlyAnythingBackFromAWall) {
  Parameters setup{.domain = {60, 1}, .frame = {.width = 2e3, .height = 2e3}, .coarsest = 3, .finest = 3};
  setup.physics.order = 2;
  setup.physics.manning = 0;
  setup.borders[0].sponge = setup.borders[1].sponge = 30e3;
  Solver s(
      MPI_COMM_SELF, setup, [](double, double) { return -200.0; },
      [](double x, double) { return 0.01 * std::exp(-std::pow((x - 60e3) / 6e3, 2)); });
  run(s, 150e3 / std::sqrt(kG * 200));  // back in the middle, and further
  double left = 0;
  for (std::size_t i = 0; i < s.cells(); ++i)
    if (const double x = centroid(s, i).x; x > 30e3 && x < 90e3)
      left = std::max(left, std::abs(s.cell(i).eta));
  EXPECT_LE(left, 0.01 * 0.02);
  EXPECT_GT(left, 0);
}

// Amplitude and phase of the oscillation of angular frequency w that a record has in [begin, end), whole
// periods, by Fourier's integrals.
struct Oscillation {
  double amplitude, phase;
};
Oscillation oscillation(const std::vector<GaugeSample>& samples, double w, double begin, double end) {
  double sine = 0, cosine = 0;
  for (std::size_t k = 1; k < samples.size(); ++k) {
    const double t0 = std::max(samples[k - 1].time, begin), t1 = std::min(samples[k].time, end);
    if (t1 <= t0) continue;
    const double eta = 0.5 * (samples[k - 1].eta + samples[k].eta), t = 0.5 * (t0 + t1);
    sine += (t1 - t0) * eta * std::sin(w * t), cosine += (t1 - t0) * eta * std::cos(w * t);
  }
  sine *= 2 / (end - begin), cosine *= 2 / (end - begin);
  return {std::hypot(sine, cosine), std::atan2(-cosine, sine)};
}

// How a sine that comes in from a side over 200 m of water is seen after 50 km, beside a sin(w (t - x / c)),
// c = sqrt(g h).
struct Arrival {
  double height;          // over a
  double late, expected;  // s, and x / c
  double before;          // the largest |surface| until .9 x / c, over a
};
Arrival arrival(std::size_t side, double cfl = 0.55) {
  constexpr double depth = 200, amplitude = 0.01, period = 600, root = 2e3, way = 50e3;
  const double c = std::sqrt(kG * depth), w = 2 * std::numbers::pi / period;
  const bool along_x = side < 2;
  Parameters setup{.domain = along_x ? mesh::Domain{50, 1} : mesh::Domain{1, 50},
                   .frame = {.width = root, .height = root},
                   .coarsest = 3,
                   .finest = 3};
  setup.physics.order = 2;
  setup.physics.manning = 0;
  setup.physics.cfl = cfl;
  setup.borders[side] = wave([=](double t) { return amplitude * std::sin(w * t); }, amplitude);
  setup.borders[side ^ 1] = BorderKind::Radiation;
  Solver s(MPI_COMM_SELF, setup, [](double, double) { return -depth; }, [](double, double) { return 0.0; });
  const double from_border = side % 2 == 0 ? way : 100e3 - way;
  s.add_gauge(along_x ? from_border : 1.1e3, along_x ? 1.1e3 : from_border);
  const double begin = way / c + period, end = begin + 2 * period;
  run(s, end);
  s.sample_gauges();
  // The gauge shows its cell's mean, and so what is at its centroid.
  const GaugeSeries& gauge = s.gauges()[0];
  const auto cell = static_cast<std::size_t>(
      s.mesh().find(*s.setup().domain.locate(s.metric().x4(gauge.x), s.metric().y4(gauge.y), setup.finest)));
  const Place at = centroid(s, cell);
  const double place = along_x ? at.x : at.y, x = side % 2 == 0 ? place : 100e3 - place;
  const Oscillation seen = oscillation(gauge.samples, w, begin, end);
  Arrival result{seen.amplitude / amplitude, std::remainder(seen.phase - w * x / c, 2 * std::numbers::pi) / w,
                 x / c, 0};
  for (const GaugeSample& sample : gauge.samples)
    if (sample.time < 0.9 * x / c) result.before = std::max(result.before, std::abs(sample.eta) / amplitude);
  return result;
}

TEST(Wave, ComesInWithTheHeightAndTheSpeedOfALongWave) {
  for (std::size_t side = 0; side < 4; ++side) {
    const Arrival a = arrival(side);
    record("height" + std::to_string(side), a.height);
    record("late" + std::to_string(side), a.late / a.expected);
    EXPECT_NEAR(a.height, 1, 0.01) << side;
    EXPECT_NEAR(a.late, 0, 0.002 * a.expected) << side;
    EXPECT_LE(a.before, 0.02) << side << ": the sea is still until it comes";
  }
}

// Steps take 3 s: a second stage that took the wave of the first would be 1.5 s late.
TEST(Wave, IsOfSecondOrderInTime) { EXPECT_NEAR(arrival(0).late, arrival(0, 0.275).late, 0.2); }

// The height of a wave of a fourth of the depth, behind its front, to 1 %: by linear theory it would be 5 %
// higher.
TEST(Wave, OfFiniteHeightIsMet) {
  Parameters setup{.domain = {60, 1}, .frame = {.width = 1, .height = 1}, .coarsest = 2, .finest = 2};
  setup.physics.order = 2;
  setup.physics.manning = 0;
  setup.borders[0] = wave([](double t) { return 0.25 * std::min(t / 5, 1.0); }, 0.25);
  setup.borders[1] = BorderKind::Radiation;
  Solver s(MPI_COMM_SELF, setup, [](double, double) { return -1.0; }, [](double, double) { return 0.0; });
  run(s, 12);
  for (std::size_t i = 0; i < s.cells(); ++i)
    if (centroid(s, i).x < 15) {
      EXPECT_NEAR(s.cell(i).eta, 0.25, 0.0025) << centroid(s, i).x;
      EXPECT_NEAR(s.cell(i).hu, 1.25 * 2 * (std::sqrt(kG * 1.25) - std::sqrt(kG)), 0.01);
    }
}

// Cells at the border are fine before the wave comes, and become coarse when it has passed.
TEST(Wave, FindsFineCellsAtItsBorder) {
  Parameters setup{.domain = {1, 1}, .frame = {.width = 4e5, .height = 4e5}, .coarsest = 4, .finest = 9};
  setup.physics.order = 2;
  setup.borders.fill(BorderKind::Radiation);
  setup.borders[2] = wave([](double t) { return 0.5 * std::sin(t / 30); }, 0.5, 30 * std::numbers::pi);
  Solver s(MPI_COMM_SELF, setup, [](double, double) { return -4000.0; }, [](double, double) { return 0.0; });
  const auto levels = [&] {
    std::pair south{99, 0}, north{99, 0};
    for (const auto& [edge, border] : s.mesh().boundary()) {
      const int level = s.mesh().leaves()[static_cast<std::size_t>(s.mesh().edges().left[edge])].level();
      if (border != mesh::Border::South && border != mesh::Border::North) continue;
      auto& [least, most] = border == mesh::Border::South ? south : north;
      least = std::min(least, level), most = std::max(most, level);
    }
    return std::pair{south, north};
  };
  EXPECT_EQ(levels().first.first, 9) << "coarse where the wave is to come in";
  EXPECT_LE(levels().second.second, 6) << "fine where nothing comes in";
  const std::size_t at_start = s.cells();
  for (int k = 0; s.time() < 3000; ++k) {
    s.step(1e9);
    if (k % 4 == 0) s.adapt();
  }
  EXPECT_LT(s.cells(), at_start / 2) << "the wave has left";
}

// Each cell has the roughness of its own place, also one that is refined in mid-run.
TEST(Roughness, IsThatOfTheCellsPlace) {
  constexpr double speed = 1, dt = 1;
  // As exact in 32 bits.
  const auto manning = [](double x, double) { return x < 500 ? 0.0 : x < 750 ? 0.03125 : 0.125; };
  Parameters setup{.domain = {1, 1}, .frame = {.width = 1000, .height = 1000}, .coarsest = 4, .finest = 8};
  setup.borders.fill(BorderKind::Radiation);
  setup.criterion = {.refine_amplitude = 1e9, .coarsen_amplitude = 1e8};
  SeaFloor floor([](double, double) { return -2.0; });
  floor.manning = manning;
  Solver s(MPI_COMM_SELF, setup, floor, [](double, double) { return 0.0; });
  const auto expect_friction = [&] {
    for (std::size_t i = 0; i < s.cells(); ++i) s.set_cell(i, {0, 2 * speed, 0, -2});
    s.step(1e-3 * dt);
    for (std::size_t i = 0; i < s.cells(); ++i) {
      const auto [x, y] = centroid(s, i);
      if (std::min({x, y, 1000 - x, 1000 - y}) < 200) continue;  // where it comes in and leaves
      const double n = manning(x, y), damping = 1 + 1e-3 * dt * kG * n * n * speed / std::pow(2, 4.0 / 3);
      EXPECT_NEAR(s.cell(i).hu, 2 * speed / damping, 1e-12) << x << ", " << y;
    }
  };
  expect_friction();
  const std::size_t coarse = s.cells();
  s.criterion().regions = {{0, 1000, 0, 1000, 8}};
  while (s.adapt()) continue;
  EXPECT_GT(s.cells(), 10 * coarse);
  expect_friction();
  s.elements();
  s.rebuild(MPI_COMM_SELF);
  expect_friction();
}

// Water falls down a mountain of 500 m, and nothing holds it up.
TEST(SpeedLimit, KeepsStepsLongWhereThinWaterFalls) {
  struct Fall {
    double fastest = 0, shortest = 1e9;  // m/s; s
  };
  const auto fall = [](double limit) {
    Parameters setup{
        .domain = {1, 1}, .frame = {.width = 1000, .height = 1000}, .coarsest = 10, .finest = 10};
    setup.physics.order = 2;
    setup.physics.manning = 0;
    setup.physics.speed_limit = limit;
    const auto slope = [](double x, double) { return 500 - 0.5 * x; };
    Solver s(MPI_COMM_SELF, setup, slope, [&](double x, double y) { return slope(x, y) + 2; });
    const double start = s.volume();
    Fall fall;
    while (s.time() < 12) {
      fall.shortest = std::min(fall.shortest, s.step(12 - s.time()));
      for (std::size_t i = 0; i < s.cells(); ++i) {
        const Cell c = s.cell(i);
        if (c.eta - c.b > setup.physics.dry_tolerance)
          fall.fastest = std::max(fall.fastest, std::hypot(c.hu, c.hv) / (c.eta - c.b));
      }
    }
    EXPECT_NEAR(s.volume(), start, 1e-12 * start);
    return fall;
  };
  const Fall free = fall(0), limited = fall(20);
  EXPECT_GT(free.fastest, 40);
  EXPECT_LE(limited.fastest, 20 * (1 + 1e-12));
  EXPECT_GT(limited.shortest, 1.5 * free.shortest);
}

}  // namespace
}  // namespace swe
