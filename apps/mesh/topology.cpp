#include "apps/mesh/topology.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

namespace mesh {
namespace {

// Where the cell across an edge lies on the curve.
enum Side : std::uint8_t { earlier, later, other_root };

struct Node {
  Triangle t;
  std::array<std::uint8_t, 3> across;  // Side of ab, bc, ac
  std::uint8_t enter, leave;           // local edges crossed by the curve on its way in and out
  std::uint8_t direction;              // of c - a
};

Node root_node(const Domain& domain, std::uint32_t root) {
  const Triangle t = domain.root_triangle(root);
  return {t, {other_root, other_root, other_root}, 0, 1, static_cast<std::uint8_t>(direction_of(t.c - t.a))};
}

// The right angle lies right of ac on even levels: ab turns clockwise from ac and bc counter-clockwise.
std::uint8_t turned(std::uint8_t direction, int level, bool clockwise_on_even) {
  return static_cast<std::uint8_t>((direction + ((level % 2 == 0) == clockwise_on_even ? 7 : 1)) % 8);
}

Node child_node(const Node& n, int level, int which) {
  const Point m = midpoint(n.t.a, n.t.c);
  if (which == 0)
    return {{n.t.a, m, n.t.b},
            {n.across[2], later, n.across[0]},
            std::uint8_t(n.enter == 0 ? 2 : 0),
            1,
            turned(n.direction, level, true)};
  return {{n.t.b, m, n.t.c},
          {earlier, n.across[2], n.across[1]},
          0,
          std::uint8_t(n.leave == 1 ? 2 : 1),
          turned(n.direction, level, false)};
}

// Direction of the local edges seen counter-clockwise around the cell, relative to c - a, on even and odd
// levels.
constexpr std::uint8_t edge_turn[2][3] = {{7, 1, 4}, {5, 3, 0}};

class Pass {
 public:
  Pass(const Domain& domain, std::span<const Leaf> leaves, LocalTopology& out)
      : domain_(domain), leaves_(leaves), out_(out) {
    const std::size_t n = leaves.size();
    out.external.clear();
    // Each cell opens at most two edges (the one it is entered by is already open, or external).
    for_edges([room = 2 * n](auto& field) {
      if (field.size() < room) field.resize(room);
    });
    out.cell_slots.resize(3 * n);
    out.cell_shape.resize(n);
    out.cell_y_sum.resize(n);
    left_of_ = out.edges.left.data(), right_of_ = out.edges.right.data();
    shape_ = out.edges.shape.data(), y_sum_ = out.edges.y_sum.data(), slots_ = out.cell_slots.data();
  }

  void visit(std::size_t i, const Node& node, bool joined_before, bool joined_after) {
    const int level = leaves_[i].level();
    const auto cell = static_cast<std::int32_t>(i);
    out_.cell_shape[i] = node.direction;
    out_.cell_y_sum[i] = node.t.a.y + node.t.b.y + node.t.c.y;
    // The edge that the curve does not cross; it lies on the outside of the turn.
    const int color = 3 - node.enter - node.leave;
    const bool b_left = level % 2 == 1;
    const bool through_legs = color == 2;
    auto& stack = through_legs == b_left ? right_ : left_;

    if (joined_before)
      close(cell, level, node.enter, crossing_);
    else
      add_external(cell, level, node.t, node.enter);

    if (node.across[color] == later) {
      stack.push_back(open(cell, level, node, color));
    } else if (node.across[color] == earlier && !stack.empty()) {
      close(cell, level, color, stack.back());
      stack.pop_back();
    } else {
      add_external(cell, level, node.t, color);
    }

    if (joined_after)
      crossing_ = open(cell, level, node, node.leave);
    else
      add_external(cell, level, node.t, node.leave);
  }

