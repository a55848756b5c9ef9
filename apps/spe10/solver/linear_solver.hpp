// SPDX-License-Identifier: Apache-2.0
// Symmetric positive definite systems, distributed by rows: hypre's conjugate gradients preconditioned by
// BoomerAMG. The hierarchy of an earlier matrix is kept as long as it is good enough.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

namespace spe10 {

// A system: rows [first, first + count) of this rank and entries that this rank adds to rows of others.
// Columns are global. Entries of one place may be given several times: they add up, also across ranks.
struct SparseRows {
  std::int64_t first = 0;
  std::vector<std::int32_t> begin;  // count + 1 offsets into column and value
  std::vector<std::int32_t> column;
  std::vector<double> value;
  struct Extra {
    std::int32_t row, column;
    double value;
  };
  std::vector<Extra> extra;
  std::vector<double> rhs;  // of the own rows
  struct ExtraRhs {
    std::int32_t row;
    double value;
  };
  std::vector<ExtraRhs> extra_rhs;  // adds up, also across ranks
  std::size_t count() const { return begin.empty() ? 0 : begin.size() - 1; }
};

struct SolverOptions {
  double tolerance = 1e-8;  // of the residual's norm over the right hand side's
  int max_iterations = 300;
  double strong_threshold = 0.5;
  // Fewer ranks hold the system when there would be fewer rows on each (20,000, say: below, messages take
  // longer than what they save). 1: always all ranks.
  int rows_per_rank = 1;
  double rebuild_factor = 1.5;  // a hierarchy is made anew above this many times its first iterations
};

struct SolveReport {
  int iterations = 0;
  double residual = 0;
  bool setup = false;             // the hierarchy was made anew
  double seconds_discretise = 0;  // ours: coefficients, fluxes
  double seconds_assemble = 0, seconds_setup = 0, seconds_solve = 0;
};

// A solve or a step that ended without an answer; a shorter time step may have one.
struct NotConverged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class LinearSolver {
 public:
  // comm must outlive the object and have the same rows per rank in every solve. Local.
  LinearSolver(MPI_Comm comm, SolverOptions options);
  // Collective if solve() was called.
  ~LinearSolver();
  LinearSolver(const LinearSolver&) = delete;
  LinearSolver& operator=(const LinearSolver&) = delete;

  // Solves for the own rows; x holds the first guess. Collective. Throws NotConverged on all ranks if it
  // does not converge or a number is not finite.
  SolveReport solve(const SparseRows& system, std::span<double> x);

 private:
  struct Matrix;
  struct Hierarchy;
  void choose_leaders(const SparseRows& system);
  SparseRows gather(const SparseRows& system) const;
  bool attempt(const Matrix& matrix, const SparseRows& rows, std::vector<double>& x, int most,
               SolveReport& report);
  SolveReport solve_here(const SparseRows& rows, std::vector<double>& x);

  MPI_Comm comm_;
  SolverOptions options_;
  // Neighbouring ranks form groups whose first rank solves for all of them.
  MPI_Comm group_ = MPI_COMM_NULL;    // my group
  MPI_Comm leaders_ = MPI_COMM_NULL;  // the first ranks; null on others
  bool chosen_ = false;
  int groups_ = 0, ranks_ = 0;
  std::unique_ptr<Hierarchy> hierarchy_;
};

}  // namespace spe10
