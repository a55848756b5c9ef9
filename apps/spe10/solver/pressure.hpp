// SPDX-License-Identifier: Apache-2.0
// The pressure equation: total volume is conserved in every prism, the flux is continuous through every face.
//
// The pressures on the faces are the unknowns (mixed-hybrid): cell pressures are eliminated prism by prism.
// In blocks it is the cell pressures that stay, and the faces between two of them that are eliminated
// (two-point, block_flow.hpp); a face between a block and another prism is an unknown, to which each side
// flows by its own scheme. Both are exact for linear pressures, and the system is symmetric and positive
// definite, with one row for each of these pressures and one for each well (unknowns.hpp).
#pragma once
#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "apps/spe10/solver/block_flow.hpp"
#include "apps/spe10/solver/columns.hpp"
#include "apps/spe10/solver/linear_solver.hpp"
#include "apps/spe10/solver/unknowns.hpp"

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
  std::span<const double> mobility;     // total, 1/cP
  std::span<const double> weight;       // psi/ft: of the flowing mixture, for gravity
  std::span<const double> storage;      // ft3/psi/day: pore volume * compressibility / time step
  std::span<const double> excess = {};  // ft3/day to drive out; none: nothing
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

  std::int64_t rows() const { return unknowns_.total; }
  // The system that was solved last.
  const SparseRows& system() const { return system_; }
  // What the solver began with on it, kept for comparisons (bench).
  const std::vector<double>& first_guess() const { return first_guess_; }

 private:
  static constexpr std::int32_t closed = Unknowns::closed, known = Unknowns::known;

  // One prism of no block while it is assembled or evaluated.
  struct Local {
    FaceMatrix t;                           // with mobility and Darcy's factor
    std::int32_t row[kFaces];               // or closed, known
    double* pi[kFaces];                     // face pressures
    double drive[kFaces];                   // psi: gravity from the cell's centre to the face
    double row_sum[kFaces], total, source;  // see assemble()
  };
  // What a prism stores and what its well gives: flow out + (storage + well) p = constant, and well bhp more
  // if that pressure is an unknown.
  struct Balance {
    double storage, well, constant;
    const Completion* completion;
    bool by_rate;
  };

  void make_pattern();
  void set_borders();
  void guess(std::span<const double> p);
  Local local(std::size_t i, std::size_t z, const Coefficients& c);
  void add(std::int32_t row, std::int32_t column, double value, std::size_t entry);
  void add_rhs(std::int32_t row, double value);
  void assemble(const Coefficients& c, std::span<const Completion> completions,
                std::span<const WellControl> controls, std::span<const double> p);
  Balance balance(std::size_t prism, const Coefficients& c, std::span<const WellControl> controls,
                  double old_p, bool solved) const;
  void scatter(std::size_t i, const Local& l, const Balance& b);
  void scatter_block(std::size_t i, std::size_t z, const BlockFlow::Star& s, const Balance& b);
  void close_inactive();
  double fluxes(const Local& l, const Balance& b, double (&flux)[kFaces]) const;
  double fluxes_of_block(std::size_t i, std::size_t z, const BlockFlow::Star& s, const Balance& b,
                         double (&flux)[kFaces]) const;
  double pressure_beyond(std::size_t i, std::size_t z, int face) const;
  void book(std::size_t i, std::size_t z, const double (&flux)[kFaces]);
  void evaluate(const Coefficients& c, std::span<const WellControl> controls, std::span<double> p);
  void shift(double by, std::span<WellControl> controls, std::span<double> p);
  void take_solution(std::span<WellControl> controls);
  std::int32_t well_row(int well) const { return unknowns_.first_well + well; }
  bool second(std::size_t column, int k) const { return columns_.slot(column, k) % 2 != 0; }
  // Where a row of its own has entries: the first one that its first, or its second, prism couples to.
  std::size_t entries_of(std::int32_t row, bool second) const {
    return second && unknowns_.owns(row) ? split_[static_cast<std::size_t>(row - unknowns_.first)] : 1;
  }

  const Columns& columns_;
  const Borders& borders_;
  int wells_;
  Unknowns unknowns_;
  BlockFlow block_flow_;
  std::vector<std::uint8_t> split_;  // per own row: its first entry from its second prism
  SparseRows system_;
  std::vector<double> solution_, first_guess_;
  std::vector<double> edge_pi_, vertical_pi_, edge_flux_, vertical_flux_;
  bool guessed_ = false;
  std::vector<const Completion*> completion_of_;  // per own prism
  LinearSolver solver_;
  int rank_ = 0;
};

}  // namespace spe10
