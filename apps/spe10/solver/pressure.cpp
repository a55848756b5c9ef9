// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/solver/pressure.hpp"

#include <algorithm>
#include <elastic_mpi/comm.hpp>
#include <limits>
#include <stdexcept>

#include "apps/mesh/mpi_check.hpp"
#include "apps/spe10/model/fluid.hpp"

namespace spe10 {

Pressure::Pressure(const Columns& columns, const Borders& borders, int wells, SolverOptions options)
    : columns_(columns), borders_(borders), wells_(wells), solver_(columns.mesh.comm(), options) {
  rank_ = elastic::rank_of(columns.mesh.comm());
  number_faces();
  make_pattern();
}

// Row numbers of the rows of own columns: for each column the edges it is the left cell of, then its inner
// horizontal faces.
void Pressure::number_faces() {
  const mesh::Mesh& mesh = columns_.mesh;
  const mesh::Edges& edges = mesh.edges();
  const auto own = static_cast<std::int32_t>(columns_.own()), nz = columns_.frame.nz;
  edge_row_.assign(edges.size(), closed);
  const auto first_border = edges.size() - mesh.boundary().size();
  for (const auto& b : mesh.boundary())
    if (borders_[static_cast<std::size_t>(b.border)].open())
      edge_row_[static_cast<std::size_t>(b.edge)] = known;

  std::int64_t count = 0;
  std::vector<std::int64_t> edge_at(edges.size(), -1), vertical_at(static_cast<std::size_t>(own));
  for (std::int32_t i = 0; i < own; ++i) {
    for (int k = 0; k < 3; ++k) {
      const std::int32_t slot =
          mesh.cell_slots()[3 * static_cast<std::size_t>(i) + static_cast<std::size_t>(k)];
      if (slot % 2 != 0 || static_cast<std::size_t>(slot / 2) >= first_border) continue;
      edge_at[static_cast<std::size_t>(slot / 2)] = count;
      count += nz;
    }
    vertical_at[static_cast<std::size_t>(i)] = count;
    count += nz - 1;
  }
  const std::int64_t mine = count + (rank_ == 0 ? wells_ : 0);
  std::int64_t end = 0;
  elastic::check_mpi(MPI_Scan(&mine, &end, 1, MPI_INT64_T, MPI_SUM, mesh.comm()), "numbering the faces");
  elastic::check_mpi(MPI_Allreduce(&mine, &total_rows_, 1, MPI_INT64_T, MPI_SUM, mesh.comm()),
                     "numbering the faces");
  if (total_rows_ > std::numeric_limits<std::int32_t>::max())
    throw std::runtime_error("pressure: " + std::to_string(total_rows_) +
                             " faces are more than hypre's 32-bit numbers can count: use a coarser mesh");
  first_row_ = static_cast<std::int32_t>(end - mine);
  own_rows_ = static_cast<std::int32_t>(mine);
  first_well_row_ = static_cast<std::int32_t>(count);
  elastic::check_mpi(MPI_Bcast(&first_well_row_, 1, MPI_INT32_T, 0, mesh.comm()), "numbering the wells");
  for (std::size_t e = 0; e < edges.size(); ++e)
    if (edge_at[e] >= 0) edge_row_[e] = first_row_ + static_cast<std::int32_t>(edge_at[e]);
  vertical_row_.clear();
  for (const std::int64_t at : vertical_at)
    vertical_row_.push_back(first_row_ + static_cast<std::int32_t>(at));

  // Halo edges whose left cell is another rank's have their rows there.
  const std::size_t halo = mesh.halo_cells();
  std::vector<std::uint64_t> send(halo);
  for (std::size_t slot = 0; slot < halo; ++slot)
    send[slot] = static_cast<std::uint64_t>(std::max<std::int32_t>(0, edge_row_[edges.interior + slot]));
  const auto received = mesh.halo().exchange(send);
  for (std::size_t slot = 0; slot < halo; ++slot)
    if (edges.left[edges.interior + slot] >= own)
      edge_row_[edges.interior + slot] = static_cast<std::int32_t>(received[slot]);

  edge_pi_.assign(edges.size() * columns_.nz(), 0);
  edge_flux_.assign(edge_pi_.size(), 0);
  vertical_pi_.assign(columns_.own() * (columns_.nz() + 1), 0);
  vertical_flux_.assign(vertical_pi_.size(), 0);
}

// Rows hold the diagonal, then what the first prism (left or upper) couples to, then the second's.
void Pressure::make_pattern() {
  system_.first = first_row_;
  system_.begin.assign(1, 0);
  system_.column.clear();
  split_.assign(static_cast<std::size_t>(own_rows_), 0);
  const mesh::Edges& edges = columns_.mesh.edges();
  const std::size_t nz = columns_.nz(), own = columns_.own();
  const Coefficients none{};
  const auto couple = [&](std::size_t i, std::size_t z, int face) {
    const Local l = local(i, z, none);
    for (int g = 0; g < kFaces; ++g)
      if (g != face && l.row[g] >= 0) system_.column.push_back(l.row[g]);
  };
  const auto finish_row = [&] { system_.begin.push_back(static_cast<std::int32_t>(system_.column.size())); };
  const auto edge_rows = [&](std::size_t i, int k, std::int32_t slot) {
    const auto right = static_cast<std::size_t>(edges.right[static_cast<std::size_t>(slot / 2)]);
    int there = 0;
    if (right < own)
      while (columns_.mesh.cell_slots()[3 * right + static_cast<std::size_t>(there)] != slot + 1) ++there;
    for (std::size_t z = 0; z < nz; ++z) {
      const std::size_t start = system_.column.size();
      system_.column.push_back(edge_row_[static_cast<std::size_t>(slot / 2)] + static_cast<std::int32_t>(z));
      couple(i, z, k);
      split_[system_.begin.size() - 1] = static_cast<std::uint8_t>(system_.column.size() - start - 1);
      if (right < own) couple(right, z, there);
      finish_row();
    }
  };
  for (std::size_t i = 0; i < own; ++i) {
    for (int k = 0; k < 3; ++k) {
      const std::int32_t slot = columns_.mesh.cell_slots()[3 * i + static_cast<std::size_t>(k)];
      if (slot % 2 == 0 && edge_row_[static_cast<std::size_t>(slot / 2)] >= 0) edge_rows(i, k, slot);
    }
    for (std::size_t z = 0; z + 1 < nz; ++z) {
      const std::size_t start = system_.column.size();
      system_.column.push_back(vertical_row_[i] + static_cast<std::int32_t>(z));
      couple(i, z, kBottomFace);
      split_[system_.begin.size() - 1] = static_cast<std::uint8_t>(system_.column.size() - start - 1);
      couple(i, z + 1, kTopFace);
      finish_row();
    }
  }
  if (rank_ == 0)
    for (int w = 0; w < wells_; ++w) system_.column.push_back(well_row(w)), finish_row();
  system_.value.resize(system_.column.size());
  system_.rhs.resize(static_cast<std::size_t>(own_rows_));
  solution_.assign(static_cast<std::size_t>(own_rows_), 0);
}

Pressure::Local Pressure::local(std::size_t i, std::size_t z, const Coefficients& c) {
  Local l;
  const std::size_t nz = columns_.nz(), prism = columns_.at(i, z);
  unsigned shut = 0;
  for (int k = 0; k < 3; ++k) {
    const auto edge =
        static_cast<std::size_t>(columns_.mesh.cell_slots()[3 * i + static_cast<std::size_t>(k)] / 2);
    l.row[k] = edge_row_[edge] >= 0 ? edge_row_[edge] + static_cast<std::int32_t>(z) : edge_row_[edge];
    l.pi[k] = &edge_pi_[edge * nz + z];
    l.drive[k] = 0;
  }
  l.row[kTopFace] = z > 0 ? vertical_row_[i] + static_cast<std::int32_t>(z) - 1
                          : (borders_[kBorderTop].open() ? known : closed);
  l.row[kBottomFace] = z + 1 < nz ? vertical_row_[i] + static_cast<std::int32_t>(z)
                                  : (borders_[kBorderBottom].open() ? known : closed);
  l.pi[kTopFace] = &vertical_pi_[i * (nz + 1) + z];
  l.pi[kBottomFace] = l.pi[kTopFace] + 1;
  if (c.mobility.empty()) return l;

  const double half = 0.5 * columns_.frame.dz * c.weight[prism];
  l.drive[kTopFace] = -half, l.drive[kBottomFace] = half;
  for (int f = 0; f < kFaces; ++f) shut |= l.row[f] == closed ? 1U << f : 0U;
  transmissibility(columns_.shape[i], columns_.frame.dz, columns_.rock[prism], shut, l.t);
  const double scale = kDarcy * c.mobility[prism];
  l.total = l.source = 0;
  for (int f = 0; f < kFaces; ++f) {
    l.row_sum[f] = 0;
    double gravity = 0;
    for (int g = 0; g < kFaces; ++g) {
      l.t[f][g] *= scale;
      l.row_sum[f] += l.t[f][g];
      gravity += l.t[f][g] * l.drive[g];
    }
    l.total += l.row_sum[f];
    l.source -= gravity;
  }
  return l;
}

// With t_f = sum_g T_fg and the flux u_f = t_f p - sum_g T_fg (pi_g - drive_g), the balance of a prism,
//   sum_f u_f + storage (p - p_old) = index mobility (bhp + head - p),
// gives p = (sum_g t_g pi_g + constant + w bhp) / denominator, and with it the condensed rows.
void Pressure::assemble(const Coefficients& c, std::span<const Completion> completions,
                        std::span<const WellControl> controls, std::span<const double> p) {
  std::ranges::fill(system_.value, 0.0);
  std::ranges::fill(system_.rhs, 0.0);
  system_.extra.clear(), system_.extra_rhs.clear();
  completion_of_.assign(columns_.own() * columns_.nz(), nullptr);
  for (const Completion& w : completions)
    completion_of_[columns_.at(static_cast<std::size_t>(w.column), static_cast<std::size_t>(w.z))] = &w;
  for (std::size_t i = 0; i < columns_.own(); ++i)
    for (std::size_t z = 0; z < columns_.nz(); ++z) {
      const std::size_t prism = columns_.at(i, z);
      Local l = local(i, z, c);
      const Completion* w = completion_of_[prism];
      const WellControl* control = w ? &controls[static_cast<std::size_t>(w->well)] : nullptr;
      l.well = w ? kDarcy * w->index * c.mobility[prism] : 0;
      double constant = c.storage[prism] * p[prism] + l.source;
      if (w) constant += l.well * (w->head + (control->by_rate ? 0 : control->bhp));
      scatter(i, l, l.total + c.storage[prism] + l.well, constant, w, control);
    }
  if (rank_ != 0) return;
  for (int w = 0; w < wells_; ++w) {
    const WellControl& control = controls[static_cast<std::size_t>(w)];
    system_.extra.push_back({well_row(w), well_row(w), control.by_rate ? 0.0 : 1.0});
    system_.extra_rhs.push_back({well_row(w), control.by_rate ? control.rate : 0.0});
  }
}

void Pressure::scatter(std::size_t i, const Local& l, double denominator, double constant,
                       const Completion* w, const WellControl* control) {
  const std::int32_t end = first_row_ + own_rows_;
  for (int f = 0; f < kFaces; ++f) {
    if (l.row[f] < 0) continue;
    double rhs = l.row_sum[f] / denominator * constant;
    const bool mine = l.row[f] >= first_row_ && l.row[f] < end;
    const bool second =
        f == kTopFace || (f < 3 && columns_.mesh.cell_slots()[3 * i + static_cast<std::size_t>(f)] % 2 != 0);
    int entry = 0;
    for (int g = 0; g < kFaces; ++g) {
      const double value = l.t[f][g] - l.row_sum[f] * l.row_sum[g] / denominator;
      rhs += l.t[f][g] * l.drive[g];
      if (l.row[g] == known) rhs -= value * *l.pi[g];
      if (l.row[g] < 0) continue;
      if (!mine)
        system_.extra.push_back({l.row[f], l.row[g], value});
      else if (f == g)
        system_.value[static_cast<std::size_t>(
            system_.begin[static_cast<std::size_t>(l.row[f] - first_row_)])] += value;
      else
        system_.value[place(l.row[f], second, entry++)] = value;
    }
    if (mine)
      system_.rhs[static_cast<std::size_t>(l.row[f] - first_row_)] += rhs;
    else
      system_.extra_rhs.push_back({l.row[f], rhs});
    if (w && control->by_rate) {
      const double coupling = -l.well * l.row_sum[f] / denominator;
      system_.extra.push_back({l.row[f], well_row(w->well), coupling});
      system_.extra.push_back({well_row(w->well), l.row[f], coupling});
    }
  }
  if (!w || !control->by_rate) return;
  const std::int32_t row = well_row(w->well);
  system_.extra.push_back({row, row, l.well * (1 - l.well / denominator)});
  double rhs = l.well * (constant / denominator - w->head);
  for (int g = 0; g < kFaces; ++g)
    if (l.row[g] == known) rhs += l.well * l.row_sum[g] / denominator * *l.pi[g];
  system_.extra_rhs.push_back({row, rhs});
}

}  // namespace spe10
