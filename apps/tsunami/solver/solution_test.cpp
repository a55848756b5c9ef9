// SPDX-License-Identifier: Apache-2.0
// Convergence to exact solutions. Run on one rank.
#include <gtest/gtest.h>

#include <numbers>

#include "apps/tsunami/solver/test_tools.hpp"

namespace swe {
namespace {

using namespace testing;
constexpr double kG = 9.81;

// A channel 1 m x 1/64 m, dam at x = 0 in the middle, flat bed, uniform mesh.
Solver channel(int level, double left, double right) {
  Parameters setup{.domain = {64, 1},
                   .frame = {.west = -0.5, .south = 0, .width = 1.0 / 64, .height = 1.0 / 64},
                   .coarsest = level,
                   .finest = level};
  setup.physics.manning = 0;
  setup.physics.dry_tolerance = 1e-9;
  return Solver(
      MPI_COMM_SELF, setup, [](double, double) { return 0; },
      [=](double x, double) { return x < 0 ? left : right; });
}

// Every step but those that leave a depth below 0 by more than rounding: they throw.
void run(Solver& s, double end) {
  while (s.time() < end) s.step(end - s.time());
  s.sample_gauges();
}

// Integral of |h - exact| over the domain, divided by that of |exact|.
template <class Exact>
double l1_error(const Solver& s, Exact exact) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < s.cells(); ++i) {
    const auto [x, y] = centroid(s, i);
    const Cell c = s.cell(i);
    error += s.area(i) * std::abs(c.eta - c.b - exact(x, y)), norm += s.area(i) * exact(x, y);
  }
  return error / norm;
}

// Dam break onto a dry bed: Ritter (1892).
double ritter(double x, double t, double depth) {
  const double c = std::sqrt(kG * depth), xi = x / t;
  if (xi < -c) return depth;
  if (xi > 2 * c) return 0;
  return (2 * c - xi) * (2 * c - xi) / (9 * kG);
}

TEST(Ritter, DryDamBreakConverges) {
  const double depth = 0.1, end = 0.15;
  double errors[2];
  for (int k : {0, 1}) {
    Solver s = channel(4 + 4 * k, depth, 0);
    const double volume = s.volume();
    run(s, end);
    errors[k] = l1_error(s, [&](double x, double) { return ritter(x, end, depth); });
    EXPECT_NEAR(s.volume(), volume, 1e-12 * volume);
  }
  const double order = std::log2(errors[0] / errors[1]) / 2;
  record("order", order);
  EXPECT_GE(order, 0.6) << errors[0] << " " << errors[1];
}

// Dam break onto water: Stoker (1957). Middle state from rarefaction and shock relations.
struct Stoker {
  double left, right, middle, velocity, shock;
  Stoker(double hl, double hr) : left(hl), right(hr) {
    double low = hr, high = hl;
    for (int k = 0; k < 200; ++k) {
      middle = 0.5 * (low + high);
      const double rarefaction = 2 * (std::sqrt(kG * hl) - std::sqrt(kG * middle));
      const double jump = (middle - hr) * std::sqrt(0.5 * kG * (middle + hr) / (middle * hr));
      (rarefaction > jump ? low : high) = middle;
      velocity = rarefaction;
    }
    shock = middle * velocity / (middle - hr);
  }
  double operator()(double x, double t) const {
    const double c = std::sqrt(kG * left), xi = x / t;
    if (xi < -c) return left;
    if (xi < velocity - std::sqrt(kG * middle)) return (2 * c - xi) * (2 * c - xi) / (9 * kG);
    return xi < shock ? middle : right;
  }
};

