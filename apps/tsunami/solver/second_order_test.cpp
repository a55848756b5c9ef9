// SPDX-License-Identifier: Apache-2.0
// What second order promises: exact solutions, on uniform and on changing meshes, deep, shallow and at the
// water's edge; fronts that do not ring. Run on one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "apps/tsunami/solver/test_tools.hpp"

namespace swe {
namespace {

using namespace testing;
constexpr double kG = 9.81, kPi = std::numbers::pi;

template <class Each>
void run(Solver& s, double end, Each each) {
  while (s.time() < end) {
    s.step(end - s.time());
    each();
  }
  s.sample_gauges();
}
void run(Solver& s, double end) {
  run(s, end, [] {});
}

// A standing wave in a closed basin of 100 km: eta = A cos(kx) cos(ky) cos(wt), w^2 = 2 g h k^2, for A -> 0.
struct StandingWave {
  double depth, size = 1e5, amplitude = 1e-6 * depth, k = 2 * kPi / size,
                omega = k * std::sqrt(2 * kG * depth);
  double surface(double x, double y, double t) const {
    return amplitude * std::cos(k * x) * std::cos(k * y) * std::cos(omega * t);
  }
  // Over a cell, by its 64 parts.
  double mean(const Solver& s, const mesh::Triangle& t, double time, int halvings = 6) const {
    if (halvings > 0)
      return 0.5 * (mean(s, t.child(0), time, halvings - 1) + mean(s, t.child(1), time, halvings - 1));
    return surface(s.metric().x((double(t.a.x) + t.b.x + t.c.x) / 3),
                   s.metric().y((double(t.a.y) + t.b.y + t.c.y) / 3), time);
  }
  // Relative L1 error after .4 periods. Rectangles of finer cells wander every third step, if wanted.
  double error(int coarsest, int finest, int order) const {
    Parameters setup{.domain = {1, 1},
                     .frame = {.west = 0, .south = 0, .width = size, .height = size},
                     .coarsest = coarsest,
                     .finest = finest};
    setup.physics.manning = 0;
    setup.physics.order = order;
    setup.criterion = {.refine_amplitude = 1e9, .coarsen_amplitude = 1e8, .buffer = 0};
    const double end = 0.4 * 2 * kPi / omega;
    Solver s(
        MPI_COMM_SELF, setup, [this](double, double) { return -depth; },
        [this](double x, double y) { return surface(x, y, 0); });
    for (std::size_t i = 0; i < s.cells(); ++i) {
      Cell c = s.cell(i);
      c.eta = mean(s, s.mesh().triangle(i), 0);
      s.set_cell(i, c);
    }
    int changes = 0;
    const double start = s.volume();
    run(s, end, [&] {
      if (coarsest == finest || s.steps() % 3 != 0) return;
      auto& regions = s.criterion().regions;
      regions.clear();
      for (std::uint64_t r = 0; r < 3; ++r) {
        const double x = 0.7 * size * noise(static_cast<std::uint64_t>(10 * s.time() / end), r, 1),
                     y = 0.7 * size * noise(static_cast<std::uint64_t>(10 * s.time() / end), r, 2);
        regions.push_back({x, x + 0.3 * size, y, y + 0.3 * size, finest});
      }
      changes += s.adapt();
    });
    EXPECT_NEAR(s.volume(), start, 1e-13 * std::sqrt(double(s.steps())) * start);
    EXPECT_GT(changes, coarsest == finest ? -1 : 5);
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < s.cells(); ++i) {
      const double exact = mean(s, s.mesh().triangle(i), end);
      error += s.area(i) * std::abs(s.cell(i).eta - exact), norm += s.area(i) * std::abs(exact);
    }
    return error / norm;
  }
};

double order_of(double coarse, double fine, int levels) { return std::log2(coarse / fine) / (0.5 * levels); }

TEST(StandingWave, IsOfSecondOrderInShallowWater) {
  const StandingWave wave{20};
  const double coarse = wave.error(9, 9, 2), fine = wave.error(13, 13, 2), first = wave.error(13, 13, 1);
  record("error", fine), record("error_first", first), record("order", order_of(coarse, fine, 4));
  EXPECT_GE(order_of(coarse, fine, 4), 2) << coarse << " " << fine;
  EXPECT_LE(fine, 0.02 * first);
}

TEST(StandingWave, IsOfSecondOrderWhileTheMeshChanges) {
  const StandingWave wave{4000};
  const double coarse = wave.error(8, 10, 2), fine = wave.error(12, 14, 2), first = wave.error(12, 14, 1);
  record("error", fine), record("error_first", first), record("order", order_of(coarse, fine, 4));
  EXPECT_GE(order_of(coarse, fine, 4), 1.8) << coarse << " " << fine;
  EXPECT_LE(fine, 0.05 * first);
}

// The edge of a source: 1 m of height in 4000 m of water falls apart into two waves of half a metre, and
// neither rises above what there was.
TEST(Step, DoesNotRing) {
  Parameters setup{.domain = {16, 1}, .frame = {.width = 25e3, .height = 25e3}, .coarsest = 8, .finest = 8};
  setup.physics.order = 2;
  Solver s(
      MPI_COMM_SELF, setup, [](double, double) { return -4000.0; },
      [](double x, double) { return x < 200e3 ? 1.0 : 0.0; });
  double highest = 0, lowest = 1, parting = 0, parted = 0;  // variations
  run(s, 500, [&] {
    std::map<int, std::pair<double, double>> columns;  // of squares, one leg wide: sums of eta and 1
    for (std::size_t i = 0; i < s.cells(); ++i) {
      const double eta = s.cell(i).eta;
      highest = std::max(highest, eta), lowest = std::min(lowest, eta);
      auto& column = columns[static_cast<int>(centroid(s, i).x * 16 / 25e3)];
      column.first += eta, column.second += 1;
    }
    double now = 0, before = 1;
    for (const auto& [x, sums] : columns) {
      const double value = sums.first / sums.second;
      now += std::abs(value - before), before = value;
    }
    (s.time() < 200 ? parting : parted) = std::max(s.time() < 200 ? parting : parted, now);
  });
  record("passed", std::max(highest - 1, -lowest)), record("parting", parting - 1),
      record("parted", parted - 1);
  EXPECT_LE(highest, 1.01);
  EXPECT_GE(lowest, -0.01);
  // 1 % cannot hold: surface and discharge are limited each by itself and not by characteristics, so that the
  // plateau between the two waves is made of an edge that is neither's, and keeps a ripple of it (decision
  // R12').
  EXPECT_LE(parting, 1.18);
  EXPECT_LE(parted, 1.04);
}

// Planar surface rotating in a paraboloid: Thacker (1981). GeoClaw at cells of .0244 has 2.2, 3.1 and 4.5 %;
// here they are as large as squares of .0442.
struct Bowl {
  double a = 1, h0 = 0.1, sigma = 0.5, omega = std::sqrt(2 * kG * 0.1);
  double bed(double x, double y) const { return h0 * ((x * x + y * y) / (a * a) - 1); }
  double surface(double x, double y, double t) const {
    return sigma * h0 / (a * a) * (2 * x * std::cos(omega * t) + 2 * y * std::sin(omega * t) - sigma);
  }
  double depth(double x, double y, double t) const { return std::max(0.0, surface(x, y, t) - bed(x, y)); }

