// SPDX-License-Identifier: Apache-2.0
// Promise: a linear pressure is found exactly, with any permeability, on any adapted mesh.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "apps/io/test_record.hpp"
#include "apps/spe10/model/fluid.hpp"
#include "apps/spe10/solver/columns.hpp"
#include "apps/spe10/solver/pressure.hpp"

namespace {

using namespace spe10;

constexpr double kGx = 0.031, kGy = -0.017, kGz = 0.21, kP0 = -20;  // psi, psi/ft
double linear(double x, double y, double depth) { return kP0 + kGx * x + kGy * y + kGz * depth; }

// Levels that differ from cell to cell, the same for every number of ranks.
void refine_somewhere(mesh::Mesh& m, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::int8_t> marks(m.cells());
    for (std::size_t i = 0; i < marks.size(); ++i) marks[i] = (m.leaves()[i].key() >> 20) % 7 < 2;
    m.adapt(marks);
  }
}

struct Case {
  Rock rock;
  double unit_ratio;  // of the root squares' sides
};

class Patch : public testing::TestWithParam<Case> {};

TEST_P(Patch, LinearPressureIsExact) {
  const Rock rock = GetParam().rock;
  const Frame frame{80.0 / mesh::kSide, 80.0 / mesh::kSide / GetParam().unit_ratio, 100, 3, 4};
  Columns columns({3, 2}, frame,
                  [&](mesh::Leaf, std::span<Rock> column) { std::ranges::fill(column, rock); });
  columns.mesh = mesh::Mesh(MPI_COMM_WORLD, {3, 2}, 2);
  refine_somewhere(columns.mesh, 4);
  columns.connect();
  Borders borders;
  for (auto& border : borders) border.pressure = linear;
  SolverOptions options;
  options.tolerance = 1e-13;
  Pressure pressure(columns, borders, 0, options);
  const std::size_t prisms = columns.own() * columns.nz();
  const std::vector<double> mobility(prisms, 0.4), none(prisms, 0);
  pressure.solve({mobility, none, none}, {}, {}, columns.own_p());

  double worst = 0, flux_error = 0, size = 0;
  int blocks = 0;
  for (std::size_t i = 0; i < columns.own(); ++i) {
    const auto [x, y] = columns.centre(i);
    blocks += columns.in_block[i];
    const Rock& k = rock;
    const double vx = -(k.kxx * kGx + k.kxy * kGy + k.kxz * kGz),
                 vy = -(k.kxy * kGx + k.kyy * kGy + k.kyz * kGz);
    for (std::size_t z = 0; z < columns.nz(); ++z) {
      worst = std::max(
          worst, std::abs(columns.p[columns.at(i, z)] - linear(x, y, frame.depth(static_cast<int>(z)))));
      for (std::size_t f = 0; f < 3; ++f) {
        const std::int32_t slot = columns.mesh.cell_slots()[3 * i + f];
        const double exact =
            0.4 * kDarcy * frame.dz * (vx * columns.shape[i].nx[f] + vy * columns.shape[i].ny[f]);
        const double found = pressure.edge_flux()[static_cast<std::size_t>(slot / 2) * columns.nz() + z];
        flux_error = std::max(flux_error, std::abs((slot % 2 == 0 ? found : -found) - exact));
        size = std::max(size, std::abs(exact));
      }
    }
  }
  EXPECT_GT(columns.mesh.leaves().front().level() + columns.mesh.leaves().back().level(), 0);
  const bool diagonal = rock.kxy == 0 && rock.kxz == 0 && rock.kyz == 0;
  EXPECT_EQ(blocks > 0, diagonal);
  EXPECT_LT(blocks, static_cast<int>(columns.own())) << "no other triangles";
  io::test::record("error", worst);
  EXPECT_LE(worst, 1e-10) << "largest error of the pressure, psi";
  EXPECT_LE(flux_error, 1e-9 * size) << "largest error of a flux";
}

INSTANTIATE_TEST_SUITE_P(AnyRock, Patch,
                         testing::Values(Case{{100, 100, 100, 0, 0, 0, 0.2}, 1},
                                         Case{{500, 500, 0.05F, 0, 0, 0, 0.2}, 2},
                                         Case{{100, 30, 10, 40, 0, 0, 0.2}, 2},
                                         Case{{100, 60, 30, 35, -20, 15, 0.2}, 1}));

// Still liquid stays still: gravity and pressure balance in every face. `bits` of a leaf's key that its rock
// does not see: with many of them there are blocks.
class Still : public testing::TestWithParam<int> {};

TEST_P(Still, HydrostaticLiquidDoesNotFlow) {
  const Frame frame{20.0 / mesh::kSide, 10.0 / mesh::kSide, 12000, 2, 6};
  Columns columns({3, 2}, frame, [bits = GetParam()](mesh::Leaf leaf, std::span<Rock> column) {
    for (std::size_t z = 0; z < column.size(); ++z) {
      const float k = 1.0F + static_cast<float>((leaf.key() >> bits) % 97 * (z + 1));
      column[z] = {k, k, 0.1F * k, 0, 0, 0, 0.2};
    }
  });
  columns.mesh = mesh::Mesh(MPI_COMM_WORLD, {3, 2}, 2);
  refine_somewhere(columns.mesh, 3);
  columns.connect();
  Borders borders;
  borders[0].pressure = [](double, double, double depth) { return 6000 + 0.36 * (depth - 12000); };
  SolverOptions options;
  options.tolerance = 1e-13;
  Pressure pressure(columns, borders, 0, options);
  const std::size_t prisms = columns.own() * columns.nz();
  const std::vector<double> mobility(prisms, 0.4), weight(prisms, 0.36), none(prisms, 0);
  pressure.solve({mobility, weight, none}, {}, {}, columns.own_p());
  double largest = 0;
  for (const double flux : pressure.edge_flux()) largest = std::max(largest, std::abs(flux));
  for (const double flux : pressure.vertical_flux()) largest = std::max(largest, std::abs(flux));
  EXPECT_LE(largest, 1e-7) << "ft3/day";
  int blocks = static_cast<int>(std::ranges::count(columns.in_block, 1)), all = 0;
  MPI_Allreduce(&blocks, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(all > 0, GetParam() == 46);
}

INSTANTIATE_TEST_SUITE_P(WithoutAndWithBlocks, Still, testing::Values(18, 46));

}  // namespace
