// SPDX-License-Identifier: Apache-2.0
// Run by mpirun. Promise: second-order accuracy, Jacobi's convergence factor, and results that are the same,
// bit for bit, on any number of ranks and after any move of the rows.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <elastic_mpi/blocks.hpp>
#include <iostream>
#include <numbers>

#include "apps/jacobi/jacobi.hpp"

namespace jacobi {
namespace {

constexpr double kPi = std::numbers::pi;

class Jacobi : public testing::Test {
 protected:
  Jacobi() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }

  struct Run {
    std::vector<double> u;
    elastic::RowRange rows{};
    std::vector<double> changes;
  };

  Run start(std::int64_t n) const {
    Run run;
    run.rows = elastic::equal_rows(n, size, rank);
    run.u.assign(static_cast<std::size_t>(run.rows.count * n), 0.0);
    return run;
  }

  Sweep iterate(Run& run, std::int64_t n, int most, double tolerance) const {
    Sweep sweep(MPI_COMM_WORLD, n, run.rows.first, run.rows.count);
    for (int i = 0; i < most; ++i) {
      run.changes.push_back(sweep.iterate(run.u));
      if (run.changes.back() <= tolerance) break;
    }
    return sweep;
  }

  int rank = 0, size = 0;
};

TEST_F(Jacobi, TheErrorIsOfSecondOrder) {
  // Iterated until the iteration error is far below the discretisation error (about 1e-3 at n = 7).
  double error[3];
  int k = 0;
  for (const std::int64_t n : {7, 15, 31}) {
    Run run = start(n);
    error[k++] = iterate(run, n, 20000, 1e-11).error(run.u);
  }
  // The order between grids of spacing h and h / 2; the next term of the error is of fourth order.
  EXPECT_NEAR(std::log2(error[0] / error[1]), 2.0, 0.05);
  EXPECT_NEAR(std::log2(error[1] / error[2]), 2.0, 0.05);
}

TEST_F(Jacobi, ChangesShrinkByTheCosineOfPiH) {
  const std::int64_t n = 31;
  Run run = start(n);
  iterate(run, n, 1500, 0);
  const auto last = run.changes.size() - 1;
  const double factor = std::pow(run.changes[last] / run.changes[last - 100], 0.01);
  // Asked: within 1 % of the convergence, that is of 1 - cos(pi h), which is much harder than of the factor.
  const double expected = std::cos(kPi / static_cast<double>(n + 1));
  EXPECT_NEAR((1 - factor) / (1 - expected), 1.0, 0.01);
}

TEST_F(Jacobi, NeitherRanksNorMovesChangeABit) {
  const std::int64_t n = 23;
  Run run = start(n);
  const auto here = iterate(run, n, 200, 0).fingerprint(run.u);

  // Rank 0 alone computes the same on a communicator of its own.
  Sweep alone(MPI_COMM_SELF, n, 0, n);
  std::vector<double> u(static_cast<std::size_t>(n * n), 0.0);
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(alone.iterate(u, {1 + i % 2, std::chrono::microseconds(i % 3)}),
              run.changes[static_cast<std::size_t>(i)]);
  EXPECT_EQ(alone.fingerprint(u), here);

  // Rows move to other ranks in the middle.
  Run moved = start(n);
  iterate(moved, n, 77, 0);
  const elastic::SequencePlan plan(MPI_COMM_WORLD, moved.rows.count, 0, {}, rank % 2 == 0 ? 3.0 : 0.0);
  moved.u = plan.move<double>(MPI_COMM_WORLD, moved.u, static_cast<std::size_t>(n));
  moved.rows = {plan.new_offsets()[static_cast<std::size_t>(rank)], plan.new_count()};
  EXPECT_EQ(iterate(moved, n, 123, 0).fingerprint(moved.u), here);
}

TEST_F(Jacobi, MoreRanksThanRows) {
  Run run = start(2);
  const Sweep sweep = iterate(run, 2, 200, 1e-14);
  // 2 x 2 points: by hand, u = (3 s / 8, s / 8) for the upper and lower row with s = sin(pi / 3).
  const double upper = 3 * std::sin(kPi / 3) / 8;
  const double difference = exact(1.0 / 3, 2.0 / 3) - upper;
  EXPECT_NEAR(sweep.error(run.u), std::abs(difference), 1e-12);
}

}  // namespace
}  // namespace jacobi

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  const int mine = RUN_ALL_TESTS();
  int worst = 0;
  MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return worst;
}
