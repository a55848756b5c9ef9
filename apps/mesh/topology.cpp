// SPDX-License-Identifier: Apache-2.0
#include "apps/mesh/topology.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "apps/mesh/tight.hpp"

namespace mesh {
namespace {

// The right angle lies right of ac on even levels: ab turns clockwise from ac and bc counter-clockwise.
constexpr int direction_of_ab(int direction, int level) { return (direction + (level % 2 == 0 ? 7 : 1)) % 8; }
constexpr int direction_of_bc(int direction, int level) { return (direction + (level % 2 == 0 ? 1 : 7)) % 8; }

// What the local edges of a cell have of its level and direction, whatever its neighbours are.
struct CellEdge {
  std::uint16_t shape;  // seen from this cell as left cell; not a leg of both cells
  std::int32_t y_sum;   // sum of the end points' y, less 2 b.y
};

constexpr int kDirections = EdgeShape::directions;
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

constexpr auto kCellEdges = [] {
  std::array<std::array<CellEdges, kDirections>, kMaxLevel + 1> table{};
  for (int level = 0; level <= kMaxLevel; ++level)
    for (int direction = 0; direction < kDirections; ++direction)
      table[level][direction] = edges_of_cell(level, direction);
  return table;
}();

int hypotenuse_level(int level, int local) { return local == 2 ? level : level + 1; }

class Pass {
 public:
  Pass(std::span<const Leaf> leaves, std::span<const CellShape> shapes, LocalTopology& out)
      : leaves_(leaves), shapes_(shapes), out_(out) {
    const std::size_t n = leaves.size();
    // Every cell opens the edge to the next cell and its side edge, if that is not open yet.
    for_edge_fields([room = 2 * n](auto& field) {
      if (field.size() < room) resize_tight(field, room);
    });
    resize_tight(out.cell_slots, 3 * n);
    // At most one of each cell waits on the stacks.
    if (out.open.size() < n) resize_tight(out.open, n);
    top_[0] = bottom_[0] = out.open.data();
    top_[1] = bottom_[1] = out.open.data() + out.open.size();
    out.edges.sections.clear();
    left_of_ = out.edges.left.data(), right_of_ = out.edges.right.data();
    shape_ = out.edges.shape.data(), y_sum_ = out.edges.y_sum.data(), slots_ = out.cell_slots.data();
  }

  void visit(std::int32_t cell, bool joined_before, bool joined_after) {
    if (cell % kSectionCells == 0) out_.edges.sections.push_back(count_);
    const CellShape shape = shapes_[static_cast<std::size_t>(cell)];
    const int level = leaves_[static_cast<std::size_t>(cell)].level();
    if (joined_before)
      close(cell, level, shape.enter(), crossing_);
    else
      mark_external(cell, shape.enter());

    // The side edge lies on the outside of the curve's turn.
    const int stack = (shape.side == 2) == (level % 2 == 1);
    if (shape.beyond_side == CellShape::later)
      push(stack, open(cell, level, shape, shape.side));
    else if (shape.beyond_side == CellShape::earlier && top_[stack] != bottom_[stack])
      close(cell, level, shape.side, pop(stack));
    else
      mark_external(cell, shape.side);

    if (joined_after)
      crossing_ = open(cell, level, shape, shape.leave());
    else
      mark_external(cell, shape.leave());
  }

  // Edges still open belong to cells after this interval: they leave the list, the last edges fill the holes.
  void finish(const Domain& domain) {
    std::vector<OpenEdge> unclosed(bottom_[0], top_[0]);
    unclosed.insert(unclosed.end(), top_[1], bottom_[1]);
    std::ranges::sort(unclosed, std::greater<>());
    for (const OpenEdge open : unclosed) {
      const std::int32_t hole = open / 2, cell = left_of_[hole];
      mark_external(cell, shapes_[static_cast<std::size_t>(cell)].side);
      const std::int32_t last = --count_;
      if (hole == last) continue;
      for_edge_fields([=](auto& field) {
        field[static_cast<std::size_t>(hole)] = field[static_cast<std::size_t>(last)];
      });
      for (const auto& [moved, bit] : {std::pair{left_of_[hole], 0}, std::pair{right_of_[hole], 1}})
        for (int k = 0; k < 3; ++k)
          if (auto& slot = slots_[3 * moved + k]; slot == 2 * last + bit) slot = 2 * hole + bit;
    }
    for_edge_fields([this](auto& field) { field.resize(static_cast<std::size_t>(count_)); });
    out_.edges.interior = static_cast<std::size_t>(count_);
    for (std::int32_t& begin : out_.edges.sections) begin = std::min(begin, count_);
    out_.edges.sections.push_back(count_);
    describe_external(domain);
  }

