#include "apps/spe10/solver/linear_solver.hpp"

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace reservoir {
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
  ~Vector() { HYPRE_IJVectorDestroy(ij_); }
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
  HYPRE_IJVector ij_ = nullptr;
};

}  // namespace

struct LinearSolver::Matrix {
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
  ~Matrix() { HYPRE_IJMatrixDestroy(ij); }
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
  ~Hierarchy() { HYPRE_BoomerAMGDestroy(amg); }
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
LinearSolver::~LinearSolver() = default;

SolveReport LinearSolver::solve(const SparseRows& rows, std::span<double> x) {
  SolveReport report;
  double clock = MPI_Wtime();
  const auto lap = [&clock] {
    const double before = clock;
    clock = MPI_Wtime();
    return clock - before;
  };
  auto matrix = std::make_unique<Matrix>(comm_, rows);
  const Vector b(comm_, rows.first, rows.rhs, rows.extra_rhs);
  Vector solution(comm_, rows.first, x);
  report.seconds_assemble = lap();

  const auto attempt = [&](HYPRE_ParCSRMatrix a, int max_iterations) {
    HYPRE_Solver pcg = nullptr;
    check(HYPRE_ParCSRPCGCreate(comm_, &pcg), "making the solver");
    HYPRE_PCGSetTol(pcg, options_.tolerance);
    HYPRE_PCGSetMaxIter(pcg, max_iterations);
    HYPRE_PCGSetTwoNorm(pcg, 1);
    HYPRE_PCGSetPrecond(pcg, Hierarchy::apply, Hierarchy::no_setup,
                        reinterpret_cast<HYPRE_Solver>(hierarchy_.get()));
    HYPRE_ParCSRPCGSetup(pcg, a, b.par(), solution.par());
    HYPRE_ParCSRPCGSolve(pcg, a, b.par(), solution.par());
    HYPRE_ClearAllErrors();  // "not converged" is judged by the residual below
    HYPRE_PCGGetNumIterations(pcg, &report.iterations);
    HYPRE_PCGGetFinalRelativeResidualNorm(pcg, &report.residual);
    HYPRE_ParCSRPCGDestroy(pcg);
    return report.residual <= options_.tolerance;  // false for NaN
  };

  if (hierarchy_) {
    const int limit =
        static_cast<int>(std::ceil(options_.rebuild_factor * (hierarchy_->first_iterations + 2)));
    const bool done = attempt(matrix->par(), limit);
    report.seconds_solve = lap();
    if (done) {
      solution.read(x);
      return report;
    }
  }
  const int wasted = report.iterations;
  hierarchy_.reset();
  hierarchy_ = std::make_unique<Hierarchy>(std::move(matrix), options_);
  report.setup = true;
  report.seconds_setup = lap();
  const bool done = attempt(hierarchy_->matrix->par(), options_.max_iterations);
  hierarchy_->first_iterations = report.iterations + wasted;
  report.iterations += wasted;
  report.seconds_solve += lap();
  if (!done)
    throw std::runtime_error("pressure: no convergence: residual " + std::to_string(report.residual) +
                             " after " + std::to_string(report.iterations) + " iterations, " +
                             std::to_string(options_.tolerance) + " wanted");
  solution.read(x);
  return report;
}

}  // namespace reservoir
