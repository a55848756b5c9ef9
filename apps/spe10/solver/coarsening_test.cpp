// SPDX-License-Identifier: Apache-2.0
// Promise: coarse columns pass as much liquid upwards as the fine ones that they stand for, though their rock
// is mixed of channels and shale, as SPE10's.
#include <gtest/gtest.h>

#include <cstdio>

#include "apps/io/test_record.hpp"
#include "apps/mesh/mpi_check.hpp"
#include "apps/spe10/solver/pressure.hpp"

namespace {

using namespace spe10;

// What flows through from the bottom, at 100 psi, to the top, at 0: ft3/day.
double upward(const Field& field, int level) {
  const int root = blocks_per_root(field);
  const Frame frame{root * field.dx / mesh::kSide, root * field.dy / mesh::kSide, 0, field.dz, field.nz};
  Columns columns(domain_of(field), frame, rock_of(field, domain_of(field), 1));
  columns.mesh = mesh::Mesh(MPI_COMM_WORLD, domain_of(field), level);
  columns.connect();
  Borders borders;
  borders[kBorderTop].pressure = [](double, double, double) { return 0.0; };
  borders[kBorderBottom].pressure = [](double, double, double) { return 100.0; };
  SolverOptions options;
  options.tolerance = 1e-12;
  Pressure pressure(columns, borders, 0, options);
  const std::size_t nz = columns.nz();
  const std::vector<double> mobility(columns.own() * nz, 0.4), none(mobility.size(), 0);
  pressure.solve({mobility, none, none}, {}, {}, columns.own_p());
  double through = 0;
  for (std::size_t i = 0; i < columns.own(); ++i) through -= pressure.vertical_flux()[i * (nz + 1)];
  return mesh::total(MPI_COMM_WORLD, through);
}

// Half of the columns of blocks have kz of 0.3 kx, the others of 1e-4 kx, as SPE10's two classes.
TEST(Coarsening, MixedColumnsLetAsMuchThroughAsTheirBlocks) {
  Field field = synthetic_field(16, 16, 5, 3);
  for (std::size_t b = 0; b < field.kx.size(); ++b) {
    const std::size_t column = b % 256;
    field.kz[b] = field.kx[b] * (column * 2654435761U >> 9 & 1 ? 0.3F : 1e-4F);
  }
  const double coarse = upward(field, 2), middle = upward(field, 3), fine = upward(field, 4);
  std::printf("%.4g ft3/day on level 2, %.4g on 3, %.4g on 4\n", coarse, middle, fine);
  io::test::record("level2", coarse / fine - 1);
  io::test::record("level3", middle / fine - 1);
  EXPECT_NEAR(coarse, fine, 0.2 * fine);
  EXPECT_NEAR(middle, fine, 0.2 * fine);
}

}  // namespace
