// SPDX-License-Identifier: Apache-2.0
// Linear states in cells, for the scheme of second order: the plane through the three neighbours' values. At
// a cell's faces that depends, as all affine things do, neither on directions and lengths nor on the
// latitude, but only on which edge of each neighbour the common edge is: 27 kinds of cells, one byte for
// each. (On the sphere, that takes the parallels around a cell as equally long as its own.)
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "apps/tsunami/solver/kernel.hpp"
#include "apps/tsunami/solver/section.hpp"

namespace swe {

// A cell that stays constant (beside an open border).
inline constexpr std::uint8_t kConstantCell = 27;
// Of the neighbours across ab, bc, ac: their local edge (0: ab, 1: bc, 2: ac) that is the common one.
constexpr std::uint8_t cell_kind(int across_ab, int across_bc, int across_ac) {
  return static_cast<std::uint8_t>(across_ab + 3 * across_bc + 9 * across_ac);
}
// What a wall has behind each of a cell's edges: the cell's mirror image.
inline constexpr std::array<int, 3> kMirrored = {1, 0, 2};

// Linear reconstruction of own cells: the plane through the three neighbours' values, cut back
//   - so that at no face a value passes the most distant of the neighbours' by more than half (Barth and
//     Jespersen, AIAA-89-0366; the half is what leaves linear functions alone on every conforming mesh),
//   - and the slopes of surface, bed and momentum together, so that at every face at least half of the mean
//     depth is left. Water at rest has no slope of its surface, whatever becomes of its bed.
// Dry cells, and those at the water's edge or at an open border, are constant.
// The section's cells, and those around it on the scratch's edges.
template <class Stored>
void reconstruct(const Physics& physics, const Fields<Stored>& cells, const Connections& c,
                 const Section& section, const FaceStates& faces);
// Single faces, wherever their cells are.
template <class Stored>
void reconstruct(const Physics& physics, const Fields<Stored>& cells, const Connections& c,
                 std::span<const FaceAt> faces, const FaceStates& states);

// For a cell that is refined: how much more its first child has of eta, hu and hv than itself, and how much
// more the first child of that child has than that. A first child's centroid lies a third of the way from the
// mid point of edge bc to that of ab further than its parent's; in that child, the way is from bc to ac.
using Slopes = std::array<double, 6>;
template <class Stored>
void find_slopes(const Physics& physics, const Fields<Stored>& cells, const Connections& c,
                 std::span<const std::int32_t> of, std::span<Slopes> slopes);

}  // namespace swe
