// SPDX-License-Identifier: Apache-2.0
// On plain MPI. Promise: a snapshot has each column with its prisms, in the order of the curve, whoever has
// it.
#include "apps/spe10/app/snapshot.hpp"

#include <gtest/gtest.h>

#include <elastic_mpi/comm.hpp>

#include "apps/io/test_shared_folder.hpp"
#include "apps/mesh/mpi_check.hpp"

namespace spe10 {
namespace {

// A well in a corner floods three layers.
Setup flooded_corner() {
  Setup setup;
  setup.deck.datum_pressure = 4000;
  setup.deck.wells = {{"I", 1, 1, Well::Kind::Injector, 300, 1e6}, {"P", 8, 8}};
  setup.wells = {{mesh::kSide / 2, mesh::kSide / 2},
                 {4ll * mesh::kSide - mesh::kSide / 2, 4ll * mesh::kSide - mesh::kSide / 2}};
  setup.domain = {1, 1};
  setup.frame = {400.0 / mesh::kSide, 200.0 / mesh::kSide, 12000, 5, 3};
  setup.rock = [](mesh::Leaf, std::span<Rock> column) {
    for (std::size_t z = 0; z < column.size(); ++z) {
      const float k = 100 * static_cast<float>(z + 1);
      column[z] = {k, k, 0.1F * k, 0, 0, 0, 0.2};
    }
  };
  setup.coarsest = setup.finest = 4;
  return setup;
}

TEST(SnapshotOfARun, HasEachColumnAsItsRankHasIt) {
  Simulator sim(flooded_corner());
  sim.start(MPI_COMM_WORLD);
  for (int k = 0; k < 3; ++k) sim.step(1);
  const int rank = elastic::rank_of(MPI_COMM_WORLD), ranks = elastic::size_of(MPI_COMM_WORLD);
  const io::test::SharedFolder shared;
  const std::string folder = shared.path("");
  write_snapshot(MPI_COMM_WORLD, sim, "a corner", folder, "snapshot-0000.vtkhdf");

  const Snapshot snapshot = read_snapshot(folder + "snapshot-0000.vtkhdf");
  const Columns& c = sim.columns();
  EXPECT_EQ(snapshot.days, sim.clock().days);
  EXPECT_EQ(snapshot.ranks, ranks);
  EXPECT_EQ(snapshot.nz, 3);
  EXPECT_EQ(snapshot.top, 12000);
  EXPECT_EQ(snapshot.dz, 5);
  const auto mine = static_cast<long>(c.own());
  long end = 0;
  elastic::check_mpi(MPI_Scan(&mine, &end, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD), "counting");
  ASSERT_EQ(snapshot.columns.size(),
            static_cast<std::size_t>(mesh::total(MPI_COMM_WORLD, static_cast<double>(mine))));
  ASSERT_EQ(snapshot.s.size(), 3 * snapshot.columns.size());
  double area = 0;  // ft^2
  for (std::size_t i = 0; i < c.own(); ++i) {
    const std::size_t at = static_cast<std::size_t>(end - mine) + i;
    const SnapshotColumn& column = snapshot.columns[at];
    EXPECT_EQ(column.owner, rank);
    EXPECT_EQ(column.level, 4);
    for (std::size_t z = 0; z < 3; ++z) {
      EXPECT_EQ(snapshot.s[3 * at + z], static_cast<float>(c.s[c.at(i, z)]));
      EXPECT_EQ(snapshot.p[3 * at + z], static_cast<float>(c.p[c.at(i, z)]));
      EXPECT_EQ(snapshot.k[3 * at + z], 100 * static_cast<float>(z + 1));
    }
    area += ((column.x[1] - column.x[0]) * (column.y[2] - column.y[0]) -
             (column.x[2] - column.x[0]) * (column.y[1] - column.y[0])) /
            2;
  }
  EXPECT_NEAR(mesh::total(MPI_COMM_WORLD, area), 400.0 * 200, 1e-2);  // floats
}

}  // namespace
}  // namespace spe10