 private:
  using OpenEdge = std::int32_t;  // 2 * edge + (1 if it is a leg of its left cell)

  template <class Action>
  void for_edge_fields(Action action) {
    action(out_.edges.left), action(out_.edges.right), action(out_.edges.shape), action(out_.edges.y_sum);
  }

  void push(int stack, OpenEdge edge) {
    if (stack == 0)
      *top_[0]++ = edge;
    else
      *--top_[1] = edge;
  }
  OpenEdge pop(int stack) { return stack == 0 ? *--top_[0] : *top_[1]++; }

  OpenEdge open(std::int32_t cell, int level, const CellShape& shape, int local) {
    const std::int32_t id = count_++;
    left_of_[id] = cell;
    const CellEdge& edge = kCellEdges[level][shape.direction][local];
    shape_[id] = edge.shape;
    y_sum_[id] = edge.y_sum + 2 * shape.b_y;
    slots_[3 * cell + local] = 2 * id;
    return 2 * id + (local != 2);
  }

  void close(std::int32_t cell, int level, int local, OpenEdge open) {
    const std::int32_t id = open / 2;
    if (EdgeShape::level(shape_[id]) != hypotenuse_level(level, local))
      throw std::logic_error("mesh: cells " + std::to_string(left_of_[id]) + " and " + std::to_string(cell) +
                             " do not meet in one edge: the leaves are not conforming");
    right_of_[id] = cell;
    if ((open & 1) != 0 && local != 2) shape_[id] |= EdgeShape::encode(0, 0, true);
    slots_[3 * cell + local] = 2 * id + 1;
  }

  void mark_external(std::int32_t cell, int local) {
    slots_[3 * cell + local] = -1;  // until it is resolved
    external_.push_back(3 * cell + local);
  }

  void describe_external(const Domain& domain) {
    std::ranges::sort(external_);
    LeafWalk walk(domain);
    out_.external.clear();
    for (const std::int32_t slot : external_) {
      const std::int32_t cell = slot / 3, local = slot % 3;
      const Leaf leaf = leaves_[static_cast<std::size_t>(cell)];
      const auto edge = directed_edge(walk.triangle(leaf), leaf.level(), local);
      out_.external.push_back({cell, local, edge[0], edge[1], hypotenuse_level(leaf.level(), local)});
    }
  }

  std::span<const Leaf> leaves_;
  std::span<const CellShape> shapes_;
  LocalTopology& out_;
  std::int32_t *left_of_, *right_of_, *y_sum_, *slots_;
  std::uint16_t* shape_;
  OpenEdge *top_[2], *bottom_[2];       // of the two stacks, which grow towards each other
  std::vector<std::int32_t> external_;  // 3 * cell + local edge
  OpenEdge crossing_ = 0;
  std::int32_t count_ = 0;
};

}  // namespace

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

void build_local_topology(const Domain& domain, std::span<const Leaf> leaves,
                          std::span<const CellShape> shapes, LocalTopology& topology) {
  Pass pass(leaves, shapes, topology);
  bool joined_before = false;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const bool joined_after = i + 1 < leaves.size() && leaves[i + 1].root() == leaves[i].root();
    pass.visit(static_cast<std::int32_t>(i), joined_before, joined_after);
    joined_before = joined_after;
  }
  pass.finish(domain);
}

}  // namespace mesh
