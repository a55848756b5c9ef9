// SPDX-License-Identifier: Apache-2.0
// Promise: a step that changes too much, or that finds no answer, is taken back and repeated shorter; nothing
// of what was taken back stays.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "apps/mesh/mpi_check.hpp"
#include "apps/spe10/solver/simulator.hpp"

namespace {

using namespace spe10;

spe10::Setup two_wells() {
  spe10::Setup setup;
  setup.deck.top = setup.deck.datum = 8000;
  setup.deck.datum_pressure = 5000;
  setup.deck.wells = {{"I", 1, 1, Well::Kind::Injector, 300, 1e4}, {"P", 8, 8}};
  setup.wells = {{mesh::kSide / 2, mesh::kSide / 2},
                 {4ll * mesh::kSide - mesh::kSide / 2, 4ll * mesh::kSide - mesh::kSide / 2}};
  setup.domain = {1, 1};
  setup.frame = {400.0 / mesh::kSide, 400.0 / mesh::kSide, 8000, 5, 2};
  setup.rock = [](mesh::Leaf, std::span<Rock> column) {
    std::ranges::fill(column, Rock{200, 200, 20, 0, 0, 0, 0.2});
  };
  setup.coarsest = setup.finest = 6;
  setup.solver.tolerance = 1e-10;
  return setup;
}

struct Course {
  std::int64_t refused = 0;
  double worst = 0, oil = 0, water_lost = 0;
};
Course run(const spe10::Setup& setup, double days) {
  Simulator sim(setup);
  sim.start(MPI_COMM_WORLD);
  const double start = mesh::total(MPI_COMM_WORLD, sim.water_volume());
  Course course;
  while (sim.clock().days < days) {
    const StepReport step = sim.step(days - sim.clock().days);
    course.worst = std::max(course.worst, step.mobility_error);
  }
  double in = 0;
  for (const WellState& w : sim.wells()) in += w.water_in;
  course.refused = sim.clock().refused;
  course.oil = sim.wells()[1].oil_total;
  course.water_lost = std::abs(mesh::total(MPI_COMM_WORLD, sim.water_volume()) - start - in) /
                      mesh::total(MPI_COMM_WORLD, sim.pore_volume());
  return course;
}

TEST(Steps, ThatChangeTooMuchAreRepeatedShorter) {
  spe10::Setup setup = two_wells();
  const Course usual = run(setup, 40);
  setup.time.first = 20, setup.time.longest = 20;  // a guess that is far too long
  const Course bold = run(setup, 40);
  EXPECT_EQ(usual.refused, 0) << "the usual steps fit";
  EXPECT_GT(bold.refused, 0);
  EXPECT_LE(bold.worst, 2) << "times what is wanted";
  EXPECT_LE(bold.water_lost, 1e-12);
  EXPECT_NEAR(bold.oil, usual.oil, 0.01 * usual.oil);
}

// With few iterations only short steps converge: what liquids store is on the diagonal of their matrix.
TEST(Steps, ThatDoNotConvergeAreRepeatedShorter) {
  spe10::Setup setup = two_wells();
  setup.time.first = 5;
  const Course free = run(setup, 0.2);
  setup.solver.max_iterations = 5;
  const Course bound = run(setup, 0.2);
  EXPECT_EQ(free.refused, 0);
  EXPECT_GT(bound.refused, 0);
  EXPECT_LE(bound.water_lost, 1e-12);
}

TEST(Steps, ThatNeverConvergeAreAnError) {
  spe10::Setup setup = two_wells();
  setup.solver.max_iterations = 1;
  EXPECT_THROW(run(setup, 1), NotConverged);
}

// It was neither small enough nor too large, and its step was tried again, as long as before, for ever.
TEST(Steps, WhoseErrorIsNoNumberAreAnError) {
  for (const bool of_pressure : {false, true}) {
    spe10::Setup setup = two_wells();
    (of_pressure ? setup.time.pressure : setup.time.mobility) = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(run(setup, 1), NotConverged);
  }
}

}  // namespace
