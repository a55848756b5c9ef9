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
      const mesh::Triangle t = mesh.triangle(i);
      const double x = frame.unit_x / 3 * (static_cast<double>(t.a.x) + t.b.x + t.c.x);
      const double y = frame.unit_y / 3 * (static_cast<double>(t.a.y) + t.b.y + t.c.y);
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
    if (edge_row_[e] == known) continue;
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
    if (edge_row_[e] >= first_row_ && edge_row_[e] < first_row_ + own_rows_)
      std::copy_n(edge_pi_.begin() + static_cast<std::ptrdiff_t>(e * nz), nz,
                  solution_.begin() + (edge_row_[e] - first_row_));
  for (std::size_t i = 0; i < own; ++i)
    std::copy_n(vertical_pi_.begin() + static_cast<std::ptrdiff_t>(i * (nz + 1) + 1), nz - 1,
                solution_.begin() + (vertical_row_[i] - first_row_));
}

// Sends this rank's values of halo edges to the other side, into received_.
void Pressure::exchange_edges(std::vector<double>& values) {
  mesh::Halo halo = columns_.mesh.halo();
  const std::size_t nz = columns_.nz(), interior = columns_.mesh.edges().interior;
  // One array for sending and receiving, as Halo wants it: what is received goes behind all edges.
  const std::size_t behind = columns_.mesh.edges().size();
  values.resize((behind + halo.size()) * nz);
  std::vector<std::int32_t> send, receive;
  for (std::size_t slot = 0; slot < halo.size(); ++slot) {
    send.push_back(static_cast<std::int32_t>((interior + slot) * nz));
    receive.push_back(static_cast<std::int32_t>((behind + slot) * nz));
  }
  std::vector<double*> layers(nz);
  for (std::size_t z = 0; z < nz; ++z) layers[z] = values.data() + z;
  halo.start(layers, send, receive);
  halo.finish();
  received_.assign(values.begin() + static_cast<std::ptrdiff_t>(behind * nz), values.end());
  values.resize(behind * nz);
}

void Pressure::take_solution(std::span<WellControl> controls) {
  const mesh::Edges& edges = columns_.mesh.edges();
  const std::size_t nz = columns_.nz(), own = columns_.own();
  for (std::size_t e = 0; e < edges.size(); ++e)
    if (edge_row_[e] >= first_row_ && edge_row_[e] < first_row_ + own_rows_)
      std::copy_n(solution_.begin() + (edge_row_[e] - first_row_), nz,
                  edge_pi_.begin() + static_cast<std::ptrdiff_t>(e * nz));
  for (std::size_t i = 0; i < own; ++i)
    std::copy_n(solution_.begin() + (vertical_row_[i] - first_row_), nz - 1,
                vertical_pi_.begin() + static_cast<std::ptrdiff_t>(i * (nz + 1) + 1));
  exchange_edges(edge_pi_);
  for (std::size_t slot = 0; slot < columns_.mesh.halo_cells(); ++slot)
    if (static_cast<std::size_t>(edges.left[edges.interior + slot]) >= own)
      std::copy_n(received_.begin() + static_cast<std::ptrdiff_t>(slot * nz), nz,
                  edge_pi_.begin() + static_cast<std::ptrdiff_t>((edges.interior + slot) * nz));
  std::vector<double> bhp(static_cast<std::size_t>(wells_));
  if (rank_ == 0)
    for (int w = 0; w < wells_; ++w)
      bhp[static_cast<std::size_t>(w)] = solution_[static_cast<std::size_t>(well_row(w) - first_row_)];
  elastic::check_mpi(MPI_Bcast(bhp.data(), wells_, MPI_DOUBLE, 0, columns_.mesh.comm()),
                     "sharing well pressures");
  for (int w = 0; w < wells_; ++w)
    if (controls[static_cast<std::size_t>(w)].by_rate)
      controls[static_cast<std::size_t>(w)].bhp = bhp[static_cast<std::size_t>(w)];
}

// Cell pressures, and the mean of what both sides of a face find for its flux: they differ by the residual.
void Pressure::evaluate(const Coefficients& c, std::span<const WellControl> controls, std::span<double> p) {
  std::ranges::fill(edge_flux_, 0.0);
  std::ranges::fill(vertical_flux_, 0.0);
  const mesh::Mesh& mesh = columns_.mesh;
  const std::size_t nz = columns_.nz(), first_border = mesh.edges().size() - mesh.boundary().size();
  for (std::size_t i = 0; i < columns_.own(); ++i)
    for (std::size_t z = 0; z < nz; ++z) {
      const std::size_t prism = columns_.at(i, z);
      const Local l = local(i, z, c);
      double sum = l.source + c.storage[prism] * p[prism], denominator = l.total + c.storage[prism];
      if (const Completion* w = completion_of_[prism]) {
        const double well = kDarcy * w->index * c.mobility[prism];
        sum += well * (controls[static_cast<std::size_t>(w->well)].bhp + w->head);
        denominator += well;
      }
      for (int g = 0; g < kFaces; ++g)
        if (l.row[g] != closed) sum += l.row_sum[g] * *l.pi[g];
      p[prism] = sum / denominator;
      double flux[kFaces];
      for (int f = 0; f < kFaces; ++f) {
        flux[f] = 0;
        if (l.row[f] == closed) continue;
        for (int g = 0; g < kFaces; ++g)
          if (l.row[g] != closed) flux[f] += l.t[f][g] * (p[prism] - *l.pi[g] + l.drive[g]);
      }
      for (int f = 0; f < 3; ++f) {
        const std::int32_t slot = mesh.cell_slots()[3 * i + static_cast<std::size_t>(f)];
        const auto edge = static_cast<std::size_t>(slot / 2);
        const double share = edge >= first_border ? 1 : 0.5;
        edge_flux_[edge * nz + z] += (slot % 2 == 0 ? share : -share) * flux[f];
      }
      vertical_flux_[i * (nz + 1) + z] -= (z > 0 ? 0.5 : 1) * flux[kTopFace];
      vertical_flux_[i * (nz + 1) + z + 1] += (z + 1 < nz ? 0.5 : 1) * flux[kBottomFace];
    }
  exchange_edges(edge_flux_);
  for (std::size_t k = 0; k < received_.size(); ++k)
    edge_flux_[mesh.edges().interior * nz + k] += received_[k];
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
      solution_[static_cast<std::size_t>(well_row(w) - first_row_)] = control.by_rate ? control.bhp : 0;
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
