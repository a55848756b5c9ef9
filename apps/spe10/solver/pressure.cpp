// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/solver/pressure.hpp"

#include <algorithm>
#include <elastic_mpi/comm.hpp>

#include "apps/mesh/mpi_check.hpp"
#include "apps/spe10/model/fluid.hpp"

namespace spe10 {

Pressure::Pressure(const Columns& columns, const Borders& borders, int wells, SolverOptions options)
    : columns_(columns),
      borders_(borders),
      wells_(wells),
      unknowns_(columns, borders, wells),
      block_flow_(columns, borders, unknowns_),
      solver_(columns.mesh.comm(), options) {
  rank_ = elastic::rank_of(columns.mesh.comm());
  make_pattern();
  edge_pi_.assign(columns.mesh.edges().size() * columns.nz(), 0);
  edge_flux_.assign(edge_pi_.size(), 0);
  vertical_pi_.assign(columns.own() * (columns.nz() + 1), 0);
  vertical_flux_.assign(vertical_pi_.size(), 0);
}

// Rows hold the diagonal, those above and below for blocks, then what the first prism (left or upper) couples
// to, then the second's.
void Pressure::make_pattern() {
  system_.first = unknowns_.first;
  system_.begin.assign(1, 0);
  split_.assign(static_cast<std::size_t>(unknowns_.own), 0);
  const std::size_t nz = columns_.nz(), own = columns_.own();
  const Coefficients none{};
  const auto push = [&](std::int32_t column) { system_.column.push_back(column); };
  const auto couple = [&](std::size_t i, std::size_t z, int face) {
    if (columns_.in_block[i] != 0) return push(unknowns_.block_row[i] + static_cast<std::int32_t>(z));
    const Local l = local(i, z, none);
    for (int g = 0; g < kFaces; ++g)
      if (g != face && l.row[g] >= 0) push(l.row[g]);
  };
  const auto couple_legs = [&](std::size_t i, std::size_t z) {
    for (int k = 0; k < kHypotenuse; ++k)
      if (const std::int32_t row = unknowns_.beyond(columns_, i, k); row >= 0)
        push(row + static_cast<std::int32_t>(z));
  };
  const auto begin_second = [&] {
    split_[system_.begin.size() - 1] =
        static_cast<std::uint8_t>(system_.column.size() - static_cast<std::size_t>(system_.begin.back()));
  };
  const auto finish_row = [&] { system_.begin.push_back(static_cast<std::int32_t>(system_.column.size())); };
  const auto edge_rows = [&](std::size_t i, int k, std::int32_t slot) {
    const auto right =
        static_cast<std::size_t>(columns_.mesh.edges().right[static_cast<std::size_t>(slot / 2)]);
    int there = 0;
    if (right < own)
      while (columns_.slot(right, there) != slot + 1) ++there;
    const bool in_block = k == kHypotenuse && columns_.in_block[i] != 0;
    for (std::size_t z = 0; z < nz; ++z) {
      const std::int32_t row =
          unknowns_.edge_row[static_cast<std::size_t>(slot / 2)] + static_cast<std::int32_t>(z);
      push(row);
      if (in_block && z > 0) push(row - 1);
      if (in_block && z + 1 < nz) push(row + 1);
      in_block ? couple_legs(i, z) : couple(i, z, k);
      begin_second();
      if (right < own) in_block ? couple_legs(right, z) : couple(right, z, there);
      finish_row();
    }
  };
  for (std::size_t i = 0; i < own; ++i) {
    for (int k = 0; k < 3; ++k) {
      const std::int32_t slot = columns_.slot(i, k);
      if (slot % 2 == 0 && unknowns_.edge_row[static_cast<std::size_t>(slot / 2)] >= 0) edge_rows(i, k, slot);
    }
    if (columns_.in_block[i] != 0) continue;
    for (std::size_t z = 0; z + 1 < nz; ++z) {
      push(unknowns_.vertical_row[i] + static_cast<std::int32_t>(z));
      couple(i, z, kBottomFace);
      begin_second();
      couple(i, z + 1, kTopFace);
      finish_row();
    }
  }
  if (rank_ == 0)
    for (int w = 0; w < wells_; ++w) push(well_row(w)), finish_row();
  system_.value.resize(system_.column.size());
  system_.rhs.resize(static_cast<std::size_t>(unknowns_.own));
  solution_.assign(static_cast<std::size_t>(unknowns_.own), 0);
}

Pressure::Local Pressure::local(std::size_t i, std::size_t z, const Coefficients& c) {
  Local l;
  const std::size_t nz = columns_.nz(), prism = columns_.at(i, z);
  unsigned shut = 0;
  for (int k = 0; k < 3; ++k) {
    const auto edge = static_cast<std::size_t>(columns_.slot(i, k) / 2);
    const std::int32_t row = unknowns_.edge_row[edge];
    l.row[k] = row >= 0 ? row + static_cast<std::int32_t>(z) : row;
    l.pi[k] = &edge_pi_[edge * nz + z];
    l.drive[k] = 0;
  }
  l.row[kTopFace] = z > 0 ? unknowns_.vertical_row[i] + static_cast<std::int32_t>(z) - 1
                          : (borders_[kBorderTop].open() ? known : closed);
  l.row[kBottomFace] = z + 1 < nz ? unknowns_.vertical_row[i] + static_cast<std::int32_t>(z)
                                  : (borders_[kBorderBottom].open() ? known : closed);
  l.pi[kTopFace] = &vertical_pi_[i * (nz + 1) + z];
  l.pi[kBottomFace] = l.pi[kTopFace] + 1;
  if (c.mobility.empty()) return l;

  const double half = 0.5 * columns_.frame.dz * c.weight[prism];
  l.drive[kTopFace] = -half, l.drive[kBottomFace] = half;
  for (int f = 0; f < kFaces; ++f) shut |= l.row[f] == closed ? 1U << f : 0U;
  // Faces of inactive prisms have rows, for rows are numbered by column; nothing flows through them.
  for (int k = 0; k < 3; ++k)
    if (!columns_.open(static_cast<std::size_t>(columns_.slot(i, k) / 2), z)) shut |= 1U << k;
  if (z > 0 && columns_.active[prism - 1] == 0) shut |= 1U << kTopFace;
  if (z + 1 < nz && columns_.active[prism + 1] == 0) shut |= 1U << kBottomFace;
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

void Pressure::add(std::int32_t row, std::int32_t column, double value, std::size_t entry) {
  if (unknowns_.owns(row))
    system_.value[static_cast<std::size_t>(system_.begin[static_cast<std::size_t>(row - unknowns_.first)]) +
                  entry] += value;
  else
    system_.extra.push_back({row, column, value});
}

void Pressure::add_rhs(std::int32_t row, double value) {
  if (unknowns_.owns(row))
    system_.rhs[static_cast<std::size_t>(row - unknowns_.first)] += value;
  else
    system_.extra_rhs.push_back({row, value});
}

Pressure::Balance Pressure::balance(std::size_t prism, const Coefficients& c,
                                    std::span<const WellControl> controls, double old_p, bool solved) const {
  Balance b{c.storage[prism], 0, c.storage[prism] * old_p, completion_of_[prism], false};
  if (!c.excess.empty()) b.constant += c.excess[prism];
  if (b.completion == nullptr) return b;
  const WellControl& control = controls[static_cast<std::size_t>(b.completion->well)];
  b.by_rate = control.by_rate;
  b.well = kDarcy * b.completion->index * c.mobility[prism];
  b.constant += b.well * (b.completion->head + (control.by_rate && !solved ? 0 : control.bhp));
  return b;
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
  block_flow_.prepare(c.mobility);
  for (std::size_t i = 0; i < columns_.own(); ++i)
    for (std::size_t z = 0; z < columns_.nz(); ++z) {
      const std::size_t prism = columns_.at(i, z);
      if (columns_.active[prism] == 0) continue;
      const Balance b = balance(prism, c, controls, p[prism], false);
      if (columns_.in_block[i] != 0)
        scatter_block(i, z, block_flow_.star(i, z, c.mobility, c.weight), b);
      else
        scatter(i, local(i, z, c), b);
    }
  if (!columns_.all_active) close_inactive();
  if (rank_ != 0) return;
  for (int w = 0; w < wells_; ++w) {
    const WellControl& control = controls[static_cast<std::size_t>(w)];
    system_.extra.push_back({well_row(w), well_row(w), control.by_rate ? 0.0 : 1.0});
    system_.extra_rhs.push_back({well_row(w), control.by_rate ? control.rate : 0.0});
  }
}

// Rows of what nothing flows through say that their value is 0: it is nobody's.
void Pressure::close_inactive() {
  const std::size_t nz = columns_.nz();
  const auto close = [&](std::int32_t row) {
    const auto own = static_cast<std::size_t>(row - unknowns_.first);
    system_.value[static_cast<std::size_t>(system_.begin[own])] = 1;
    solution_[own] = 0;
  };
  for (std::size_t i = 0; i < columns_.own(); ++i)
    for (std::size_t z = 0; z < nz; ++z) {
      const auto layer = static_cast<std::int32_t>(z);
      const bool here = columns_.active[columns_.at(i, z)] != 0;
      for (int k = 0; k < 3; ++k) {
        const auto edge = static_cast<std::size_t>(columns_.slot(i, k) / 2);
        if (columns_.slot(i, k) % 2 != 0 || unknowns_.edge_row[edge] < 0) continue;
        const bool block = k == kHypotenuse && columns_.in_block[i] != 0;
        if (block ? !here : !columns_.open(edge, z)) close(unknowns_.edge_row[edge] + layer);
      }
      if (columns_.in_block[i] == 0 && z + 1 < nz && !(here && columns_.active[columns_.at(i, z + 1)] != 0))
        close(unknowns_.vertical_row[i] + layer);
    }
}

void Pressure::scatter(std::size_t i, const Local& l, const Balance& b) {
  const double denominator = l.total + b.storage + b.well, constant = b.constant + l.source;
  for (int f = 0; f < kFaces; ++f) {
    if (l.row[f] < 0) continue;
    double rhs = l.row_sum[f] / denominator * constant;
    std::size_t entry = entries_of(l.row[f], f == kTopFace || (f < 3 && second(i, f)));
    for (int g = 0; g < kFaces; ++g) {
      const double value = l.t[f][g] - l.row_sum[f] * l.row_sum[g] / denominator;
      rhs += l.t[f][g] * l.drive[g];
      if (l.row[g] == known) rhs -= value * *l.pi[g];
      if (l.row[g] >= 0) add(l.row[f], l.row[g], value, f == g ? 0 : entry++);
    }
    add_rhs(l.row[f], rhs);
    if (b.by_rate) {
      const double coupling = -b.well * l.row_sum[f] / denominator;
      system_.extra.push_back({l.row[f], well_row(b.completion->well), coupling});
      system_.extra.push_back({well_row(b.completion->well), l.row[f], coupling});
    }
  }
  if (!b.by_rate) return;
  const std::int32_t row = well_row(b.completion->well);
  system_.extra.push_back({row, row, b.well * (1 - b.well / denominator)});
  double rhs = b.well * (constant / denominator - b.completion->head);
  for (int g = 0; g < kFaces; ++g)
    if (l.row[g] == known) rhs += b.well * l.row_sum[g] / denominator * *l.pi[g];
  system_.extra_rhs.push_back({row, rhs});
}

// The balance of the prism as above; the other triangle's adds to the same row.
void Pressure::scatter_block(std::size_t i, std::size_t z, const BlockFlow::Star& s, const Balance& b) {
  double diagonal = b.storage + b.well, rhs = b.constant;
  std::size_t vertical = 1, entry = entries_of(s.row, second(i, kHypotenuse));
  // Legs' entries come after those above and below.
  if (!second(i, kHypotenuse)) entry += (z > 0 ? 1U : 0U) + (z + 1 < columns_.nz() ? 1U : 0U);
  for (const int f : {kTopFace, kBottomFace, 0, 1}) {
    diagonal += s.flow[f];
    rhs -= s.flow[f] * s.drive[f];
    if (s.beyond[f] == known) rhs += s.flow[f] * pressure_beyond(i, z, f);
    if (s.beyond[f] < 0) continue;
    add(s.row, s.beyond[f], -s.flow[f], f < kHypotenuse ? entry++ : vertical++);
    if (f < kHypotenuse && unknowns_.edge_row[static_cast<std::size_t>(columns_.slot(i, f) / 2)] >= 0) {
      add(s.beyond[f], s.beyond[f], s.flow[f], 0);
      add(s.beyond[f], s.row, -s.flow[f], entries_of(s.beyond[f], second(i, f)));
    }
  }
  add(s.row, s.row, diagonal, 0);
  add_rhs(s.row, rhs);
  if (!b.by_rate) return;
  const std::int32_t row = well_row(b.completion->well);
  system_.extra.push_back({s.row, row, -b.well});
  system_.extra.push_back({row, s.row, -b.well});
  system_.extra.push_back({row, row, b.well});
  system_.extra_rhs.push_back({row, -b.well * b.completion->head});
}

}  // namespace spe10
