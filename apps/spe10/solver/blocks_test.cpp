// SPDX-License-Identifier: Apache-2.0
// Promise: two triangles that make a rectangle of one permeability have one pressure and two-point fluxes. On
// a level mesh that is the seven-point scheme; beside other triangles liquid is kept, on any number of ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "apps/io/test_record.hpp"
#include "apps/spe10/model/fluid.hpp"
#include "apps/spe10/solver/pressure.hpp"
#include "apps/spe10/testing/seven_point.hpp"

namespace {

using namespace spe10;

constexpr double kMobility = 0.5;

SolverOptions exact() {
  SolverOptions options;
  options.tolerance = 1e-13;
  return options;
}

// The block of the field that holds a triangle of the mesh.
std::size_t block_of(const Field& field, const mesh::Triangle& t) {
  const double blocks = blocks_per_root(field) / (3.0 * mesh::kSide);
  return field.at(static_cast<int>(blocks * (static_cast<double>(t.a.x) + t.b.x + t.c.x)),
                  static_cast<int>(blocks * (static_cast<double>(t.a.y) + t.b.y + t.c.y)), 0);
}

// The reference: hypre on testing/seven_point.hpp's matrix, on this rank alone. What it adds to the diagonal
// for a producer is the index of a well at pressure 0; storage makes a right hand side.
void expect_seven_points(const Field& field) {
  SparseRows reference = seven_point(field, MPI_COMM_SELF);
  const std::size_t blocks = reference.count(), layer = blocks / static_cast<std::size_t>(field.nz);
  std::vector<double> index(blocks), stored(blocks), old_p(blocks), expected(blocks);
  for (std::size_t b = 0; b < blocks; ++b) {
    const auto row = static_cast<std::size_t>(reference.begin[b]);
    for (std::size_t k = row; k < static_cast<std::size_t>(reference.begin[b + 1]); ++k)
      index[b] += reference.value[k];
    if (index[b] < 1e-9 * reference.value[row]) index[b] = 0;
    stored[b] = 1 + static_cast<double>(b % 7);
    old_p[b] = 100 + static_cast<double>(b % 5);
    reference.value[row] += stored[b];
    reference.rhs[b] = stored[b] * old_p[b];
  }
  LinearSolver(MPI_COMM_SELF, exact()).solve(reference, expected);

  const int root = blocks_per_root(field);
  const Frame frame{root * field.dx / mesh::kSide, root * field.dy / mesh::kSide, 0, field.dz, field.nz};
  Columns columns(domain_of(field), frame, rock_of(field, domain_of(field), 1));
  columns.mesh = mesh::Mesh(MPI_COMM_WORLD, domain_of(field), aligned_level(field));
  columns.connect();
  const std::size_t prisms = columns.own() * columns.nz();
  const std::vector<double> mobility(prisms, kMobility), none(prisms, 0);
  std::vector<double> storage(prisms);
  std::vector<Completion> completions;
  for (std::size_t i = 0; i < columns.own(); ++i)
    for (std::size_t z = 0; z < columns.nz(); ++z) {
      const std::size_t b = block_of(field, columns.mesh.triangle(i)) + z * layer;
      storage[columns.at(i, z)] = field.active(b) ? 0.5 * kDarcy * kMobility * stored[b] : 0;
      columns.p[columns.at(i, z)] = old_p[b];
      if (index[b] > 0)
        completions.push_back(
            {0, static_cast<std::int32_t>(i), static_cast<std::int32_t>(z), 0.5 * index[b], 0});
    }
  const Borders closed;
  Pressure pressure(columns, closed, 1, exact());
  std::vector<WellControl> controls(1);
  pressure.solve({mobility, none, storage}, completions, controls, columns.own_p());
  EXPECT_EQ(pressure.rows(), static_cast<std::int64_t>(blocks) + 1) << "one for each block, one for the well";
  double worst = 0;
  for (std::size_t i = 0; i < columns.own(); ++i)
    for (std::size_t z = 0; z < columns.nz(); ++z)
      if (const std::size_t b = block_of(field, columns.mesh.triangle(i)) + z * layer; field.active(b))
        worst = std::max(worst, std::abs(columns.p[columns.at(i, z)] - expected[b]));
      else
        EXPECT_NEAR(columns.p[columns.at(i, z)], old_p[b], 1e-12) << "an inactive block keeps what it has";
  io::test::record("error", worst);
  EXPECT_LE(worst, 1e-9) << "of pressures up to 104";
}

TEST(Blocks, LevelMeshIsTheSevenPointScheme) { expect_seven_points(synthetic_field(8, 12, 4, 3)); }

TEST(Blocks, PermeabilityAlongYIsUsed) {
  Field field = synthetic_field(8, 12, 4, 3);
  for (std::size_t b = 0; b < field.kx.size(); ++b)
    field.ky.push_back(field.kx[b] * (0.1F + static_cast<float>(b % 13)));
  expect_seven_points(field);
}

TEST(Blocks, NothingFlowsThroughInactiveBlocks) {
  Field field = synthetic_field(8, 12, 4, 3);
  for (std::size_t b = 0; b < field.kx.size(); ++b) {
    const bool corner = (b % 8 == 0 || b % 8 == 7) && (b / 8 % 12 == 0 || b / 8 % 12 == 11);
    field.phi.push_back(b % 11 == 5 && !corner ? 0.0F : 0.2F);
  }
  expect_seven_points(field);
}

// Levels and permeabilities that differ, liquid of differing mobility and weight, storage and wells; the same
// for every number of ranks.
struct Mixed {
  Columns columns;
  Borders borders;
  std::vector<double> mobility, weight, storage, old_p;
  std::vector<Completion> completions;
  std::vector<WellControl> controls{{0, 200, true}, {50, 0, false}};
  std::unique_ptr<Pressure> pressure;

