// SPDX-License-Identifier: Apache-2.0
// Jacobi iteration for Laplace's equation on the unit square: the smallest malleable application.
//
// u = 0 on the sides x = 0, x = 1, y = 0 and u = sin(pi x) on y = 1; exact answer
// u = sin(pi x) sinh(pi y) / sinh(pi). n x n interior points of a grid with spacing h = 1 / (n + 1),
// five-point stencil, second order. Each iteration reduces the error by cos(pi h) (Saad, Iterative Methods
// for Sparse Linear Systems, 2nd ed., section 4.2.1 with the eigenvalues of the model problem of
// section 13.2).
//
// Storage: row r holds y = (r + 1) h, n values, x = (column + 1) h; rows are contiguous by rank.
#pragma once
#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace jacobi {

/// The exact answer at 0 <= x, y <= 1.
double exact(double x, double y);

/// How long the computation of an iteration takes; the result is the same.
struct Effort {
  int repeats = 1;  // of the arithmetic
  // A row takes so long at least, and an iteration so much more, which does not become shorter with more
  // ranks. The rest is slept: a node of that speed, whatever else this machine does.
  std::chrono::microseconds row_time{0}, serial_time{0};
};

/// What an iteration needs to know about the world: made again whenever ranks or rows change.
class Sweep {
 public:
  /// This rank has rows [first_row, first_row + rows) of n rows of n values. Collective over world.
  Sweep(MPI_Comm world, std::int64_t n, std::int64_t first_row, std::int64_t rows);

  /// One Jacobi iteration on u (rows x n values), in place. Returns the largest change of a value over all
  /// ranks; it does not depend on the number of ranks, bit for bit. Collective over world.
  double iterate(std::vector<double>& u, const Effort& effort = {});

  /// Largest difference from the exact answer over all points. Collective over world.
  double error(const std::vector<double>& u) const;

  /// A fingerprint of all bits of u that does not depend on the number of ranks. Collective over world.
  std::uint64_t fingerprint(const std::vector<double>& u) const;

 private:
  void exchange_halo(std::span<const double> u);
  double update_rows(std::span<const double> u, std::span<double> next) const;

  MPI_Comm world_;
  std::int64_t n_, first_row_, rows_;
  int below_ = MPI_PROC_NULL, above_ = MPI_PROC_NULL;  // ranks with the rows at smaller and at larger y
  std::vector<double> row_below_, row_above_, next_;
};

}  // namespace jacobi
