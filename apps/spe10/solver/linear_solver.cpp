// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/solver/linear_solver.hpp"

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <elastic_mpi/comm.hpp>
#include <numeric>
#include <stdexcept>
#include <string>

#include "apps/mesh/mpi_check.hpp"
#include "apps/spe10/solver/hypre_errors.hpp"
#include "runtime/base/text.hpp"

namespace spe10 {
namespace {

static_assert(sizeof(HYPRE_Int) == 4 && sizeof(HYPRE_BigInt) == 4, "hypre as Debian builds it");

void check(HYPRE_Int code, const char* what) {
  if (code == 0) return;
  char text[256] = "";
  HYPRE_DescribeError(code, text);
  HYPRE_ClearAllErrors();
  throw std::runtime_error(std::string("pressure: hypre failed at ") + what + ": " + text);
}

// Once per process, before the first use; hypre's data ends with the process.
void start_hypre() {
  static const bool started = [] { return HYPRE_Initialize() == 0; }();
  if (!started) throw std::runtime_error("pressure: hypre cannot be initialised");
}

class Vector {
 public:
  Vector(MPI_Comm comm, std::int64_t first, std::span<const double> values,
         std::span<const SparseRows::ExtraRhs> extra = {}) {
    const auto count = static_cast<HYPRE_Int>(values.size());
    const auto begin = static_cast<HYPRE_BigInt>(first);
    check(HYPRE_IJVectorCreate(comm, begin, begin + count - 1, &ij_), "making a vector");
    check(HYPRE_IJVectorSetObjectType(ij_, HYPRE_PARCSR), "making a vector");
    check(HYPRE_IJVectorInitialize(ij_), "making a vector");
    check(HYPRE_IJVectorSetValues(ij_, count, nullptr, values.data()), "filling a vector");
    std::vector<HYPRE_BigInt> rows;
    std::vector<double> added;
    for (const auto& e : extra) rows.push_back(e.row), added.push_back(e.value);
    check(HYPRE_IJVectorAddToValues(ij_, static_cast<HYPRE_Int>(rows.size()), rows.data(), added.data()),
          "filling a vector");
    check(HYPRE_IJVectorAssemble(ij_), "filling a vector");
  }
  ~Vector() {
    life_.end([this] { HYPRE_IJVectorDestroy(ij_); });
  }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;

  HYPRE_ParVector par() const {
    void* object = nullptr;
    HYPRE_IJVectorGetObject(ij_, &object);
    return static_cast<HYPRE_ParVector>(object);
  }
  void read(std::span<double> values) const {
    check(HYPRE_IJVectorGetValues(ij_, static_cast<HYPRE_Int>(values.size()), nullptr, values.data()),
          "reading the solution");
  }

 private:
  HypreLife life_;
  HYPRE_IJVector ij_ = nullptr;
};

}  // namespace

struct LinearSolver::Matrix {
  HypreLife life;
  HYPRE_IJMatrix ij = nullptr;