  // Relative L1 errors of the depth at T/4, T/2 and T.
  std::vector<double> errors(int level, int order, RiemannSolver solver = RiemannSolver::Hllc) const {
    Parameters setup{.domain = {1, 1},
                     .frame = {.west = -2, .south = -2, .width = 4, .height = 4},
                     .coarsest = level,
                     .finest = level};
    setup.physics.manning = 0;
    setup.physics.dry_tolerance = 1e-6;
    setup.physics.order = order;
    setup.physics.solver = solver;
    Solver s(
        MPI_COMM_SELF, setup, [&](double x, double y) { return bed(x, y); },
        [&](double x, double y) { return surface(x, y, 0); });
    for (std::size_t i = 0; i < s.cells(); ++i) {
      Cell c = s.cell(i);
      c.hv = (c.eta - c.b) * sigma * omega;
      s.set_cell(i, c);
    }
    const double volume = s.volume();
    std::vector<double> errors;
    for (const double periods : {0.25, 0.5, 1.0}) {
      const double end = periods * 2 * kPi / omega;
      run(s, end);
      double error = 0, norm = 0;
      for (std::size_t i = 0; i < s.cells(); ++i) {
        const auto [x, y] = centroid(s, i);
        const Cell c = s.cell(i);
        error += s.area(i) * std::abs(c.eta - c.b - depth(x, y, end)), norm += s.area(i) * depth(x, y, end);
      }
      errors.push_back(error / norm);
    }
    EXPECT_NEAR(s.volume(), volume, 1e-12 * volume);
    return errors;
  }
};

TEST(Thacker, TheBowlIsBetterAtSecondOrderThanAtFirst) {
  const Bowl bowl;
  const auto first = bowl.errors(12, 1), coarse = bowl.errors(10, 2), fine = bowl.errors(12, 2),
             augmented = bowl.errors(12, 2, RiemannSolver::Augmented);
  const double geoclaw[] = {.022, .031, .045}, least[] = {1.4, 1.25, 1.6};
  for (int k = 0; k < 3; ++k) {
    const std::string at = std::to_string(k);
    record("first" + at, first[k]), record("second" + at, fine[k]), record("augmented" + at, augmented[k]);
    record("order" + at, order_of(coarse[k], fine[k], 2));
    EXPECT_LE(fine[k], 0.25 * first[k]) << k << ": " << fine[k] << " " << first[k];
    EXPECT_LE(fine[k], geoclaw[k]);
    EXPECT_LE(augmented[k], geoclaw[k]);
    // 1.5 holds after a period only: cells at the water's edge are constant, of first order (decision R12').
    EXPECT_GE(order_of(coarse[k], fine[k], 2), least[k]) << k << ": " << coarse[k] << " " << fine[k];
  }
}

}  // namespace
}  // namespace swe
