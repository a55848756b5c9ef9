// SPDX-License-Identifier: Apache-2.0
// The pressure equation: total volume is conserved in every prism, the flux is continuous through every face.
//
// The pressures on the faces are the unknowns (mixed-hybrid): cell pressures are eliminated prism by prism,
// which leaves a symmetric positive definite system, one row for each open face and one for each well that is
// held at a rate. Rows are numbered along the curve, then in z; the rank of an edge's left cell has its rows.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "apps/spe10/solver/columns.hpp"
#include "apps/spe10/solver/linear_solver.hpp"

namespace spe10 {

// A well's connection to one prism: flow into the prism = index * mobility * (well - cell pressure).
struct Completion {
  int well = 0;
  std::int32_t column = 0, z = 0;
  double index = 0;  // mD ft
  double head = 0;   // psi: pressure there less pressure at the well's reference depth
};

// A well is held at its pressure `bhp`, or at a rate in reservoir ft3/day (then bhp is the result).
struct WellControl {
  double bhp = 0;
  double rate = 0;
  bool by_rate = false;
};

// Coefficients of one step, one per own prism.
struct Coefficients {
  std::span<const double> mobility;  // total, 1/cP
  std::span<const double> weight;    // psi/ft: of the flowing mixture, for gravity
  std::span<const double> storage;   // ft3/psi/day: pore volume * compressibility / time step
};

class Pressure {
 public:
  // Numbers the faces of the columns' mesh. Collective on the mesh's communicator. Columns, borders and what
  // they refer to must outlive the object and keep their mesh.
  Pressure(const Columns& columns, const Borders& borders, int wells, SolverOptions options);

  // Solves for face, cell and well pressures; `p` holds the old cell pressures and receives the new ones,
  // controls receive the bottom hole pressures of wells held at a rate. Collective.
  SolveReport solve(const Coefficients& c, std::span<const Completion> completions,
                    std::span<WellControl> controls, std::span<double> p);

  // Volume per day through the faces, after solve(): edges from left to right [edge * nz + z]; vertical faces
  // downwards [column * (nz + 1) + z], z = 0 the top.
  std::span<const double> edge_flux() const { return edge_flux_; }
  std::span<const double> vertical_flux() const { return vertical_flux_; }

  std::int64_t rows() const { return total_rows_; }
  // The system that was solved last.
  const SparseRows& system() const { return system_; }
  // What the solver began with on it, kept for comparisons (bench).
  const std::vector<double>& first_guess() const { return first_guess_; }

 private:
  static constexpr std::int32_t closed = -1, known = -2;  // instead of a row

  // One prism while it is assembled or evaluated.
  struct Local {
    FaceMatrix t;                                 // with mobility and Darcy's factor
    std::int32_t row[kFaces];                     // or closed, known
    double* pi[kFaces];                           // face pressures
    double drive[kFaces];                         // psi: gravity from the cell's centre to the face
    double row_sum[kFaces], total, source, well;  // see assemble()
  };

  void number_faces();
  void make_pattern();
  void set_borders();
  void guess(std::span<const double> p);
  Local local(std::size_t i, std::size_t z, const Coefficients& c);
  void assemble(const Coefficients& c, std::span<const Completion> completions,
                std::span<const WellControl> controls, std::span<const double> p);
  void scatter(std::size_t i, const Local& l, double denominator, double constant,
               const Completion* completion, const WellControl* control);
  void evaluate(const Coefficients& c, std::span<const WellControl> controls, std::span<double> p);
  void shift(double by, std::span<WellControl> controls, std::span<double> p);
  void take_solution(std::span<WellControl> controls);
  void exchange_edges(std::vector<double>& values);
  std::int32_t well_row(int well) const { return first_well_row_ + well; }
  std::size_t place(std::int32_t row, bool second, int entry) const {
    const auto r = static_cast<std::size_t>(row - system_.first);
    return static_cast<std::size_t>(system_.begin[r]) + 1 + (second ? split_[r] : 0) +
           static_cast<std::size_t>(entry);
  }

  const Columns& columns_;
  const Borders& borders_;
  int wells_;
  std::vector<std::int32_t> edge_row_;      // per edge: row of its top prism, or closed, known
  std::vector<std::int32_t> vertical_row_;  // per own column: row of the face below its first prism
  std::int32_t first_row_ = 0, own_rows_ = 0, first_well_row_ = 0;
  std::int64_t total_rows_ = 0;
  std::vector<std::uint8_t> split_;  // per own row: entries from its first prism
  SparseRows system_;
  std::vector<double> solution_, first_guess_;
  std::vector<double> edge_pi_, vertical_pi_, edge_flux_, vertical_flux_;
  bool guessed_ = false;
  std::vector<const Completion*> completion_of_;  // per own prism
  std::vector<double> received_;                  // per halo slot and layer
  LinearSolver solver_;
  int rank_ = 0;
};

}  // namespace spe10
