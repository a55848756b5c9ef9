// SPDX-License-Identifier: Apache-2.0
// On plain MPI. Promise: a point of the raster has the highest that the cells around it ever had, through
// adaption, balancing and the departure of a rank; the file is CF.
#include "apps/tsunami/app/maxima.hpp"

#include <gtest/gtest.h>
#include <netcdf.h>

#include <cmath>
#include <map>

#include "apps/io/test_shared_folder.hpp"
#include "apps/mesh/mpi_check.hpp"

namespace tsunami {
namespace {

constexpr double kSpacing = 0.5, kSize = 10;
constexpr std::size_t kPlaces = 20;

swe::Solver basin(const Options& options) {
  swe::Parameters setup;
  setup.domain = {1, 1};
  setup.frame = {.coordinates = swe::Coordinates::Sphere,
                 .west = options.west,
                 .south = options.south,
                 .width = kSize,
                 .height = kSize};
  setup.coarsest = 5;
  setup.finest = 10;
  return {MPI_COMM_WORLD, setup,
          swe::Function([](double x, double y) { return x < 2 ? 30 - 20 * x : -200 - 5 * y; }),
          [](double x, double y) { return 8 * std::exp(-(x - 6) * (x - 6) - (y - 5) * (y - 5)); }};
}

// For each point what Maxima is to find, looked up at each step.
struct Looked {
  explicit Looked(const Options& options) : options(options) {}
  void look(const swe::Solver& solver) {
    for (std::size_t j = 0; j < kPlaces; ++j)
      for (std::size_t i = 0; i < kPlaces; ++i) {
        const double x = options.west + (static_cast<double>(i) + .5) * kSpacing;
        const double y = options.south + (static_cast<double>(j) + .5) * kSpacing;
        const auto leaf =
            solver.setup().domain.locate(solver.metric().x4(x), solver.metric().y4(y), solver.setup().finest);
        const auto cell = solver.mesh().find(*leaf);
        if (cell < 0) continue;
        const swe::Cell c = solver.cell(static_cast<std::size_t>(cell));
        const std::size_t at = j * kPlaces + i;
        const double depth = c.eta - c.b;
        if (depth <= solver.setup().physics.dry_tolerance) continue;
        highest[at] = std::max(highest[at], static_cast<float>(c.eta));
        const bool arrived = c.b > 0 || std::abs(c.eta) >= .01;
        if (arrived) minus_arrival[at] = std::max(minus_arrival[at], static_cast<float>(-solver.time()));
      }
  }
  void collect() {
    for (auto* values : {&highest, &minus_arrival})
      elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, values->data(), static_cast<int>(values->size()),
                                       MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD),
                         "collecting");
  }
  const Options& options;
  std::vector<float> highest = std::vector<float>(kPlaces * kPlaces, -9999);
  std::vector<float> minus_arrival = std::vector<float>(kPlaces * kPlaces, -9999);
};

std::vector<float> read(int file, const char* name) {
  int id = 0;
  EXPECT_EQ(nc_inq_varid(file, name, &id), NC_NOERR) << name;
  std::vector<float> values(kPlaces * kPlaces);
  EXPECT_EQ(nc_get_var_float(file, id, values.data()), NC_NOERR);
  return values;
}

std::string text(int file, const char* variable, const char* name) {
  int id = NC_GLOBAL;
  if (*variable != 0) {
    EXPECT_EQ(nc_inq_varid(file, variable, &id), NC_NOERR);
  }
  std::size_t size = 0;
  EXPECT_EQ(nc_inq_attlen(file, id, name, &size), NC_NOERR) << variable << ":" << name;
  std::string value(size, 0);
  EXPECT_EQ(nc_get_att_text(file, id, name, value.data()), NC_NOERR);
  return value;
}

TEST(MaximaOfARun, AreThoseOfTheCellsAroundEachPoint) {
  Options options;
  options.west = 0, options.east = kSize, options.south = 0, options.north = kSize;
  options.maxima = kSpacing;
  swe::Solver solver = basin(options);
  Maxima maxima(options, solver.setup(), solver.metric());
  Looked looked(options);
  maxima.note(solver);
  looked.look(solver);
  for (int k = 1; k <= 150; ++k) {
    solver.step(1e9);
    maxima.note(solver);
    looked.look(solver);
    if (k % 10 != 0) continue;
    maxima.settle(solver);
    solver.adapt();
    // Rank 0 has no cells for a while, and leaves: what it knows the others know then.
    const bool away = k == 50 && solver.mesh().bounds().size() > 2;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (away) {
      maxima.move(MPI_COMM_WORLD, rank == 0 ? 0 : 1);
      maxima.accept();
      if (rank == 0) maxima = Maxima(options, solver.setup(), solver.metric());
    }
    solver.balance(1, 0);
  }
  maxima.settle(solver);
  looked.collect();
  const io::test::SharedFolder shared;
  const std::string path = shared.path("maxima.nc");
  maxima.write(MPI_COMM_WORLD, path, "a basin");
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) return;
  int file = 0;
  ASSERT_EQ(nc_open(path.c_str(), NC_NOWRITE, &file), NC_NOERR);
  EXPECT_EQ(read(file, "max_elevation"), looked.highest);
  std::vector<float> arrival = looked.minus_arrival;
  for (float& time : arrival)
    if (time > -9999) time = -time;
  EXPECT_EQ(read(file, "arrival_time"), arrival);
  EXPECT_GT(std::ranges::count_if(arrival, [](float t) { return t > 0; }), 100);
  EXPECT_GT(std::ranges::count(arrival, -9999.F), 10) << "no land stayed dry";
  EXPECT_EQ(text(file, "", "Conventions"), "CF-1.8");
  EXPECT_EQ(text(file, "lat", "units"), "degrees_north");
  EXPECT_EQ(text(file, "max_speed", "units"), "m s-1");
  EXPECT_EQ(text(file, "max_flood_depth", "grid_mapping"), "crs");
  nc_close(file);
}

}  // namespace
}  // namespace tsunami