TEST(Stoker, WetDamBreakConvergesAndTheShockHasTheRightSpeed) {
  const double hl = 0.1, hr = 0.03, end = 0.25;
  const Stoker exact(hl, hr);
  double errors[2];
  for (int k : {0, 1}) {
    Solver s = channel(4 + 4 * k, hl, hr);
    run(s, end);
    errors[k] = l1_error(s, [&](double x, double) { return exact(x, end); });
    if (k == 0) continue;
    // The shock stands where the depth passes half of the jump.
    double ahead = 1e9, behind = -1e9;
    for (std::size_t i = 0; i < s.cells(); ++i) {
      const double x = centroid(s, i).x, h = s.cell(i).eta;
      if (x < 0.5 * exact.shock * end) continue;
      if (h > 0.5 * (exact.middle + hr))
        behind = std::max(behind, x);
      else
        ahead = std::min(ahead, x);
    }
    EXPECT_NEAR(0.5 * (ahead + behind) / end, exact.shock, 0.01 * exact.shock);
  }
  const double order = std::log2(errors[0] / errors[1]) / 2;
  record("order", order);
  EXPECT_GE(order, 0.8) << errors[0] << " " << errors[1];
}

// Planar surface rotating in a paraboloid: Thacker (1981).
struct Bowl {
  double a = 1, h0 = 0.1, sigma = 0.5, omega = std::sqrt(2 * kG * 0.1);
  double bed(double x, double y) const { return h0 * ((x * x + y * y) / (a * a) - 1); }
  double surface(double x, double y, double t) const {
    return sigma * h0 / (a * a) * (2 * x * std::cos(omega * t) + 2 * y * std::sin(omega * t) - sigma);
  }
  double depth(double x, double y, double t) const { return std::max(0.0, surface(x, y, t) - bed(x, y)); }
};

TEST(Thacker, BowlConverges) {
  const Bowl bowl;
  const double end = 0.25 * 2 * std::numbers::pi / bowl.omega;
  double errors[2];
  for (int k : {0, 1}) {
    const int level = 11 + 2 * k;
    Parameters setup{.domain = {1, 1},
                     .frame = {.west = -2, .south = -2, .width = 4, .height = 4},
                     .coarsest = level,
                     .finest = level};
    setup.physics.manning = 0;
    setup.physics.dry_tolerance = 1e-6;
    Solver s(
        MPI_COMM_SELF, setup, [&](double x, double y) { return bowl.bed(x, y); },
        [&](double x, double y) { return bowl.surface(x, y, 0); });
    for (std::size_t i = 0; i < s.cells(); ++i) {
      Cell c = s.cell(i);
      c.hv = (c.eta - c.b) * bowl.sigma * bowl.omega;
      s.set_cell(i, c);
    }
    const double volume = s.volume();
    run(s, end);
    EXPECT_NEAR(s.volume(), volume, 1e-12 * volume);
    errors[k] = l1_error(s, [&](double x, double y) { return bowl.depth(x, y, end); });
  }
  const double order = std::log2(errors[0] / errors[1]);
  record("order", order);
  EXPECT_GE(order, 0.7) << errors[0] << " " << errors[1];
}

TEST(Sphere, AreasAddUp) {
  const mesh::Domain domain{2, 3};
  const Frame frame{
      .coordinates = Coordinates::Sphere, .west = -120, .south = -60, .width = 20, .height = 20};
  const Metric metric(frame, domain, 12);
  double total = 0;
  for (std::uint32_t root = 0; root < domain.roots(); ++root) {
    mesh::Leaf leaf = mesh::Leaf::of_root(root);
    mesh::Triangle t = domain.root_triangle(root);
    total += metric.area(leaf, t);
    for (int level = 0; level < 11; ++level) {
      const double parent = metric.area(leaf, t);
      const double children = metric.area(leaf.child(0), t.child(0)) + metric.area(leaf.child(1), t.child(1));
      EXPECT_NEAR(children, parent, 1e-14 * parent);
      const int which = static_cast<int>(noise(root, static_cast<std::uint64_t>(level)) * 2);
      leaf = leaf.child(which), t = t.child(which);
    }
  }
  const double rad = std::numbers::pi / 180;
  const double exact = frame.radius * frame.radius * 40 * rad * (std::sin(0.0) - std::sin(-60 * rad));
  EXPECT_NEAR(total, exact, 1e-13 * exact);
}

