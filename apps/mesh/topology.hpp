// SPDX-License-Identifier: Apache-2.0
// Edges of one rank's interval of leaves, found by one pass along the Sierpinski curve with two stacks: an
// edge is either crossed by the curve (it joins consecutive leaves) or lies to its left or right, where edges
// close in last-in-first-out order (Bader et al., "Memory efficient adaptive mesh generation and
// implementation of multigrid algorithms using Sierpinski curves", 2010). What the pass cannot close (edges
// of root triangles and of the interval's ends) is returned as external and resolved by point location.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "apps/mesh/leaf.hpp"
#include "apps/mesh/run.hpp"

namespace mesh {

// The eight directions of edges, in steps of 45 degrees from east, counter-clockwise (in units, before
// stretching).
inline int direction_of(Point v) {
  if (v.y == 0) return v.x > 0 ? 0 : 4;
  if (v.x == 0) return v.y > 0 ? 2 : 6;
  return v.y > 0 ? (v.x > 0 ? 1 : 3) : (v.x > 0 ? 7 : 5);
}
constexpr Point direction_vector(int direction) {
  constexpr std::int32_t x[] = {1, 1, 0, -1, -1, -1, 0, 1};
  return {x[direction], x[(direction + 6) % 8]};
}

// Geometry of an edge up to its position: the level at which it is a hypotenuse, the direction of the edge
// seen counter-clockwise from its left cell, and whether it is a leg of both cells (then both are larger than
// usual).
struct EdgeShape {
  static constexpr int directions = 8;
  static constexpr int per_level = 2 * directions;
  static constexpr std::uint16_t encode(int hypotenuse_level, int direction, bool leg_of_both) {
    return static_cast<std::uint16_t>(hypotenuse_level * per_level + direction * 2 + (leg_of_both ? 1 : 0));
  }
  static int level(std::uint16_t shape) { return shape / per_level; }
  static int direction(std::uint16_t shape) { return shape / 2 % directions; }
  static bool leg_of_both(std::uint16_t shape) { return shape % 2 == 1; }
  // Length of the longer coordinate difference of an edge that is a hypotenuse on this level, in units.
  static constexpr std::int32_t extent(int level) {
    return level % 2 == 0 ? kSide >> (level / 2) : kSide >> ((level - 1) / 2);
  }
};

// Numbers for edges that are alike: of one shape, and, for who stretches the mesh by latitude, in one row.
struct EdgeClasses {
  std::array<std::int32_t, kMaxLevel + 2> begin;     // per EdgeShape::level(); multiples of per_level
  std::array<std::uint8_t, kMaxLevel + 2> row_bits;  // of the sum of the end points' y, that rows do not see

  std::int32_t of(std::uint16_t shape, std::int32_t y_sum) const {
    const auto level = static_cast<std::size_t>(EdgeShape::level(shape));
    return begin[level] + (y_sum >> row_bits[level]) * EdgeShape::per_level + shape % EdgeShape::per_level;
  }
  // The shapes themselves.
  static constexpr EdgeClasses without_rows() {
    EdgeClasses classes{};
    for (std::size_t level = 0; level < classes.begin.size(); ++level) {
      classes.begin[level] = static_cast<std::int32_t>(level) * EdgeShape::per_level;
      classes.row_bits[level] = 31;
    }
    return classes;
  }
};

// Cells of one section of the curve: what a pass over them needs fits a cache of 1 MB.
inline constexpr std::int32_t kSectionCells = 2048;

// Flat edge list. Cells 0..n-1 are this rank's leaves, then come one halo cell per halo edge and one exterior
// cell per boundary edge. `left` is always the cell with the smaller key (the interior cell on the boundary),
// so an edge is oriented the same way on every rank. Order: interior edges by first touch, halo edges,
// boundary edges.
struct Edges {
  std::vector<std::int32_t> left, right;
  std::vector<std::int32_t> classes;
  std::size_t interior = 0;
  // Per section of kSectionCells cells: from which edge on (up to the next section's) its cells are left
  // cells. That holds for nearly all edges; nothing may depend on it but speed.
  std::vector<std::int32_t> sections;
  std::size_t size() const { return left.size(); }
};

struct ExternalEdge {
  std::int32_t cell = 0;
  std::int32_t local = 0;  // 0: ab, 1: bc, 2: ac
  Point from, to;          // counter-clockwise around the cell
  std::int32_t hypotenuse_level = 0;
};

// What follows from a leaf alone, whatever its neighbours are: cells that an adaption keeps keep it.
struct CellShape {
  enum Place : std::uint8_t { earlier, later, other_root };  // on the curve

  std::int32_t b_y, y_sum;  // y of the right angle; a.y + b.y + c.y
  std::uint8_t direction;   // of c - a
  std::uint8_t side;        // the local edge that the curve does not cross
  Place beyond_side;        // where the cell across that edge lies

  // The local edges by which the curve comes and goes.
  int enter() const { return side == 0 ? 2 : 0; }
  int leave() const { return side == 1 ? 2 : 1; }
};

// Of the children of a leaf, and of the parent of two siblings, the first of which is `first`.
CellShape child_shape(Leaf leaf, const CellShape& shape, int which);
CellShape parent_shape(Leaf first, const CellShape& of_first, const CellShape& of_second);

// Shapes and triangles of leaves, found along the paths from the roots. Fast for leaves asked for in curve
// order: only the part of the path that differs from the last leaf's is walked.
class LeafWalk {
 public:
  explicit LeafWalk(const Domain& domain) : domain_(domain) {}
  CellShape shape(Leaf leaf);
  Triangle triangle(Leaf leaf) { return at(leaf).t; }

 private:
  struct Node {
    Triangle t;
    std::array<CellShape::Place, 3> beyond;  // of the cells across ab, bc, ac
    std::uint8_t direction, side;            // as in CellShape
  };
  const Node& at(Leaf leaf);
  Node root_node(std::uint32_t root) const;
  static Node child_node(const Node& n, int level, int which);

  Domain domain_;
  std::array<Node, kMaxLevel + 1> path_;  // valid down to last_
  std::optional<Leaf> last_;
};

// What the pass along the curve finds out about an interval of leaves.
struct LocalTopology {
  Edges edges;
  std::vector<std::int32_t> cell_slots;  // 3 per cell, local order ab, bc, ac: 2 * edge + (0 left | 1 right)
  EdgeClasses classes = EdgeClasses::without_rows();  // given
  std::int32_t on_curve = 0;                          // the first edges: those that the pass has found
  std::vector<ExternalEdge> external;
  std::vector<std::int32_t> open;  // the pass's two stacks, one from each end; kept for its memory
};

// Rebuilds `topology` (reusing its memory) for sorted, gap-free leaves and their shapes. Local, O(n).
void build_local_topology(const Domain& domain, std::span<const Leaf> leaves,
                          std::span<const CellShape> shapes, LocalTopology& topology);

// The same, edge by edge, after an adaption of the interval that `topology` is of. Local; what cells that
// stayed beside each other have in common is moved and not found anew.
void update_local_topology(const Domain& domain, std::span<const Leaf> leaves,
                           std::span<const CellShape> shapes, std::span<const Run> runs,
                           LocalTopology& topology);

}  // namespace mesh
