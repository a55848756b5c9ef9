#include "apps/mesh/topology.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <string>

namespace mesh {
namespace {

// Where the cell across an edge lies on the curve.
enum Side : std::uint8_t { earlier, later, other_root };

struct Node {
  Triangle t;
  std::array<std::uint8_t, 3> across;  // Side of ab, bc, ac
  std::uint8_t enter, leave;           // local edges crossed by the curve on its way in and out
};

Node root_node(const Domain& domain, std::uint32_t root) {
  return {domain.root_triangle(root), {other_root, other_root, other_root}, 0, 1};
}

Node child_node(const Node& n, int which) {
  const Point m = midpoint(n.t.a, n.t.c);
  if (which == 0)
    return {{n.t.a, m, n.t.b}, {n.across[2], later, n.across[0]}, std::uint8_t(n.enter == 0 ? 2 : 0), 1};
  return {{n.t.b, m, n.t.c}, {earlier, n.across[2], n.across[1]}, 0, std::uint8_t(n.leave == 1 ? 2 : 1)};
}

struct OpenEdge {
  std::int32_t edge;
  ExternalEdge end;  // what it becomes if it never closes
  bool is_leg;
};

class Pass {
 public:
  Pass(std::span<const Leaf> leaves, LocalTopology& out) : leaves_(leaves), out_(out) {
    const std::size_t n = leaves.size();
    out.edges.clear();
    out.external.clear();
    const std::size_t room = n + n / 2 + 64;
    out.edges.left.resize(room);
    out.edges.right.resize(room);
    out.edges.shape.resize(room);
    out.edges.y_sum.resize(room);
    out.cell_slots.resize(3 * n);
    out.cell_shape.resize(n);
    out.cell_y_sum.resize(n);
  }

  void visit(std::size_t i, const Node& node, bool joined_before, bool joined_after) {
    const int level = leaves_[i].level();
    const auto cell = static_cast<std::int32_t>(i);
    const Point dir = node.t.c - node.t.a;
    out_.cell_shape[i] = static_cast<std::uint8_t>(EdgeShape::direction(EdgeShape::encode(0, dir, false)));
    out_.cell_y_sum[i] = node.t.a.y + node.t.b.y + node.t.c.y;
    // The edge that the curve does not cross; it lies on the outside of the turn.
    const int color = 3 - node.enter - node.leave;
    const bool b_left = level % 2 == 1;
    const bool through_legs = color == 2;
    auto& stack = through_legs == b_left ? right_ : left_;

    if (joined_before) close(cell, level, node.enter, crossing_);
    else add_external(cell, level, node, node.enter);

    if (node.across[color] == later) stack.push_back(open(cell, level, node, color));
    else if (node.across[color] == earlier && !stack.empty()) {
      close(cell, level, color, stack.back());
      stack.pop_back();
    } else add_external(cell, level, node, color);

    if (joined_after) crossing_ = open(cell, level, node, node.leave);
    else add_external(cell, level, node, node.leave);
  }

  // Edges still open belong to cells after this interval: they leave the list, the last edges fill the holes.
  void finish() {
    auto& e = out_.edges;
    std::vector<OpenEdge> unclosed(left_);
    unclosed.insert(unclosed.end(), right_.begin(), right_.end());
    std::sort(unclosed.begin(), unclosed.end(), [](auto& p, auto& q) { return p.edge > q.edge; });
    for (const OpenEdge& open : unclosed) {
      out_.external.push_back(open.end);
      const std::int32_t hole = open.edge, last = --count_;
      if (hole == last) continue;
      e.left[hole] = e.left[last], e.right[hole] = e.right[last];
      e.shape[hole] = e.shape[last], e.y_sum[hole] = e.y_sum[last];
      for (const auto& [cell, bit] : {std::pair{e.left[hole], 0}, std::pair{e.right[hole], 1}})
        for (int k = 0; k < 3; ++k)
          if (auto& slot = out_.cell_slots[3 * cell + k]; slot == 2 * last + bit) slot = 2 * hole + bit;
    }
    const auto count = static_cast<std::size_t>(count_);
    e.left.resize(count), e.right.resize(count), e.shape.resize(count), e.y_sum.resize(count);
    e.interior = count;
  }

 private:
  static int hypotenuse_level(int level, int local) { return local == 2 ? level : level + 1; }

  ExternalEdge external(std::int32_t cell, int level, const Node& node, int local) const {
    const auto edge = directed_edge(node.t, level, local);
    return {cell, local, edge[0], edge[1], hypotenuse_level(level, local)};
  }

  void add_external(std::int32_t cell, int level, const Node& node, int local) {
    out_.external.push_back(external(cell, level, node, local));
  }

  OpenEdge open(std::int32_t cell, int level, const Node& node, int local) {
    auto& e = out_.edges;
    const std::int32_t id = count_++;
    if (static_cast<std::size_t>(id) >= e.left.size()) grow();
    const ExternalEdge end = external(cell, level, node, local);
    e.left[id] = cell;
    e.shape[id] = EdgeShape::encode(end.hypotenuse_level, end.to - end.from, false);
    e.y_sum[id] = end.from.y + end.to.y;
    out_.cell_slots[3 * cell + local] = 2 * id;
    return {id, end, local != 2};
  }

  void close(std::int32_t cell, int level, int local, const OpenEdge& open) {
    if (open.end.hypotenuse_level != hypotenuse_level(level, local))
      throw std::logic_error("mesh: cells " + std::to_string(open.end.cell) + " and " + std::to_string(cell) +
                             " do not meet in one edge: the leaves are not conforming");
    out_.edges.right[open.edge] = cell;
    if (open.is_leg && local != 2) out_.edges.shape[open.edge] |= 1;
    out_.cell_slots[3 * cell + local] = 2 * open.edge + 1;
  }

  void grow() {
    auto& e = out_.edges;
    const std::size_t room = 2 * e.left.size();
    e.left.resize(room), e.right.resize(room), e.shape.resize(room), e.y_sum.resize(room);
  }

  std::span<const Leaf> leaves_;
  LocalTopology& out_;
  std::vector<OpenEdge> left_, right_;
  OpenEdge crossing_{};
  std::int32_t count_ = 0;
};

}  // namespace

void build_local_topology(const Domain& domain, std::span<const Leaf> leaves, LocalTopology& topology) {
  Pass pass(leaves, topology);
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
    for (; level < leaf.level(); ++level) path[level + 1] = child_node(path[level], leaf.branch(level + 1));
    pass.visit(i, path[leaf.level()], joined_before, joined_after);
  }
  pass.finish();
}

}  // namespace mesh
