// SPDX-License-Identifier: Apache-2.0
// On plain MPI. Promise: a snapshot has each cell with its corners and state, in the order of the curve,
// whoever has it; and tells ParaView its time.
#include "apps/tsunami/app/snapshot.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <elastic_mpi/comm.hpp>
#include <nlohmann/json.hpp>

#include "apps/io/report.hpp"
#include "apps/io/test_shared_folder.hpp"
#include "apps/mesh/mpi_check.hpp"

namespace tsunami {
namespace {

constexpr double kSize = 10, kWest = 119.9;

TEST(SnapshotOfARun, HasEachCellAsItsRankHasIt) {
  swe::Parameters setup;
  setup.domain = {1, 1};
  setup.frame = {
      .coordinates = swe::Coordinates::Sphere, .west = kWest, .south = 0, .width = kSize, .height = kSize};
  setup.coarsest = 5;
  setup.finest = 10;
  swe::Solver solver(
      MPI_COMM_WORLD, setup,
      swe::Function([](double x, double y) { return x < kWest + 2 ? 30 - 20 * (x - kWest) : -200 - 5 * y; }),
      [](double x, double y) { return 8 * std::exp(-std::pow(x - kWest - 6, 2) - (y - 5) * (y - 5)); });
  for (int k = 0; k < 10; ++k) solver.step(1e9);
  const int rank = elastic::rank_of(MPI_COMM_WORLD), ranks = elastic::size_of(MPI_COMM_WORLD);
  const io::test::SharedFolder shared;
  const std::string folder = shared.path("");
  write_snapshot(MPI_COMM_WORLD, solver, "a basin", folder, "snapshot-0000.vtkhdf");

  // Each rank looks for its own cells behind those of the ranks before it.
  const Snapshot snapshot = read_snapshot(folder + "snapshot-0000.vtkhdf");
  EXPECT_EQ(snapshot.time, solver.time());
  EXPECT_EQ(snapshot.ranks, ranks);
  const auto mine = static_cast<long>(solver.cells());
  long end = 0;
  elastic::check_mpi(MPI_Scan(&mine, &end, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD), "counting");
  EXPECT_EQ(static_cast<double>(snapshot.cells.size()),
            mesh::total(MPI_COMM_WORLD, static_cast<double>(mine)));
  ASSERT_GE(snapshot.cells.size(), static_cast<std::size_t>(end));
  double area = 0;  // degrees^2
  for (std::size_t i = 0; i < solver.cells(); ++i) {
    const SnapshotCell& cell = snapshot.cells[static_cast<std::size_t>(end - mine) + i];
    const swe::Cell state = solver.cell(i);
    EXPECT_EQ(cell.eta, static_cast<float>(state.eta));
    EXPECT_EQ(cell.hu, static_cast<float>(state.hu));
    EXPECT_EQ(cell.hv, static_cast<float>(state.hv));
    EXPECT_EQ(cell.b, static_cast<float>(state.b));
    EXPECT_EQ(cell.owner, rank);
    EXPECT_EQ(cell.level, solver.mesh().leaves()[i].level());
    // A float would be 0.4 m off at 120 degrees.
    EXPECT_EQ(cell.lon[0], solver.metric().x(solver.mesh().triangle(i).a.x));
    EXPECT_EQ(cell.lat[0], solver.metric().y(solver.mesh().triangle(i).a.y));
    area += ((cell.lon[1] - cell.lon[0]) * (cell.lat[2] - cell.lat[0]) -
             (cell.lon[2] - cell.lon[0]) * (cell.lat[1] - cell.lat[0])) /
            2;
  }
  EXPECT_NEAR(mesh::total(MPI_COMM_WORLD, area), kSize * kSize, 1e-10);
  const nlohmann::json series = io::read_json(folder + "" + kSeriesFile);
  EXPECT_EQ(series.at("files").at(0).at("name"), "snapshot-0000.vtkhdf");
  EXPECT_EQ(series.at("files").at(0).at("time"), solver.time());
}

}  // namespace
}  // namespace tsunami