  Matrix(MPI_Comm comm, const SparseRows& rows) {
    const auto count = static_cast<HYPRE_Int>(rows.count());
    const auto first = static_cast<HYPRE_BigInt>(rows.first);
    check(HYPRE_IJMatrixCreate(comm, first, first + count - 1, first, first + count - 1, &ij),
          "making a matrix");
    check(HYPRE_IJMatrixSetObjectType(ij, HYPRE_PARCSR), "making a matrix");
    std::vector<HYPRE_Int> sizes(rows.count());
    for (std::size_t r = 0; r < sizes.size(); ++r) sizes[r] = rows.begin[r + 1] - rows.begin[r];
    auto room = sizes;
    for (const auto& e : rows.extra)
      if (const auto r = e.row - rows.first; r >= 0 && r < count) ++room[static_cast<std::size_t>(r)];
    // Only the rows' sizes: over-declared diagonal and off-diagonal sizes make assembly slow or crash.
    check(HYPRE_IJMatrixSetRowSizes(ij, room.data()), "making a matrix");
    check(HYPRE_IJMatrixInitialize(ij), "making a matrix");
    std::vector<HYPRE_BigInt> numbers(rows.count());
    std::iota(numbers.begin(), numbers.end(), first);
    check(HYPRE_IJMatrixAddToValues(ij, count, sizes.data(), numbers.data(), rows.column.data(),
                                    rows.value.data()),
          "filling the matrix");
    add_extra(rows);
    check(HYPRE_IJMatrixAssemble(ij), "assembling the matrix");
  }
  ~Matrix() {
    life.end([this] { HYPRE_IJMatrixDestroy(ij); });
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  HYPRE_ParCSRMatrix par() const {
    void* object = nullptr;
    HYPRE_IJMatrixGetObject(ij, &object);
    return static_cast<HYPRE_ParCSRMatrix>(object);
  }

 private:
  // One call for each run of entries of the same row.
  void add_extra(const SparseRows& rows) {
    std::vector<HYPRE_Int> sizes;
    std::vector<HYPRE_BigInt> numbers, columns;
    std::vector<double> values;
    for (const auto& e : rows.extra) {
      if (numbers.empty() || numbers.back() != e.row) numbers.push_back(e.row), sizes.push_back(0);
      ++sizes.back();
      columns.push_back(e.column), values.push_back(e.value);
    }
    if (numbers.empty()) return;
    check(HYPRE_IJMatrixAddToValues(ij, static_cast<HYPRE_Int>(numbers.size()), sizes.data(), numbers.data(),
                                    columns.data(), values.data()),
          "filling the matrix");
  }
};

// The matrix stays with its hierarchy: the smoother of the finest level works on it.
struct LinearSolver::Hierarchy {
  std::unique_ptr<Matrix> matrix;
  HypreLife life;
  HYPRE_Solver amg = nullptr;
  int first_iterations = -1;

  Hierarchy(std::unique_ptr<Matrix> m, const SolverOptions& options) : matrix(std::move(m)) {
    check(HYPRE_BoomerAMGCreate(&amg), "making the multigrid");
    HYPRE_BoomerAMGSetCoarsenType(amg, 10);  // HMIS
    HYPRE_BoomerAMGSetInterpType(amg, 6);    // extended+i
    HYPRE_BoomerAMGSetPMaxElmts(amg, 4);
    HYPRE_BoomerAMGSetRelaxType(amg, 8);  // l1-scaled symmetric Gauss-Seidel
    HYPRE_BoomerAMGSetStrongThreshold(amg, options.strong_threshold);
    HYPRE_BoomerAMGSetMaxIter(amg, 1);
    HYPRE_BoomerAMGSetTol(amg, 0);
    HYPRE_BoomerAMGSetPrintLevel(amg, 0);
    check(HYPRE_BoomerAMGSetup(amg, matrix->par(), nullptr, nullptr), "setting the multigrid up");
  }
  ~Hierarchy() {
    life.end([this] { HYPRE_BoomerAMGDestroy(amg); });
  }
  Hierarchy(const Hierarchy&) = delete;
  Hierarchy& operator=(const Hierarchy&) = delete;

  // As hypre calls a preconditioner: with the new matrix, in whose place the hierarchy's own is used.
  static HYPRE_Int apply(HYPRE_Solver self, HYPRE_Matrix, HYPRE_Vector b, HYPRE_Vector x) {
    const auto* h = reinterpret_cast<Hierarchy*>(self);
    return HYPRE_BoomerAMGSolve(h->amg, h->matrix->par(), reinterpret_cast<HYPRE_ParVector>(b),
                                reinterpret_cast<HYPRE_ParVector>(x));
  }
  static HYPRE_Int no_setup(HYPRE_Solver, HYPRE_Matrix, HYPRE_Vector, HYPRE_Vector) { return 0; }
};

LinearSolver::LinearSolver(MPI_Comm comm, SolverOptions options) : comm_(comm), options_(options) {
  start_hypre();
}

LinearSolver::~LinearSolver() {
  hierarchy_.reset();
  if (group_ != MPI_COMM_NULL) MPI_Comm_free(&group_);
  if (leaders_ != MPI_COMM_NULL) MPI_Comm_free(&leaders_);
}

void LinearSolver::choose_leaders(const SparseRows& system) {
  chosen_ = true;
  const int rank = elastic::rank_of(comm_);
  ranks_ = elastic::size_of(comm_);
  auto total = static_cast<std::int64_t>(system.count());
  elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT64_T, MPI_SUM, comm_), "counting rows");
  groups_ = static_cast<int>(std::clamp<std::int64_t>(total / options_.rows_per_rank, 1, ranks_));
  if (groups_ == ranks_) return;
  const auto group_of = [&](int r) {
    return static_cast<int>(static_cast<std::int64_t>(r) * groups_ / ranks_);
  };
  elastic::check_mpi(MPI_Comm_split(comm_, group_of(rank), rank, &group_), "grouping ranks");
  const bool leader = rank == 0 || group_of(rank - 1) != group_of(rank);
  elastic::check_mpi(MPI_Comm_split(comm_, leader ? 0 : MPI_UNDEFINED, rank, &leaders_), "grouping ranks");
}