  // With holes one prism of nine is inactive.
  explicit Mixed(MPI_Comm comm, bool holes)
      : columns({3, 2}, {80.0 / mesh::kSide, 40.0 / mesh::kSide, 100, 3, 5}, holes ? rock_with_holes : rock) {
    columns.mesh = mesh::Mesh(comm, {3, 2}, 4);
    for (int round = 0; round < 3; ++round) {
      std::vector<std::int8_t> marks(columns.mesh.cells());
      for (std::size_t i = 0; i < marks.size(); ++i)
        marks[i] = (columns.mesh.leaves()[i].key() >> 40) % 7 == 0;
      columns.mesh.adapt(marks);
    }
    columns.connect();
    borders[0].pressure =
        borders[kBorderTop].pressure = [](double x, double y, double) { return 100 + 0.3 * x + 0.1 * y; };
    for (std::size_t i = 0; i < columns.own(); ++i)
      for (std::size_t z = 0; z < columns.nz(); ++z) {
        const auto mixed =
            static_cast<double>(((columns.mesh.leaves()[i].key() >> 20) * 2654435761U + z) % 97);
        mobility.push_back(0.1 + 0.01 * mixed), weight.push_back(0.3 + 0.001 * mixed);
        const bool active = columns.active[columns.at(i, z)] != 0;
        storage.push_back(active ? 0.01 + 0.001 * mixed : 0);
        columns.p[columns.at(i, z)] = 90 + mixed;
        if (active && touching(i) >= 0)
          completions.push_back(
              {touching(i), static_cast<std::int32_t>(i), static_cast<std::int32_t>(z), 20, 0.5});
      }
    old_p.assign(columns.own_p().begin(), columns.own_p().end());
    pressure = std::make_unique<Pressure>(columns, borders, 2, exact());
    pressure->solve({mobility, weight, storage}, completions, controls, columns.own_p());
  }
  // Some columns have a well.
  int touching(std::size_t i) const {
    const auto key = columns.mesh.leaves()[i].key() >> 38;
    return key % 31 == 0 ? 0 : key % 37 == 0 ? 1 : -1;
  }
  static void rock(mesh::Leaf leaf, std::span<Rock> column) {
    for (std::size_t z = 0; z < column.size(); ++z) {
      const auto k = static_cast<float>(1 + (leaf.key() >> 44) % 3 * 40 + 10 * z);
      column[z] = {k, 2 * k, 0.1F * k, 0, 0, 0, 0.2};
    }
  }
  static void rock_with_holes(mesh::Leaf leaf, std::span<Rock> column) {
    rock(leaf, column);
    for (std::size_t z = 0; z < column.size(); ++z)
      if (((leaf.key() >> 42) + z) % 9 == 4) column[z] = {};
  }
};

void expect_kept(bool holes) {
  Mixed m(MPI_COMM_WORLD, holes);
  const Columns& c = m.columns;
  const std::size_t nz = c.nz();
  std::vector<double> source(c.own() * nz, 0);
  for (const Completion& w : m.completions) {
    const std::size_t prism = c.at(static_cast<std::size_t>(w.column), static_cast<std::size_t>(w.z));
    source[prism] = kDarcy * w.index * m.mobility[prism] *
                    (m.controls[static_cast<std::size_t>(w.well)].bhp + w.head - c.p[prism]);
  }
  double worst = 0, size = 0, given = 0, all = 0;
  for (std::size_t i = 0; i < c.own(); ++i)
    for (std::size_t z = 0; z < nz; ++z) {
      const std::size_t prism = c.at(i, z), face = i * (nz + 1) + z;
      double out = m.pressure->vertical_flux()[face + 1] - m.pressure->vertical_flux()[face];
      for (std::size_t f = 0; f < 3; ++f) {
        const std::int32_t slot = c.mesh.cell_slots()[3 * i + f];
        const double u = m.pressure->edge_flux()[static_cast<std::size_t>(slot / 2) * nz + z];
        out += slot % 2 == 0 ? u : -u;
        size = std::max(size, std::abs(u));
      }
      worst =
          std::max(worst, std::abs(out + m.storage[prism] * (c.p[prism] - m.old_p[prism]) - source[prism]));
    }
  for (const Completion& w : m.completions)
    if (w.well == 0) given += source[c.at(static_cast<std::size_t>(w.column), static_cast<std::size_t>(w.z))];
  MPI_Allreduce(&given, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_GT(size, 1) << "nothing flows";
  EXPECT_LE(worst, 1e-12 * size) << "ft3/day that a prism gains or loses";
  EXPECT_NEAR(all, 200, 1e-9) << "the rate of the well";
}

TEST(Blocks, LiquidIsKeptBesideOtherTriangles) { expect_kept(false); }
TEST(Blocks, LiquidIsKeptBesideInactivePrisms) { expect_kept(true); }

void expect_same_on_all_ranks(bool holes) {
  const Mixed all(MPI_COMM_WORLD, holes), alone(MPI_COMM_SELF, holes);
  EXPECT_EQ(alone.columns.all_active, !holes);
  EXPECT_EQ(all.pressure->rows(), alone.pressure->rows());
  std::map<std::uint64_t, std::size_t> place;
  for (std::size_t i = 0; i < alone.columns.own(); ++i) place[alone.columns.mesh.leaves()[i].bits] = i;
  double worst = 0;
  for (std::size_t i = 0; i < all.columns.own(); ++i)
    for (std::size_t z = 0; z < all.columns.nz(); ++z)
      worst = std::max(
          worst, std::abs(all.columns.p[all.columns.at(i, z)] -
                          alone.columns.p[alone.columns.at(place.at(all.columns.mesh.leaves()[i].bits), z)]));
  EXPECT_LE(worst, 1e-9) << "psi";
  // Both kinds of triangles are there, or this says nothing.
  const auto faces = static_cast<std::int64_t>(
      (alone.columns.mesh.edges().interior + alone.columns.own()) * alone.columns.nz() - alone.columns.own());
  EXPECT_LT(alone.pressure->rows(), faces + 2);
  EXPECT_GT(alone.pressure->rows(), faces / 5 + 2);
}

TEST(Blocks, AnyNumberOfRanksFindsTheSame) { expect_same_on_all_ranks(false); }
TEST(Blocks, AnyNumberOfRanksFindsTheSameWithInactivePrisms) { expect_same_on_all_ranks(true); }

}  // namespace