TEST(Sphere, AWaveRunsWithTheSpeedOfTheWaterDepth) {
  // A plane front along the equator in water 4000 m deep: sqrt(g h) = 198.1 m/s.
  Parameters setup{
      .domain = {8, 1},
      .frame = {.coordinates = Coordinates::Sphere, .west = 0, .south = -1, .width = 2, .height = 2},
      .coarsest = 12,
      .finest = 12};
  Solver s(
      MPI_COMM_SELF, setup, [](double, double) { return -4000.0; },
      [](double x, double) { return x < 4 ? 1.0 : 0.0; });
  s.add_gauge(8, 0.01);
  run(s, 4000);
  const auto& gauge = s.gauges()[0];
  double arrival = 0;
  for (const GaugeSample& sample : gauge.samples) {
    if (sample.eta <= 0.25 || arrival != 0) continue;
    arrival = sample.time;
    // Of a long wave that runs east: u = eta sqrt(g / h).
    EXPECT_NEAR(sample.u, sample.eta * std::sqrt(kG / 4000), 0.02 * sample.u);
    EXPECT_NEAR(sample.v, 0, 1e-3 * sample.u);
    EXPECT_NEAR(sample.depth, 4000 + sample.eta, 1e-9);
    EXPECT_EQ(sample.level, 12);
  }
  const double expected = 4 * std::numbers::pi / 180 * setup.frame.radius / std::sqrt(kG * 4000);
  EXPECT_NEAR(arrival, expected, 0.01 * expected);
}

// A current in the middle of a basin turns to the right in the north and to the left in the south, once in 12
// h over the sine of the latitude, and keeps its speed until waves come from the walls.
TEST(Sphere, ACurrentTurnsWithTheEarth) {
  for (const double south : {44.0, -46.0}) {
    Parameters setup{
        .domain = {1, 1},
        .frame = {.coordinates = Coordinates::Sphere, .west = 0, .south = south, .width = 2, .height = 2},
        .coarsest = 9,
        .finest = 9};
    setup.physics.manning = 0;
    setup.physics.rotation = 7.292e-5;
    Solver s(MPI_COMM_SELF, setup, [](double, double) { return -10.0; }, [](double, double) { return 0.0; });
    for (std::size_t i = 0; i < s.cells(); ++i) s.set_cell(i, {0, 0.1, 0, -10});
    const double end = 3000, angle = 2 * 7.292e-5 * std::sin((south + 1) * std::numbers::pi / 180) * end;
    run(s, end);
    int seen = 0;
    for (std::size_t i = 0; i < s.cells(); ++i) {
      const auto [x, y] = centroid(s, i);
      if (std::hypot(x - 1, y - south - 1) > 0.15) continue;
      ++seen;
      EXPECT_NEAR(s.cell(i).hu, 0.1 * std::cos(angle), 1e-3);
      EXPECT_NEAR(s.cell(i).hv, -0.1 * std::sin(angle), 1e-3);
    }
    EXPECT_GT(seen, 2);
  }
}

TEST(Solver, BadSetupsAreRefused) {
  const Function flat = [](double, double) { return -1.0; };
  EXPECT_THROW(Solver({.domain = {1, 1}, .frame = {}, .coarsest = 5, .finest = 4}, flat),
               std::invalid_argument);
  EXPECT_THROW(Solver({.domain = {1, 1}, .frame = {.width = 0}}, flat), std::invalid_argument);
  Parameters fast{.domain = {1, 1}, .frame = {}};
  fast.physics.cfl = 1;
  EXPECT_THROW(Solver(fast, flat), std::invalid_argument);
  Solver s(MPI_COMM_SELF, {.domain = {1, 1}, .frame = {}}, flat, [](double, double) { return 0.0; });
  EXPECT_THROW(s.add_gauge(3, 3), std::invalid_argument);
}

}  // namespace
}  // namespace swe