namespace {

// What all ranks of the group have, one after the other, on its first rank.
template <class T>
std::vector<T> collect(MPI_Comm group, const std::vector<T>& mine) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(group, &rank);
  MPI_Comm_size(group, &ranks);
  const auto bytes = static_cast<int>(mine.size() * sizeof(T));
  std::vector<int> sizes(static_cast<std::size_t>(ranks)), starts(sizes.size());
  elastic::check_mpi(MPI_Gather(&bytes, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, group), "gathering rows");
  int all = 0;
  for (std::size_t r = 0; r < sizes.size(); ++r) starts[r] = all, all += sizes[r];
  std::vector<T> result(rank == 0 ? static_cast<std::size_t>(all) / sizeof(T) : 0);
  elastic::check_mpi(MPI_Gatherv(mine.data(), bytes, MPI_BYTE, result.data(), sizes.data(), starts.data(),
                                 MPI_BYTE, 0, group),
                     "gathering rows");
  return result;
}

}  // namespace

// The group's rows follow one another: neighbouring ranks have neighbouring rows.
SparseRows LinearSolver::gather(const SparseRows& rows) const {
  SparseRows all;
  int rank = 0;
  MPI_Comm_rank(group_, &rank);
  std::vector<std::int32_t> sizes(rows.count());
  for (std::size_t r = 0; r < sizes.size(); ++r) sizes[r] = rows.begin[r + 1] - rows.begin[r];
  sizes = collect(group_, sizes);
  all.first = rows.first;
  all.column = collect(group_, rows.column), all.value = collect(group_, rows.value);
  all.extra = collect(group_, rows.extra), all.rhs = collect(group_, rows.rhs);
  all.extra_rhs = collect(group_, rows.extra_rhs);
  all.begin.assign(1, 0);
  for (const std::int32_t size : sizes) all.begin.push_back(all.begin.back() + size);
  return all;
}

SolveReport LinearSolver::solve(const SparseRows& rows, std::span<double> x) {
  if (!chosen_) choose_leaders(rows);
  std::vector<double> mine(x.begin(), x.end());
  if (groups_ == ranks_) {
    const SolveReport report = solve_here(rows, mine);
    std::ranges::copy(mine, x.begin());
    return report;
  }
  const SparseRows all = gather(rows);
  std::vector<double> solution = collect(group_, mine);
  // The others learn how it ended: an exception on the leader alone would leave them waiting.
  struct {
    SolveReport report;
    char error[200] = "";
    bool not_converged = false;
  } outcome;
  if (leaders_ != MPI_COMM_NULL) {
    try {
      outcome.report = solve_here(all, solution);
    } catch (const elastic::Error&) {
      throw;  // of MPI: then the others are told by that
    } catch (const std::runtime_error& error) {
      outcome.not_converged = dynamic_cast<const NotConverged*>(&error) != nullptr;
      std::snprintf(outcome.error, sizeof outcome.error, "%s", error.what());
    }
  }
  elastic::check_mpi(MPI_Bcast(&outcome, sizeof outcome, MPI_BYTE, 0, group_), "sharing the solver's report");
  if (outcome.not_converged) throw NotConverged(outcome.error);
  if (outcome.error[0] != 0) throw std::runtime_error(outcome.error);
  int ranks = 0;
  MPI_Comm_size(group_, &ranks);
  const int count = static_cast<int>(mine.size());
  std::vector<int> counts(static_cast<std::size_t>(ranks)), starts(counts.size());
  elastic::check_mpi(MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, group_),
                     "sharing the solution");
  for (std::size_t r = 1; r < counts.size(); ++r) starts[r] = starts[r - 1] + counts[r - 1];
  elastic::check_mpi(MPI_Scatterv(solution.data(), counts.data(), starts.data(), MPI_DOUBLE, x.data(), count,
                                  MPI_DOUBLE, 0, group_),
                     "sharing the solution");
  return outcome.report;
}

