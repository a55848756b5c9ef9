// SPDX-License-Identifier: Apache-2.0
// From the assembled system to pressures and fluxes.
#include <algorithm>
#include <limits>

#include "apps/mesh/mpi_check.hpp"
#include "apps/spe10/model/fluid.hpp"
#include "apps/spe10/solver/pressure.hpp"

namespace spe10 {

// Given pressures at the middle of the faces on open borders.
void Pressure::set_borders() {
  const Frame& frame = columns_.frame;
  const mesh::Mesh& mesh = columns_.mesh;
  const std::size_t nz = columns_.nz();
  for (const auto& b : mesh.boundary()) {
    const BorderCondition& border = borders_[static_cast<std::size_t>(b.border)];
    if (!border.open()) continue;
    const auto edge = static_cast<std::size_t>(b.edge);
    const auto cell = static_cast<std::size_t>(mesh.edges().left[edge]);
    const mesh::Triangle t = mesh.triangle(cell);
    const mesh::Point ends[3][2] = {{t.a, t.b}, {t.b, t.c}, {t.a, t.c}};
    for (int k = 0; k < 3; ++k) {
      if (static_cast<std::size_t>(mesh.cell_slots()[3 * cell + static_cast<std::size_t>(k)] / 2) != edge)
        continue;
      const double x = 0.5 * frame.unit_x * (ends[k][0].x + static_cast<double>(ends[k][1].x));
      const double y = 0.5 * frame.unit_y * (ends[k][0].y + static_cast<double>(ends[k][1].y));
      for (std::size_t z = 0; z < nz; ++z)
        edge_pi_[edge * nz + z] = border.pressure(x, y, frame.depth(static_cast<int>(z)));
    }
  }
  for (const int side : {kBorderTop, kBorderBottom}) {
    if (!borders_[static_cast<std::size_t>(side)].open()) continue;
    const double depth = side == kBorderTop ? frame.top : frame.top + frame.dz * static_cast<double>(nz);
    for (std::size_t i = 0; i < columns_.own(); ++i) {
      const auto [x, y] = columns_.centre(i);
      vertical_pi_[i * (nz + 1) + (side == kBorderTop ? 0 : nz)] =
          borders_[static_cast<std::size_t>(side)].pressure(x, y, depth);
    }
  }
}

// Face pressures from the cells', for a mesh that has none yet. Across halo edges the own cell's will do.
void Pressure::guess(std::span<const double> p) {
  const mesh::Edges& edges = columns_.mesh.edges();
  const std::size_t nz = columns_.nz(), own = columns_.own();
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (unknowns_.edge_row[e] < 0) continue;
    const auto l = static_cast<std::size_t>(edges.left[e]), r = static_cast<std::size_t>(edges.right[e]);
    for (std::size_t z = 0; z < nz; ++z) {
      const double first = p[columns_.at(l < own ? l : r, z)], second = p[columns_.at(r < own ? r : l, z)];
      edge_pi_[e * nz + z] = 0.5 * (first + second);
    }
  }
  for (std::size_t i = 0; i < own; ++i)
    for (std::size_t z = 1; z < nz; ++z)
      vertical_pi_[i * (nz + 1) + z] = 0.5 * (p[columns_.at(i, z - 1)] + p[columns_.at(i, z)]);
  for (std::size_t e = 0; e < edges.size(); ++e)
    if (unknowns_.owns(unknowns_.edge_row[e]))
      std::copy_n(edge_pi_.begin() + static_cast<std::ptrdiff_t>(e * nz), nz,
                  solution_.begin() + (unknowns_.edge_row[e] - unknowns_.first));
  for (std::size_t i = 0; i < own; ++i)
    if (columns_.in_block[i] == 0)
      std::copy_n(vertical_pi_.begin() + static_cast<std::ptrdiff_t>(i * (nz + 1) + 1), nz - 1,
                  solution_.begin() + (unknowns_.vertical_row[i] - unknowns_.first));
}

