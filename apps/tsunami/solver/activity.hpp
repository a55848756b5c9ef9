// SPDX-License-Identifier: Apache-2.0
// How lively cells are, and what that asks of the mesh: loops over vectors, as most cells are alike.
#pragma once
#include <cstdint>
#include <span>

#include "apps/mesh/leaf.hpp"

namespace swe {

enum Activity : std::int8_t { calm, lively, refined };  // may coarsen, stays, must be fine

inline Activity activity_of(double value, double refine_above, double coarsen_below) {
  return value > refine_above ? refined : value > coarsen_below ? lively : calm;
}

// Of cells that are more than `dry` deep, by |eta - sea level|; the others are calm.
template <class Stored>
void mark_amplitudes(std::span<const Stored> eta, std::span<const Stored> b, double sea_level, double dry,
                     double refine_above, double coarsen_below, std::span<std::int8_t> marks);

// Turns activities into marks of mesh::Mesh::adapt(): 1 below level `finest`, -1 above level `coarsest`.
void mark_levels(std::span<const mesh::Leaf> leaves, int coarsest, int finest, std::span<std::int8_t> marks);

}  // namespace swe