bool LinearSolver::attempt(const Matrix& matrix, const SparseRows& rows, std::vector<double>& x, int most,
                           SolveReport& report) {
  const MPI_Comm comm = leaders_ != MPI_COMM_NULL ? leaders_ : comm_;
  const Vector b(comm, rows.first, rows.rhs, rows.extra_rhs);
  Vector solution(comm, rows.first, x);
  HYPRE_Solver pcg = nullptr;
  check(HYPRE_ParCSRPCGCreate(comm, &pcg), "making the solver");
  HYPRE_PCGSetTol(pcg, options_.tolerance);
  HYPRE_PCGSetMaxIter(pcg, most);
  HYPRE_PCGSetTwoNorm(pcg, 1);
  HYPRE_PCGSetPrecond(pcg, Hierarchy::apply, Hierarchy::no_setup,
                      reinterpret_cast<HYPRE_Solver>(hierarchy_.get()));
  HYPRE_ParCSRPCGSetup(pcg, matrix.par(), b.par(), solution.par());
  HYPRE_ParCSRPCGSolve(pcg, matrix.par(), b.par(), solution.par());
  HYPRE_ClearAllErrors();  // "not converged" is judged by the residual below
  int iterations = 0;
  HYPRE_PCGGetNumIterations(pcg, &iterations);
  HYPRE_PCGGetFinalRelativeResidualNorm(pcg, &report.residual);
  HYPRE_ParCSRPCGDestroy(pcg);
  report.iterations += iterations;
  solution.read(x);
  return report.residual <= options_.tolerance;  // false for NaN
}

SolveReport LinearSolver::solve_here(const SparseRows& rows, std::vector<double>& x) {
  const HypreErrors errors(leaders_ != MPI_COMM_NULL ? leaders_ : comm_);
  SolveReport report;
  double clock = MPI_Wtime();
  const auto lap = [&clock] {
    const double before = clock;
    clock = MPI_Wtime();
    return clock - before;
  };
  const std::vector<double> guess = x;
  auto matrix = std::make_unique<Matrix>(leaders_ != MPI_COMM_NULL ? leaders_ : comm_, rows);
  report.seconds_assemble = lap();
  int usual = 0;
  if (hierarchy_) {
    usual = hierarchy_->first_iterations;
    const int most = static_cast<int>(std::ceil(options_.rebuild_factor * (usual + 2)));
    const bool done = attempt(*matrix, rows, x, most, report);
    report.seconds_solve = lap();
    if (done) return report;
    x = std::isfinite(report.residual) ? x : guess;  // what the old hierarchy reached is not lost
  }
  hierarchy_.reset();
  hierarchy_ = std::make_unique<Hierarchy>(std::move(matrix), options_);
  report.setup = true;
  report.seconds_setup = lap();
  const int in_vain = report.iterations;
  const bool done = attempt(*hierarchy_->matrix, rows, x, options_.max_iterations, report);
  // Without the old hierarchy's: counted as well, they would let the limit grow from one to the next. What
  // that one reached shortens this solve, so it is no measure where it is the shorter one.
  hierarchy_->first_iterations = std::max(usual, report.iterations - in_vain);
  report.seconds_solve += lap();
  if (!done)
    throw NotConverged(empi::format("pressure: no convergence: residual %.2g after %d iterations, %g wanted",
                                    report.residual, report.iterations, options_.tolerance));
  return report;
}

}  // namespace spe10