void Pressure::take_solution(std::span<WellControl> controls) {
  const mesh::Edges& edges = columns_.mesh.edges();
  const std::size_t nz = columns_.nz(), own = columns_.own();
  for (std::size_t e = 0; e < edges.size(); ++e)
    if (unknowns_.owns(unknowns_.edge_row[e]))
      std::copy_n(solution_.begin() + (unknowns_.edge_row[e] - unknowns_.first), nz,
                  edge_pi_.begin() + static_cast<std::ptrdiff_t>(e * nz));
  for (std::size_t i = 0; i < own; ++i)
    if (columns_.in_block[i] == 0)
      std::copy_n(solution_.begin() + (unknowns_.vertical_row[i] - unknowns_.first), nz - 1,
                  vertical_pi_.begin() + static_cast<std::ptrdiff_t>(i * (nz + 1) + 1));
  const auto layers = [nz](auto begin, std::size_t at) {
    return begin + static_cast<std::ptrdiff_t>(at * nz);
  };
  const auto take = [&](const std::vector<double>& received, auto wanted) {
    for (std::size_t slot = 0; slot < columns_.mesh.halo_cells(); ++slot)
      if (wanted(edges.interior + slot))
        std::copy_n(layers(received.begin(), slot), nz, layers(edge_pi_.begin(), edges.interior + slot));
  };
  const auto is_joined = [&](std::size_t e) { return unknowns_.edge_row[e] == Unknowns::joined; };
  take(columns_.exchange_edges(edge_pi_),
       [&](std::size_t e) { return static_cast<std::size_t>(edges.left[e]) >= own; });
  // Joined halo edges hold the pressure of the block beyond.
  for (std::size_t slot = 0; slot < columns_.mesh.halo_cells(); ++slot)
    if (const std::size_t e = edges.interior + slot; is_joined(e)) {
      const auto mine = static_cast<std::size_t>(columns_.mesh.halo().cells()[slot]);
      const auto inside = static_cast<std::size_t>(columns_.slot(mine, kHypotenuse) / 2);
      std::copy_n(layers(edge_pi_.begin(), inside), nz, layers(edge_pi_.begin(), e));
    }
  take(columns_.exchange_edges(edge_pi_), is_joined);
  std::vector<double> bhp(static_cast<std::size_t>(wells_));
  if (rank_ == 0)
    for (int w = 0; w < wells_; ++w)
      bhp[static_cast<std::size_t>(w)] = solution_[static_cast<std::size_t>(well_row(w) - unknowns_.first)];
  elastic::check_mpi(MPI_Bcast(bhp.data(), wells_, MPI_DOUBLE, 0, columns_.mesh.comm()),
                     "sharing well pressures");
  for (int w = 0; w < wells_; ++w)
    if (controls[static_cast<std::size_t>(w)].by_rate)
      controls[static_cast<std::size_t>(w)].bhp = bhp[static_cast<std::size_t>(w)];
}

// Of a block's prism: what its two-point flow through a face goes to.
double Pressure::pressure_beyond(std::size_t i, std::size_t z, int face) const {
  const std::size_t nz = columns_.nz();
  const mesh::Edges& edges = columns_.mesh.edges();
  const auto inside = [&](std::size_t column) {
    return static_cast<std::size_t>(columns_.slot(column, kHypotenuse) / 2) * nz;
  };
  if (face == kTopFace) return z > 0 ? edge_pi_[inside(i) + z - 1] : vertical_pi_[i * (nz + 1)];
  if (face == kBottomFace) return z + 1 < nz ? edge_pi_[inside(i) + z + 1] : vertical_pi_[i * (nz + 1) + nz];
  const std::int32_t slot = columns_.slot(i, face);
  const auto edge = static_cast<std::size_t>(slot / 2);
  if (unknowns_.edge_row[edge] == Unknowns::joined && edge < edges.interior)
    return edge_pi_[inside(static_cast<std::size_t>(slot % 2 == 0 ? edges.right[edge] : edges.left[edge])) +
                    z];
  return edge_pi_[edge * nz + z];
}

// Both return the prism's pressure, and give the flows out of it.
double Pressure::fluxes(const Local& l, const Balance& b, double (&flux)[kFaces]) const {
  double sum = l.source + b.constant;
  for (int g = 0; g < kFaces; ++g)
    if (l.row[g] != closed) sum += l.row_sum[g] * *l.pi[g];
  const double p = sum / (l.total + b.storage + b.well);
  for (int f = 0; f < kFaces; ++f) {
    flux[f] = 0;
    if (l.row[f] == closed) continue;
    for (int g = 0; g < kFaces; ++g)
      if (l.row[g] != closed) flux[f] += l.t[f][g] * (p - *l.pi[g] + l.drive[g]);
  }
  return p;
}

