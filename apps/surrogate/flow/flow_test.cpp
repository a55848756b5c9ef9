// SPDX-License-Identifier: Apache-2.0
// The flow solver against exact and published solutions.
#include "apps/surrogate/flow/flow.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "apps/io/test_record.hpp"

namespace flow {
namespace {

double residual(const Poisson& poisson, const std::vector<double>& p, const std::vector<double>& rhs, int nx,
                int ny, double hx, double hy, bool open) {
  const auto at = [&](int i, int j) { return p[poisson.at(i, j)]; };
  double worst = 0;
  for (int i = 0; i < nx; ++i)
    for (int j = 0; j < ny; ++j) {
      const double here = at(i, j);
      double sum = 0;
      if (i > 0) sum += (at(i - 1, j) - here) / (hx * hx);
      if (i < nx - 1) sum += (at(i + 1, j) - here) / (hx * hx);
      if (i == nx - 1 && open) sum -= 2 * here / (hx * hx);
      if (j > 0) sum += (at(i, j - 1) - here) / (hy * hy);
      if (j < ny - 1) sum += (at(i, j + 1) - here) / (hy * hy);
      worst = std::max(worst, std::abs(sum - rhs[poisson.at(i, j)]));
    }
  return worst;
}

TEST(Poisson, SolvesItsFivePointEquations) {
  for (const bool open : {true, false})
    for (const auto& [nx, ny] : {std::pair{100, 20}, {7, 5}, {33, 33}, {2, 17}}) {
      const double hx = 0.3, hy = 0.2;
      Poisson poisson(nx, ny, hx, hy, open);
      std::mt19937 random(5);
      std::vector<double> rhs(poisson.at(nx, 0));
      double sum = 0;
      for (int i = 0; i < nx; ++i)
        for (int j = 0; j < ny; ++j) {
          double& value = rhs[poisson.at(i, j)];
          value = static_cast<double>(random()) / 4294967296.0 - 0.5;
          sum += value;
        }
      if (!open) rhs[0] -= sum;
      std::vector<double> p = rhs;
      poisson.solve(p);
      EXPECT_LT(residual(poisson, p, rhs, nx, ny, hx, hy, open), 1e-10) << nx << " x " << ny << " " << open;
    }
}

// Fully developed flow between two walls: u = 1.5 (1 - (2 y / H - 1)^2) for a mean of 1.
double poiseuille_error(int ny) {
  Box s;
  s.length = 2;
  s.height = 1;
  s.nx = 2 * ny;
  s.ny = ny;
  s.viscosity = 0.1;
  s.open_east = true;
  const double h = 1.0 / ny;
  s.dt = 0.1 * h * h / s.viscosity;
  const auto exact = [](double y) { return 6 * y * (1 - y); };
  for (int j = 0; j < ny; ++j) s.inflow.push_back(exact((j + 0.5) * h));
  Flow flow(s);
  while (flow.time() < 2) flow.step();
  EXPECT_LT(flow.acceleration(), 1e-6);
  EXPECT_LT(flow.divergence(), 1e-11);
  double error = 0;
  for (int j = 0; j < ny; ++j) error += std::pow(flow.u(s.nx / 2, j) - exact((j + 0.5) * h), 2) * h;
  return std::sqrt(error);
}

TEST(Flow, PoiseuilleConvergesAtSecondOrder) {
  const double coarse = poiseuille_error(8), fine = poiseuille_error(16), finest = poiseuille_error(32);
  io::test::record("error", finest);
  io::test::record("order", std::log2(fine / finest));
  EXPECT_LT(finest, 2e-3);
  EXPECT_GT(std::log2(coarse / fine), 1.8) << coarse << " " << fine;
  EXPECT_GT(std::log2(fine / finest), 1.9) << fine << " " << finest;
}

TEST(Flow, IsFreeOfDivergenceAroundObstacles) {
  Box s;
  s.inflow.assign(20, 1.0);
  s.open_east = true;
  Flow flow(s);
  const Block blocks[] = {{2, 0.8, 0.5, 0.5}, {5.03, 1.31, 0.4, 0.7}};
  flow.set_blocks(blocks);
  for (int n = 0; n < 100; ++n) {
    flow.step();
    ASSERT_LT(flow.divergence(), 1e-12) << "step " << n;
  }
  // What flows in flows out of each section, and the middle of a block lets next to nothing through.
  for (const int i : {0, 20, 50, 100}) {
    double through = 0;
    for (int j = 0; j < 20; ++j) through += flow.u(i, j) * flow.hy();
    EXPECT_NEAR(through, 2, 1e-12);
  }
  EXPECT_NEAR(flow.u_at(2, 0.8), 0, 0.05);  // as the channel has it: Box::closed lets nothing through
  EXPECT_GT(flow.solid(20, 8), 0.95);
  EXPECT_EQ(flow.solid(70, 8), 0);
}

TEST(Flow, ClosedObstaclesLetNothingThrough) {
  Box s;
  s.inflow.assign(20, 1.0);
  s.open_east = true;
  s.closed = true;
  Flow flow(s);
  const Block blocks[] = {{2, 0.8, 0.5, 0.5}, {5.03, 1.31, 0.4, 0.7}};
  flow.set_blocks(blocks);
  for (int n = 0; n < 100; ++n) {
    flow.step();
    ASSERT_LT(flow.divergence(), 1e-12) << "step " << n;
  }
  EXPECT_NEAR(flow.u_at(2, 0.8), 0, 2e-3);
  EXPECT_NEAR(flow.u_at(5.03, 1.31), 0, 2e-3);
}

TEST(Flow, RefusesSetupsThatMakeNoSense) {
  Box s;
  s.inflow = {1, 2};
  s.open_east = true;
  EXPECT_THROW(Flow{s}, std::invalid_argument);
  s.inflow.assign(20, 1.0);
  s.open_east = false;
  EXPECT_THROW(Flow{s}, std::invalid_argument);
  s.open_east = true;
  s.viscosity = 0;
  EXPECT_THROW(Flow{s}, std::invalid_argument);
}

}  // namespace
}  // namespace flow
