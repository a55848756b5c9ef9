// SPDX-License-Identifier: Apache-2.0
// What the local edges of a cell have of its level and direction: tables of what builds edges and shapes.
#pragma once
#include <array>
#include <cstdint>

#include "apps/mesh/leaf.hpp"
#include "apps/mesh/topology.hpp"

namespace mesh {

// The right angle lies right of ac on even levels: ab turns clockwise from ac and bc counter-clockwise.
constexpr int direction_of_ab(int direction, int level) { return (direction + (level % 2 == 0 ? 7 : 1)) % 8; }
constexpr int direction_of_bc(int direction, int level) { return (direction + (level % 2 == 0 ? 1 : 7)) % 8; }

// What the local edges of a cell have of its level and direction, whatever its neighbours are.
struct CellEdge {
  std::uint16_t shape;  // seen from this cell as left cell; not a leg of both cells
  std::int32_t y_sum;   // sum of the end points' y, less 2 b.y
};

inline constexpr int kDirections = EdgeShape::directions;
using CellEdges = std::array<CellEdge, 3>;  // ab, bc, ac

constexpr CellEdges edges_of_cell(int level, int direction) {
  const int ab = direction_of_ab(direction, level), bc = direction_of_bc(direction, level);
  const std::int32_t leg = EdgeShape::extent(level + 1);
  const std::int32_t a = -direction_vector(ab).y * leg, c = direction_vector(bc).y * leg;
  // (a, b, c) runs counter-clockwise on even levels; there ac is passed from c to a.
  const int back = kDirections / 2, along_legs = level % 2 == 0 ? 0 : back, along_ac = back - along_legs;
  const auto shape = [](int edge_level, int towards) {
    return EdgeShape::encode(edge_level, towards % kDirections, false);
  };
  return {{{shape(level + 1, ab + along_legs), a},
           {shape(level + 1, bc + along_legs), c},
           {shape(level, direction + along_ac), a + c}}};
}

inline constexpr auto kCellEdges = [] {
  std::array<std::array<CellEdges, kDirections>, kMaxLevel + 1> table{};
  for (int level = 0; level <= kMaxLevel; ++level)
    for (int direction = 0; direction < kDirections; ++direction)
      table[level][direction] = edges_of_cell(level, direction);
  return table;
}();

inline int hypotenuse_level(int level, int local) { return local == 2 ? level : level + 1; }

}  // namespace mesh