// What the other faces leave flows through the hypotenuse, so that each triangle's liquid is kept.
double Pressure::fluxes_of_block(std::size_t i, std::size_t z, const BlockFlow::Star& s, const Balance& b,
                                 double (&flux)[kFaces]) const {
  const auto inside = static_cast<std::size_t>(columns_.slot(i, kHypotenuse) / 2);
  const double p = edge_pi_[inside * columns_.nz() + z];
  flux[kHypotenuse] = b.constant - (b.storage + b.well) * p;
  for (const int f : {kTopFace, kBottomFace, 0, 1}) {
    flux[f] = s.beyond[f] == closed ? 0 : s.flow[f] * (p - pressure_beyond(i, z, f) + s.drive[f]);
    flux[kHypotenuse] -= flux[f];
  }
  return p;
}

// The mean of what both sides of a face find for its flux: they differ by the residual.
void Pressure::book(std::size_t i, std::size_t z, const double (&flux)[kFaces]) {
  const mesh::Mesh& mesh = columns_.mesh;
  const std::size_t nz = columns_.nz(), first_border = mesh.edges().size() - mesh.boundary().size();
  for (int f = 0; f < 3; ++f) {
    const std::int32_t slot = columns_.slot(i, f);
    const auto edge = static_cast<std::size_t>(slot / 2);
    const double share = edge >= first_border ? 1 : 0.5;
    edge_flux_[edge * nz + z] += (slot % 2 == 0 ? share : -share) * flux[f];
  }
  vertical_flux_[i * (nz + 1) + z] -= (z > 0 ? 0.5 : 1) * flux[kTopFace];
  vertical_flux_[i * (nz + 1) + z + 1] += (z + 1 < nz ? 0.5 : 1) * flux[kBottomFace];
}

void Pressure::evaluate(const Coefficients& c, std::span<const WellControl> controls, std::span<double> p) {
  std::ranges::fill(edge_flux_, 0.0);
  std::ranges::fill(vertical_flux_, 0.0);
  double flux[kFaces];
  for (std::size_t i = 0; i < columns_.own(); ++i)
    for (std::size_t z = 0; z < columns_.nz(); ++z) {
      const std::size_t prism = columns_.at(i, z);
      if (columns_.active[prism] == 0) continue;
      const Balance b = balance(prism, c, controls, p[prism], true);
      p[prism] = columns_.in_block[i] != 0
                     ? fluxes_of_block(i, z, block_flow_.star(i, z, c.mobility, c.weight), b, flux)
                     : fluxes(local(i, z, c), b, flux);
      book(i, z, flux);
    }
  const std::vector<double> others = columns_.exchange_edges(edge_flux_);
  const std::size_t halo = columns_.mesh.edges().interior * columns_.nz();
  for (std::size_t k = 0; k < others.size(); ++k) edge_flux_[halo + k] += others[k];
}

void Pressure::shift(double by, std::span<WellControl> controls, std::span<double> p) {
  for (auto* values : {&edge_pi_, &vertical_pi_, &solution_})
    for (double& value : *values) value += by;
  for (double& value : p) value += by;
  for (WellControl& control : controls) control.bhp += by;
}

SolveReport Pressure::solve(const Coefficients& c, std::span<const Completion> completions,
                            std::span<WellControl> controls, std::span<double> p) {
  const double begin = MPI_Wtime();
  if (!guessed_) {
    guess(p);
    guessed_ = true;
  }
  set_borders();
  // Pressures count from the lowest well: then the right hand side, by whose norm the solver judges, holds
  // flows and not large products of well indices and absolute pressures.
  double lowest = std::numeric_limits<double>::infinity();
  for (const WellControl& control : controls)
    if (!control.by_rate) lowest = std::min(lowest, control.bhp);
  if (lowest == std::numeric_limits<double>::infinity()) lowest = 0;
  shift(-lowest, controls, p);
  if (rank_ == 0)
    for (int w = 0; w < wells_; ++w) {
      const WellControl& control = controls[static_cast<std::size_t>(w)];
      solution_[static_cast<std::size_t>(well_row(w) - unknowns_.first)] = control.by_rate ? control.bhp : 0;
    }
  assemble(c, completions, controls, p);
  first_guess_ = solution_;
  const double assembled = MPI_Wtime() - begin;
  SolveReport report = solver_.solve(system_, solution_);
  const double solved = MPI_Wtime();
  take_solution(controls);
  evaluate(c, controls, p);
  shift(lowest, controls, p);
  report.seconds_discretise = assembled + MPI_Wtime() - solved;
  return report;
}

}  // namespace spe10
