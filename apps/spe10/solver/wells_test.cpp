// SPDX-License-Identifier: Apache-2.0
// Promise: with the index of a completion, the mesh around a well gives the flow of the exact radial
// solution, wherever in its triangles the well lies.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "apps/io/test_record.hpp"
#include "apps/spe10/model/fluid.hpp"
#include "apps/spe10/solver/simulator.hpp"

namespace {

using namespace spe10;

struct Case {
  int level;
  WellPoint point;
  float ky;  // kx is 100
};
class Radial : public testing::TestWithParam<Case> {};

TEST_P(Radial, FlowIsTheExactOne) {
  constexpr float kx = 100;
  const float ky = GetParam().ky;
  // Far borders hold the logarithm of the distance in isotropic coordinates: with a flow of 2 pi k h darcy
  // the exact pressure is that logarithm everywhere.
  const Frame frame{400.0 / mesh::kSide, 400.0 / mesh::kSide, 0, 3, 2};
  const WellPoint point = GetParam().point;
  const double stretch = std::pow(ky / kx, 0.25), radius = 0.25;
  const double x0 = 0.25 * static_cast<double>(point.x4) * frame.unit_x,
               y0 = 0.25 * static_cast<double>(point.y4) * frame.unit_y;
  Borders borders;
  for (int side = 0; side < 4; ++side)
    borders[static_cast<std::size_t>(side)].pressure = [=](double x, double y, double) {
      return std::log(std::hypot((x - x0) * stretch, (y - y0) / stretch));
    };
  Columns columns({2, 2}, frame, [&](mesh::Leaf, std::span<spe10::Rock> column) {
    std::ranges::fill(column, spe10::Rock{kx, ky, 10, 0, 0, 0, 0.2});
  });
  columns.mesh = mesh::Mesh(MPI_COMM_WORLD, {2, 2}, GetParam().level);
  columns.connect();
  Deck deck;
  deck.wells = {{"W", 1, 1}};
  deck.wells[0].radius = radius;
  deck.fluid.density_o = 0;
  WellModel model(deck, {point});
  const auto completions = model.completions(columns);
  SolverOptions options;
  options.tolerance = 1e-12;
  Pressure pressure(columns, borders, 1, options);
  const std::size_t prisms = columns.own() * columns.nz();
  const std::vector<double> mobility(prisms, 1), none(prisms, 0);
  std::vector<WellControl> controls(1);
  controls[0].bhp = std::log(0.5 * radius * (stretch + 1 / stretch));
  pressure.solve({mobility, none, none}, completions, controls, columns.own_p());
  double flow = 0;
  for (const Completion& c : completions)
    flow -= kDarcy * c.index *
            (controls[0].bhp -
             columns.p[columns.at(static_cast<std::size_t>(c.column), static_cast<std::size_t>(c.z))]);
  double all = 0;
  MPI_Allreduce(&flow, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double exact = 2 * M_PI * std::sqrt(static_cast<double>(kx) * ky) * kDarcy * frame.dz * 2;
  io::test::record("flow", all / exact - 1);
  EXPECT_NEAR(all / exact, 1, 0.01);
}

constexpr std::int64_t kQuarter = 4ll * mesh::kSide / 4;  // a point of the mesh in quarters of a root square
INSTANTIATE_TEST_SUITE_P(
    Places, Radial,
    testing::Values(
        Case{6, {4 * kQuarter, 4 * kQuarter}, 100}, Case{7, {3 * kQuarter, 5 * kQuarter}, 100},
        Case{8, {3 * kQuarter, 5 * kQuarter}, 25},
        Case{6, {4 * kQuarter + kQuarter / 4, 4 * kQuarter + kQuarter / 4}, 100},  // on an edge, or a vertex
        Case{6, {4 * kQuarter + kQuarter / 8, 4 * kQuarter + 3 * kQuarter / 8}, 100},  // somewhere else
        Case{5, {4 * kQuarter + kQuarter / 3, 4 * kQuarter + kQuarter / 7}, 50}));     // inside

}  // namespace
