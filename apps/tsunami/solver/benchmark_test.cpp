// SPDX-License-Identifier: Apache-2.0
// What tsunami codes are judged by: run-up of a solitary wave (NTHMP's benchmark problem 1: Synolakis, J.
// Fluid Mech. 185 (1987) 523-545; Synolakis, Bernard, Titov, Kanoglu, Gonzalez, NOAA TM OAR PMEL-135 (2007)),
// the height of a wave that comes into shallow water (Green's law), and what open borders throw back. Run on
// one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "apps/tsunami/solver/test_tools.hpp"

namespace swe {
namespace {

using namespace testing;

// A wave of height .019 d runs up a beach of 1:19.85 that begins in water of depth d = 1 m.
TEST(SolitaryWave, RunsUpASimpleBeach) {
  // Level of the water over d: NTHMP's canonical_profiles.txt, places in d from the shore.
  const std::vector<double> places = {-1.5, -1, -0.5, 0, 1, 2, 4, 6, 8, 10, 15};
  constexpr double dry = 1e9;
  const std::map<double, std::vector<double>> profiles = {
      {35, {dry, dry, dry, .00268, .00674, .01279, .02462, .02652, .0222, .01654, .00704}},
      {40, {dry, dry, dry, .01072, .02349, .03015, .02849, .02107, .01424, .00952, .00448}},
      {45, {dry, dry, .03421, .03875, .03788, .03294, .02161, .01329, .00854, .00607, .00379}},
      {50, {dry, .06427, .05594, .04872, .03649, .02682, .01455, .0089, .00637, .00513, .00385}},
      {55, {.08198, .06837, .05641, .04614, .03052, .02063, .01134, .00787, .00626, .00536, .00423}},
      {60, {dry, .05898, .04625, .03615, .02362, .0175, .01167, .00884, .00722, .00621, .00482}},
  };
  constexpr double run_up = .0909, height = .019, slope = 1 / 19.85;
  const double gamma = std::sqrt(0.75 * height), crest = 1 / slope + std::acosh(std::sqrt(20.0)) / gamma;

  constexpr double root = 0.4;
  Parameters setup{.domain = {180, 1},
                   .frame = {.west = -4, .south = 0, .width = root, .height = root},
                   .coarsest = 4,
                   .finest = 4};
  setup.physics.order = 2;
  setup.physics.manning = 0;
  setup.physics.dry_tolerance = 1e-5;
  setup.borders[1] = BorderKind::Radiation;
  const auto wave = [=](double x) {
    const double c = std::cosh(gamma * (x - crest));
    return height / (c * c);
  };
  Solver s(
      MPI_COMM_SELF, setup, [](double x, double) { return std::max(-1.0, -slope * x); },
      [&](double x, double) { return wave(x); });
  for (std::size_t i = 0; i < s.cells(); ++i) {
    Cell c = s.cell(i);
    if (c.eta > c.b) c.hu = -std::sqrt(kG) * wave(centroid(s, i).x) * (c.eta - c.b);
    s.set_cell(i, c);
  }
  for (const double x : places) s.add_gauge(x, 0.53 * root);

  double highest = 0, furthest = 0;  // bed that was wet; from the profiles
  for (const auto& [time, expected] : profiles) {
    while (s.time() < time / std::sqrt(kG)) {
      s.step(time / std::sqrt(kG) - s.time());
      for (std::size_t i = 0; i < s.cells() && s.steps() % 16 == 0; ++i)
        if (const Cell c = s.cell(i); c.eta - c.b > 1e-3 * height) highest = std::max(highest, c.b);
    }
    s.sample_gauges();
    for (std::size_t k = 0; k < places.size(); ++k) {
      const GaugeSample& now = s.gauges()[k].samples.back();
      // A cell on the beach is .005 high.
      if (expected[k] == dry)
        EXPECT_LE(now.depth, .005) << time << ", " << places[k];
      else
        EXPECT_NEAR(now.eta, expected[k], .05 * run_up) << time << ", " << places[k];
      if (expected[k] != dry) furthest = std::max(furthest, std::abs(now.eta - expected[k]));
    }
  }
  record("run_up", highest / run_up - 1), record("profiles", furthest / run_up);
  EXPECT_NEAR(highest, run_up, .05 * run_up);
}

// What a point in the east sees of a wave, and what is left in the end, over the wave's height.
struct Passed {
  double highest = 0, left = 0;
};

// In a channel of 100 squares of 2 km, a wave comes from the west end.
Passed passed_on(const Function& bed, double place, double end, RiemannSolver solver) {
  Parameters setup{.domain = {100, 1}, .frame = {.width = 2e3, .height = 2e3}, .coarsest = 3, .finest = 3};
  setup.physics.order = 2;
  setup.physics.solver = solver;
  setup.physics.manning = 0;
  setup.borders[0] = setup.borders[1] = BorderKind::Radiation;
  const double amplitude = 0.01;
  const auto wave = [=](double x) { return amplitude * std::exp(-std::pow((x - 35e3) / 12e3, 2)); };
  Solver s(MPI_COMM_SELF, setup, bed, [&](double x, double) { return wave(x); });
  for (std::size_t i = 0; i < s.cells(); ++i) {
    Cell c = s.cell(i);
    c.hu = std::sqrt(kG * -bed(0, 0)) * wave(centroid(s, i).x);
    s.set_cell(i, c);
  }
  s.add_gauge(place, 1.1e3);
  run(s, end);
  Passed passed;
  for (const GaugeSample& sample : s.gauges()[0].samples)
    passed.highest = std::max(passed.highest, sample.eta / amplitude);
  for (std::size_t i = 0; i < s.cells(); ++i)
    passed.left = std::max(passed.left, std::abs(s.cell(i).eta) / amplitude);
  return passed;
}

TEST(OpenBorder, ThrowsNothingBackAtRightAngles) {
  const auto flat = [](double, double) { return -200.0; };
  const Passed passed = passed_on(flat, 170e3, 6000, RiemannSolver::Hllc);
  record("back", passed.left);
  EXPECT_NEAR(passed.highest, 1, 0.02);
  EXPECT_LE(passed.left, 0.01);
}

// From 200 to 50 m of water a long wave grows by the fourth root of the depths' ratio.
TEST(GreensLaw, HoldsInShallowWater) {
  const auto slope = [](double x, double) { return -200 + 150 * std::clamp((x - 60e3) / 100e3, 0.0, 1.0); };
  const double grown = passed_on(slope, 170e3, 6500, RiemannSolver::Hllc).highest;
  record("height", grown / std::sqrt(2.0) - 1);
  EXPECT_NEAR(grown, std::sqrt(2.0), 0.05 * std::sqrt(2.0));
}

// Over a step from 4000 to 200 m, twenty times the depth that is left, 2 c1 / (c1 + c2) = 1.63 of the height
// go on. Reconstructed depths let 1.0 through: they take the deep side's current for one of 200 m.
TEST(Step, LetsThroughWhatTheSpeedsSay) {
  const auto step = [](double x, double) { return x < 100e3 ? -4000.0 : -200.0; };
  const double c1 = std::sqrt(kG * 4000), c2 = std::sqrt(kG * 200), expected = 2 * c1 / (c1 + c2);
  const double passed = passed_on(step, 105e3, 1000, RiemannSolver::Augmented).highest;
  record("height", passed / expected),
      record("height_hllc", passed_on(step, 105e3, 1000, RiemannSolver::Hllc).highest / expected);
  EXPECT_NEAR(passed, expected, 0.03 * expected);
}

// A current of 1 m/s over a bump that takes three of ten metres of depth, once it has become steady: what
// flows is the same everywhere, and so is the head eta + u^2 / 2g. At rest the slope of the bed balances the
// pressure alone; here it balances the pressure and what the water gains in speed.
TEST(Current, OverABumpKeepsItsDischargeAndItsHead) {
  constexpr double side = 100, depth = 10, rise = 1;
  const auto bed = [](double x, double) {
    const double from_middle = (x - 2 * side) / 40;
    return -depth + 3 * std::max(0.0, 1 - from_middle * from_middle);
  };
  struct Case {
    const char* name;
    RiemannSolver solver;
    int order;
    double flow, head;  // largest differences over the channel: of the discharge, of the head that is gained
  };
  for (const Case& of :
       {Case{"hllc1", RiemannSolver::Hllc, 1, .03, .7}, Case{"hllc2", RiemannSolver::Hllc, 2, .01, .15},
        Case{"augrie2", RiemannSolver::Augmented, 2, .001, .01}}) {
    Parameters setup{.domain = {4, 1}, .frame = {.width = side, .height = side}, .coarsest = 9, .finest = 9};
    setup.physics.order = of.order, setup.physics.solver = of.solver, setup.physics.manning = 0;
    setup.borders[0] = Border(BorderKind::Radiation);
    setup.borders[0].wave = {[](double t) { return rise * std::min(1.0, t / 60); }, rise, 1e300};
    setup.borders[1] = BorderKind::Radiation;
    Solver s(MPI_COMM_SELF, setup, bed, [](double, double) { return 0.0; });
    run(s, 300);
    struct Slice {
      double cells = 0, flow = 0, head = 0, speed = 0;
    };
    std::array<Slice, 40> slices{};  // of ten metres: a cell in which the bed bends is not smooth
    for (std::size_t i = 0; i < s.cells(); ++i) {
      const Cell c = s.cell(i);
      const double u = c.hu / (c.eta - c.b);
      Slice& slice = slices[static_cast<std::size_t>(centroid(s, i).x / 10)];
      slice.cells += 1, slice.flow += c.hu, slice.head += c.eta + u * u / (2 * kG), slice.speed += u;
    }
    for (Slice& slice : slices)
      slice.flow /= slice.cells, slice.head /= slice.cells, slice.speed /= slice.cells;
    const auto range = [&](double Slice::* of_slice) {
      const auto [least, most] = std::ranges::minmax_element(slices, {}, of_slice);
      return std::pair((*least).*of_slice, (*most).*of_slice);
    };
    const auto [slowest, fastest] = range(&Slice::speed);
    const auto [least_flow, most_flow] = range(&Slice::flow);
    const auto [least_head, most_head] = range(&Slice::head);
    const double flow = most_flow / least_flow - 1;
    const double head = (most_head - least_head) / ((fastest * fastest - slowest * slowest) / (2 * kG));
    record(std::string("discharge_") + of.name, flow), record(std::string("head_") + of.name, head);
    EXPECT_GT(fastest, 1.3 * slowest);
    EXPECT_LT(flow, of.flow) << of.name;
    EXPECT_LT(head, of.head) << of.name;
  }
}

// A round wave leaves a square through open borders, at right angles in the middle of the sides and at 45
// degrees in the corners. What comes back is seen beside a run in a sea so wide that nothing does.
TEST(OpenBorder, ThrowsLittleBack) {
  constexpr double side = 200e3, depth = 4000;
  const auto sea = [](int roots) {
    const double west = -0.5 * roots * side;
    Parameters setup{.domain = {roots, roots},
                     .frame = {.west = west, .south = west, .width = side, .height = side},
                     .coarsest = 11,
                     .finest = 11};
    setup.physics.order = 2;
    setup.borders.fill(BorderKind::Radiation);
    Solver s(
        MPI_COMM_SELF, setup, [](double, double) { return -depth; },
        [](double x, double y) { return std::exp(-(x * x + y * y) / 4e8); });
    return s;
  };
  using Place = std::pair<std::int64_t, std::int64_t>;
  const auto surface = [](const Solver& s) {
    std::map<Place, double> eta;
    for (std::size_t i = 0; i < s.cells(); ++i) {
      const auto [x, y] = centroid(s, i);
      if (std::max(std::abs(x), std::abs(y)) < side / 2)
        eta[{std::llround(x), std::llround(y)}] = s.cell(i).eta;
    }
    return eta;
  };
  {
    Solver small = sea(1), wide = sea(3);
    double passing = 0, back = 0;
    for (double time = 400; time <= 900; time += 50) {
      run(small, time), run(wide, time);
      const auto seen = surface(small), free = surface(wide);
      ASSERT_EQ(seen.size(), free.size());
      for (const auto& [place, eta] : free) {
        const auto [x, y] = place;
        const double difference = std::abs(seen.at(place) - eta);
        const double from_border = side / 2 - std::max(std::abs(x), std::abs(y));
        if (from_border < 10e3) passing = std::max(passing, std::abs(eta));
        if (from_border >= 20e3) back = std::max(back, difference);
      }
    }
    record("back", back / passing);
    EXPECT_LE(back, 0.155 * passing);
  }
}

}  // namespace
}  // namespace swe
