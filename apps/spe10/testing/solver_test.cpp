// SPDX-License-Identifier: Apache-2.0
// Promise: on the real SPE10 field's seven-point matrix the solver needs as many iterations as hypre 2.26
// with such settings was measured to need: 21 (16 layers, one rank) and 19 (two ranks) to 1e-8, within 30 %.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "apps/io/test_files.hpp"
#include "apps/io/test_record.hpp"
#include "apps/spe10/testing/seven_point.hpp"

namespace {

using namespace spe10;

std::string data_folder() { return io::test::data_file("spe10_model2"); }

// Of the rows of one rank.
double relative_residual(const SparseRows& system, const std::vector<double>& x) {
  double residual = 0, norm = 0;
  for (std::size_t r = 0; r < system.count(); ++r) {
    double row = system.rhs[r];
    for (auto k = static_cast<std::size_t>(system.begin[r]);
         k < static_cast<std::size_t>(system.begin[r + 1]); ++k)
      row -= system.value[k] * x[static_cast<std::size_t>(system.column[k])];
    residual += row * row, norm += system.rhs[r] * system.rhs[r];
  }
  return std::sqrt(residual / norm);
}

TEST(LinearSolver, IterationsOnTheRealField) {
  if (!has_spe10(data_folder()))
    GTEST_SKIP() << "no SPE10 data: EMPI_DATA names the folder that has spe10_model2";
  const Field field = read_spe10(data_folder(), 16);
  const SparseRows system = seven_point(field, MPI_COMM_WORLD);
  LinearSolver solver(MPI_COMM_WORLD, {});
  std::vector<double> x(system.count(), 0);
  const SolveReport first = solver.solve(system, x);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) std::printf("%d iterations on %d ranks\n", first.iterations, ranks);
  io::test::record("iterations", first.iterations);
  EXPECT_TRUE(first.setup);
  EXPECT_GE(first.iterations, 0.7 * 19);
  EXPECT_LE(first.iterations, 1.3 * 22);
  if (ranks == 1) {
    EXPECT_LE(relative_residual(system, x), 1.1e-8);
  }
  // The same again: the hierarchy is kept, the solution is there already.
  const SolveReport second = solver.solve(system, x);
  EXPECT_FALSE(second.setup);
  EXPECT_LE(second.iterations, 2);
}

// A hierarchy is kept for a matrix that differs a little, and what it solves is the new matrix.
TEST(LinearSolver, KeepsTheHierarchyWhileItIsGood) {
  Field field = synthetic_field(20, 20, 4, 3);
  LinearSolver solver(MPI_COMM_WORLD, {});
  SparseRows system = seven_point(field, MPI_COMM_WORLD);
  std::vector<double> x(system.count(), 0);
  EXPECT_TRUE(solver.solve(system, x).setup);
  // As mobilities change: every coefficient a little.
  for (std::size_t b = 0; b < field.kx.size(); ++b) {
    const float factor = 1 + 0.3F * static_cast<float>(b % 7) / 7;
    field.kx[b] *= factor, field.kz[b] *= factor;
  }
  system = seven_point(field, MPI_COMM_WORLD);
  std::ranges::fill(x, 0.0);
  EXPECT_FALSE(solver.solve(system, x).setup);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks == 1) {
    EXPECT_LE(relative_residual(system, x), 1.1e-8);
  }
}

TEST(LinearSolver, MakesANewHierarchyWhenTheOldOneIsBad) {
  Field field = synthetic_field(20, 20, 4, 3);
  LinearSolver solver(MPI_COMM_WORLD, {});
  const SparseRows before = seven_point(field, MPI_COMM_WORLD);
  std::vector<double> x(before.count(), 0);
  EXPECT_TRUE(solver.solve(before, x).setup);
  std::ranges::reverse(field.kx);
  std::ranges::reverse(field.kz);
  for (std::size_t b = 0; b < field.kx.size(); b += 3) field.kx[b] *= 1000, field.kz[b] *= 0.001F;
  const SparseRows after = seven_point(field, MPI_COMM_WORLD);
  std::ranges::fill(x, 0.0);
  EXPECT_TRUE(solver.solve(after, x).setup);
}

// Each hierarchy is measured by itself: however many came before, the iterations stay near those of a new
// one.
TEST(LinearSolver, DoesNotGetSlowerFromOneHierarchyToTheNext) {
  Field field = synthetic_field(20, 20, 4, 3);
  LinearSolver solver(MPI_COMM_WORLD, {});
  int setups = 0;
  for (int n = 0; n < 40; ++n) {
    // As a front passes: other blocks each time, a hundred times more or less mobile.
    for (std::size_t b = 0; b < field.kx.size(); ++b)
      if ((b * 2654435761U >> 7) % 40 == static_cast<unsigned>(n))
        for (float* k : {&field.kx[b], &field.kz[b]}) *k *= b % 2 == 0 ? 100.0F : 0.01F;
    const SparseRows system = seven_point(field, MPI_COMM_WORLD);
    std::vector<double> x(system.count(), 0), y(system.count(), 0);
    const SolveReport kept = solver.solve(system, x);
    setups += kept.setup;
    LinearSolver fresh(MPI_COMM_WORLD, {});
    const int alone = fresh.solve(system, y).iterations;
    if (kept.setup) continue;
    EXPECT_LE(kept.iterations, 2 * alone + 4) << "step " << n;
  }
  EXPECT_GE(setups, 3) << "too little changes here";
}

// Few rows go to few ranks; who has them does not change the solution.
TEST(LinearSolver, SolvesSmallSystemsOnFewRanks) {
  const Field field = synthetic_field(20, 20, 4, 3);
  const SparseRows system = seven_point(field, MPI_COMM_WORLD);
  SolverOptions spread, together;
  spread.tolerance = together.tolerance = 1e-12;
  spread.rows_per_rank = 1, together.rows_per_rank = 1000000;
  std::vector<double> x(system.count(), 0), y(system.count(), 0);
  LinearSolver on_all(MPI_COMM_WORLD, spread), on_one(MPI_COMM_WORLD, together);
  on_all.solve(system, x);
  on_one.solve(system, y);
  double largest = 0;
  for (const double value : x) largest = std::max(largest, std::abs(value));
  for (std::size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(x[k], y[k], 1e-8 * largest);
}

TEST(LinearSolver, SaysWhenItDoesNotConverge) {
  const Field field = synthetic_field(20, 20, 4, 3);
  SolverOptions options;
  options.max_iterations = 2;
  LinearSolver solver(MPI_COMM_WORLD, options);
  const SparseRows system = seven_point(field, MPI_COMM_WORLD);
  std::vector<double> x(system.count(), 0);
  try {
    solver.solve(system, x);
    FAIL() << "two iterations cannot be enough";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("no convergence"), std::string::npos) << error.what();
  }
}

}  // namespace
