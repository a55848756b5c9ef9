// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/solver/block_flow.hpp"

#include <algorithm>

#include "apps/spe10/model/fluid.hpp"

namespace spe10 {

// Resistances on both sides add up, in whichever order.
void BlockFlow::prepare(std::span<const double> mobility) {
  const mesh::Edges& edges = columns_.mesh.edges();
  const std::size_t nz = columns_.nz();
  between_.assign(edges.size() * nz, 0);
  for (std::size_t i = 0; i < columns_.own(); ++i) {
    if (columns_.in_block[i] == 0) continue;
    for (int k = 0; k < kHypotenuse; ++k) {
      const auto edge = static_cast<std::size_t>(columns_.slot(i, k) / 2);
      if (unknowns_.edge_row[edge] != Unknowns::joined) continue;
      for (std::size_t z = 0; z < nz; ++z) {
        if (!columns_.open(edge, z)) continue;
        const std::size_t prism = columns_.at(i, z);
        between_[edge * nz + z] +=
            1 / (kDarcy * mobility[prism] *
                 leg_transmissibility(columns_.shape[i], k, columns_.frame.dz, columns_.rock[prism]));
      }
    }
  }
  const std::vector<double> others = columns_.exchange_edges(between_);
  for (std::size_t k = 0; k < others.size(); ++k) between_[edges.interior * nz + k] += others[k];
  for (double& value : between_) value = value > 0 ? 1 / value : 0;
}

double BlockFlow::vertical(std::size_t column, std::size_t z, double mobility) const {
  return kDarcy * mobility *
         vertical_transmissibility(columns_.shape[column], columns_.frame.dz,
                                   columns_.rock[columns_.at(column, z)]);
}

BlockFlow::Star BlockFlow::star(std::size_t i, std::size_t z, std::span<const double> mobility,
                                std::span<const double> weight) const {
  const std::size_t nz = columns_.nz(), prism = columns_.at(i, z);
  const auto layer = static_cast<std::int32_t>(z);
  Star s{};
  s.row = unknowns_.block_row[i] + layer;
  for (int k = 0; k < kHypotenuse; ++k) {
    const auto edge = static_cast<std::size_t>(columns_.slot(i, k) / 2);
    const std::int32_t beyond = unknowns_.beyond(columns_, i, k);
    s.beyond[k] = beyond < 0 ? beyond : beyond + layer;
    if (unknowns_.edge_row[edge] == Unknowns::joined)
      s.flow[k] = between_[edge * nz + z];
    else if (beyond != Unknowns::closed && columns_.open(edge, z))
      s.flow[k] = kDarcy * mobility[prism] *
                  leg_transmissibility(columns_.shape[i], k, columns_.frame.dz, columns_.rock[prism]);
  }
  s.beyond[kHypotenuse] = Unknowns::closed;
  const double here = vertical(i, z, mobility[prism]), half = 0.5 * columns_.frame.dz;
  const auto upright = [&](int face, bool inner, int border, std::size_t next, int sign) {
    const double direction = face == kTopFace ? -half : half;
    if (inner) {
      const std::size_t other = columns_.at(i, next);
      s.beyond[face] = s.row + sign;
      if (columns_.active[prism] != 0 && columns_.active[other] != 0)
        s.flow[face] = 1 / (1 / here + 1 / vertical(i, next, mobility[other]));
      s.drive[face] = direction * (weight[prism] + weight[other]);
    } else if (borders_[static_cast<std::size_t>(border)].open()) {
      s.beyond[face] = Unknowns::known;
      s.flow[face] = here;
      s.drive[face] = direction * weight[prism];
    } else {
      s.beyond[face] = Unknowns::closed;
    }
  };
  upright(kTopFace, z > 0, kBorderTop, z - 1, -1);
  upright(kBottomFace, z + 1 < nz, kBorderBottom, z + 1, 1);
  return s;
}

}  // namespace spe10