  // Edges still open belong to cells after this interval: they leave the list, the last edges fill the holes.
  void finish() {
    std::vector<OpenEdge> unclosed(left_);
    unclosed.insert(unclosed.end(), right_.begin(), right_.end());
    std::sort(unclosed.begin(), unclosed.end(), std::greater<>());
    for (const OpenEdge open : unclosed) {
      const std::int32_t hole = open / 2, cell = left_of_[hole];
      const Leaf leaf = leaves_[static_cast<std::size_t>(cell)];
      for (int k = 0; k < 3; ++k)
        if (slots_[3 * cell + k] == 2 * hole) add_external(cell, leaf.level(), domain_.triangle(leaf), k);
      const std::int32_t last = --count_;
      if (hole == last) continue;
      for_edges([=](auto& field) {
        field[static_cast<std::size_t>(hole)] = field[static_cast<std::size_t>(last)];
      });
      for (const auto& [moved, bit] : {std::pair{left_of_[hole], 0}, std::pair{right_of_[hole], 1}})
        for (int k = 0; k < 3; ++k)
          if (auto& slot = slots_[3 * moved + k]; slot == 2 * last + bit) slot = 2 * hole + bit;
    }
    for_edges([this](auto& field) { field.resize(static_cast<std::size_t>(count_)); });
    out_.edges.interior = static_cast<std::size_t>(count_);
  }

 private:
  using OpenEdge = std::int32_t;  // 2 * edge + (1 if it is a leg of its left cell)

  template <class Action>
  void for_edges(Action action) {
    action(out_.edges.left), action(out_.edges.right), action(out_.edges.shape), action(out_.edges.y_sum);
  }

  static int hypotenuse_level(int level, int local) { return local == 2 ? level : level + 1; }

  void add_external(std::int32_t cell, int level, const Triangle& t, int local) {
    const auto edge = directed_edge(t, level, local);
    slots_[3 * cell + local] = -1;  // until it is resolved
    out_.external.push_back({cell, local, edge[0], edge[1], hypotenuse_level(level, local)});
  }

  OpenEdge open(std::int32_t cell, int level, const Node& node, int local) {
    const std::int32_t id = count_++;
    left_of_[id] = cell;
    const int direction = (node.direction + edge_turn[level % 2][local]) % 8;
    shape_[id] = EdgeShape::encode(hypotenuse_level(level, local), direction, false);
    const auto& t = node.t;
    y_sum_[id] = out_.cell_y_sum[static_cast<std::size_t>(cell)] - (local == 0   ? t.c.y
                                                                    : local == 1 ? t.a.y
                                                                                 : t.b.y);
    slots_[3 * cell + local] = 2 * id;
    return 2 * id + (local != 2);
  }

  void close(std::int32_t cell, int level, int local, OpenEdge open) {
    const std::int32_t id = open / 2;
    if (EdgeShape::level(shape_[id]) != hypotenuse_level(level, local))
      throw std::logic_error("mesh: cells " + std::to_string(left_of_[id]) + " and " + std::to_string(cell) +
                             " do not meet in one edge: the leaves are not conforming");
    right_of_[id] = cell;
    if ((open & 1) != 0 && local != 2) shape_[id] |= 1;
    slots_[3 * cell + local] = 2 * id + 1;
  }

  const Domain& domain_;
  std::span<const Leaf> leaves_;
  LocalTopology& out_;
  std::int32_t *left_of_, *right_of_, *y_sum_, *slots_;
  std::uint16_t* shape_;
  std::vector<OpenEdge> left_, right_;
  OpenEdge crossing_ = 0;
  std::int32_t count_ = 0;
};

}  // namespace

void build_local_topology(const Domain& domain, std::span<const Leaf> leaves, LocalTopology& topology) {
  Pass pass(domain, leaves, topology);
  std::array<Node, max_level + 1> path;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Leaf leaf = leaves[i];
    const bool joined_before = i > 0 && leaves[i - 1].root() == leaf.root();
    const bool joined_after = i + 1 < leaves.size() && leaves[i + 1].root() == leaf.root();
    int level = 0;  // deepest ancestor shared with the previous leaf
    if (joined_before) {
      const int highest = 63 - std::countl_zero(leaves[i - 1].key() ^ leaf.key());
      level = path_top - highest - 1;
    } else {
      path[0] = root_node(domain, leaf.root());
    }
    for (; level < leaf.level(); ++level)
      path[level + 1] = child_node(path[level], level, leaf.branch(level + 1));
    pass.visit(i, path[leaf.level()], joined_before, joined_after);
  }
  pass.finish();
}

}  // namespace mesh
