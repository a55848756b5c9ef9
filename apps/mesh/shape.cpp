// SPDX-License-Identifier: Apache-2.0
// Shapes of cells: topology.hpp.
#include <algorithm>
#include <bit>

#include "apps/mesh/cell_edges.hpp"
#include "apps/mesh/topology.hpp"

namespace mesh {

CellShape child_shape(Leaf leaf, const CellShape& shape, int which) {
  const auto& edges = kCellEdges[leaf.level()][shape.direction];
  const std::int32_t a = shape.b_y + edges[0].y_sum, c = shape.b_y + edges[1].y_sum, m = (a + c) >> 1;
  const Leaf root = Leaf::of_root(leaf.root());
  const auto beyond_ac = shape.side == 2 ? shape.beyond_side
                         : which == 0
                             ? (leaf.key_end() == root.key_end() ? CellShape::other_root : CellShape::later)
                         : leaf.key() == root.key() ? CellShape::other_root
                                                    : CellShape::earlier;
  const bool along_side = shape.side == which;  // the leg that is the child's hypotenuse
  const int direction = which == 0 ? direction_of_ab(shape.direction, leaf.level())
                                   : direction_of_bc(shape.direction, leaf.level());
  return {m, (which == 0 ? a : c) + m + shape.b_y, static_cast<std::uint8_t>(direction),
          static_cast<std::uint8_t>(along_side ? 2 : which), along_side ? shape.beyond_side : beyond_ac};
}

CellShape parent_shape(Leaf first, const CellShape& of_first, const CellShape& of_second) {
  const int level = first.level();
  const auto& edges = kCellEdges[level][of_first.direction];
  // The first child is (a, m, b), the second one (b, m, c), with the mid point m of ac.
  const std::int32_t m = of_first.b_y, a = m + edges[0].y_sum, b = m + edges[1].y_sum;
  const int side = of_first.side == 2 ? 0 : of_second.side == 2 ? 1 : 2;
  return {b, a + b + (2 * m - a), static_cast<std::uint8_t>(direction_of_ab(of_first.direction, level)),
          static_cast<std::uint8_t>(side), side == 1 ? of_second.beyond_side : of_first.beyond_side};
}

LeafWalk::Node LeafWalk::root_node(std::uint32_t root) const {
  constexpr auto other = CellShape::other_root;
  const Triangle t = domain_.root_triangle(root);
  return {t, {other, other, other}, static_cast<std::uint8_t>(direction_of(t.c - t.a)), 2};
}

LeafWalk::Node LeafWalk::child_node(const Node& n, int level, int which) {
  if (which == 0)
    return {n.t.child(0),
            {n.beyond[2], CellShape::later, n.beyond[0]},
            static_cast<std::uint8_t>(direction_of_ab(n.direction, level)),
            static_cast<std::uint8_t>(n.side == 0 ? 2 : 0)};
  return {n.t.child(1),
          {CellShape::earlier, n.beyond[2], n.beyond[1]},
          static_cast<std::uint8_t>(direction_of_bc(n.direction, level)),
          static_cast<std::uint8_t>(n.side == 1 ? 2 : 1)};
}

const LeafWalk::Node& LeafWalk::at(Leaf leaf) {
  int level = 0;  // deepest ancestor shared with the last leaf
  if (last_ && last_->root() == leaf.root())
    level = std::min(
        {std::countl_zero(last_->key() ^ leaf.key()) - (64 - kPathTop), last_->level(), leaf.level()});
  else
    path_[0] = root_node(leaf.root());
  for (; level < leaf.level(); ++level)
    path_[level + 1] = child_node(path_[level], level, leaf.branch(level + 1));
  last_ = leaf;
  return path_[level];
}

CellShape LeafWalk::shape(Leaf leaf) {
  const Node& n = at(leaf);
  return {n.t.b.y, n.t.a.y + n.t.b.y + n.t.c.y, n.direction, n.side, n.beyond[n.side]};
}

}  // namespace mesh
