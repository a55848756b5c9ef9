// SPDX-License-Identifier: Apache-2.0
#include "apps/mesh/curve_pass.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "apps/mesh/cell_edges.hpp"
#include "apps/mesh/tight.hpp"

namespace mesh {
namespace {

// Of a class, too.
constexpr std::int32_t kLegOfBoth = EdgeShape::encode(0, 0, true);

template <class Action>
void for_edge_fields(Edges& edges, Action action) {
  action(edges.left), action(edges.right), action(edges.classes);
}

}  // namespace

std::int32_t first_edge(std::span<const std::int32_t> cell_slots, std::int32_t on_curve, std::int32_t cell) {
  for (std::size_t face = 3 * static_cast<std::size_t>(cell); face < cell_slots.size(); face += 3) {
    std::int32_t first = on_curve;
    for (std::size_t k = 0; k < 3; ++k)
      if (const std::int32_t slot = cell_slots[face + k]; slot >= 0 && slot % 2 == 0)
        first = std::min(first, slot / 2);
    if (first < on_curve) return first;
  }
  return on_curve;
}

CurvePass::CurvePass(std::span<const Leaf> leaves, std::span<const CellShape> shapes, std::size_t edges,
                     LocalTopology& out)
    : leaves_(leaves), shapes_(shapes), out_(out) {
  for_edge_fields(out.edges, [edges](auto& field) {
    if (field.size() < edges) resize_tight(field, edges);
  });
  if (out.cell_slots.size() < 3 * leaves.size()) resize_tight(out.cell_slots, 3 * leaves.size());
  // At most one of each cell waits on the stacks.
  if (out.open.size() < leaves.size()) resize_tight(out.open, leaves.size());
  top_[0] = bottom_[0] = out.open.data();
  top_[1] = bottom_[1] = out.open.data() + out.open.size();
  left_of_ = out.edges.left.data(), right_of_ = out.edges.right.data();
  class_ = out.edges.classes.data(), slots_ = out.cell_slots.data();
}

// The side edge lies on the outside of the curve's turn.
int CurvePass::stack_of(const CellShape& shape, int level) { return (shape.side == 2) == (level % 2 == 1); }

void CurvePass::push(int stack, OpenEdge edge) {
  if (stack == 0)
    *top_[0]++ = edge;
  else
    *--top_[1] = edge;
}

CurvePass::OpenEdge CurvePass::open(std::int32_t cell, int level, const CellShape& shape, int local) {
  const std::int32_t id = count_++;
  left_of_[id] = cell;
  const CellEdge& edge = kCellEdges[level][shape.direction][local];
  class_[id] = out_.classes.of(edge.shape, edge.y_sum + 2 * shape.b_y);
  slots_[3 * cell + local] = 2 * id;
  return 2 * id + (local != 2);
}

void CurvePass::close(std::int32_t cell, int level, int local, OpenEdge open) {
  const std::int32_t id = open / 2;
  const int opened_level = leaves_[static_cast<std::size_t>(left_of_[id])].level() + (open & 1);
  if (opened_level != hypotenuse_level(level, local))
    throw std::logic_error("mesh: cells " + std::to_string(left_of_[id]) + " and " + std::to_string(cell) +
                           " do not meet in one edge: the leaves are not conforming");
  right_of_[id] = cell;
  if ((open & 1) != 0 && local != 2) class_[id] |= kLegOfBoth;
  slots_[3 * cell + local] = 2 * id + 1;
}

void CurvePass::mark_external(std::int32_t cell, int local) {
  slots_[3 * cell + local] = -1;  // until it is resolved
  external_.push_back(3 * cell + local);
}

void CurvePass::visit(std::int32_t cell, unsigned outside) {
  const CellShape shape = shapes_[static_cast<std::size_t>(cell)];
  const int level = leaves_[static_cast<std::size_t>(cell)].level();
  const auto leads_out = [outside](int local) { return (outside >> local & 1) != 0; };
  if (leads_out(shape.enter()))
    mark_external(cell, shape.enter());
  else
    close(cell, level, shape.enter(), crossing_);

  const int stack = stack_of(shape, level);
  const bool has_neighbour = !leads_out(shape.side);
  if (has_neighbour && shape.beyond_side == CellShape::later)
    push(stack, open(cell, level, shape, shape.side));
  else if (has_neighbour && !is_empty(stack))
    close(cell, level, shape.side, pop(stack));
  else
    mark_external(cell, shape.side);

  if (leads_out(shape.leave()))
    mark_external(cell, shape.leave());
  else
    crossing_ = open(cell, level, shape, shape.leave());
}

void CurvePass::close_crossing(std::int32_t cell) {
  const auto i = static_cast<std::size_t>(cell);
  close(cell, leaves_[i].level(), shapes_[i].enter(), crossing_);
}

void CurvePass::close_side(std::int32_t cell) {
  const auto i = static_cast<std::size_t>(cell);
  const int level = leaves_[i].level(), stack = stack_of(shapes_[i], level);
  if (is_empty(stack))
    throw std::logic_error("mesh: no cell before cell " + std::to_string(cell) + " meets it");
  close(cell, level, shapes_[i].side, pop(stack));
}

void CurvePass::open_again(std::int32_t edge) {
  const std::int32_t cell = left_of_[edge];
  const auto i = static_cast<std::size_t>(cell);
  const CellShape& shape = shapes_[i];
  class_[edge] &= ~kLegOfBoth;
  const bool crosses = slots_[3 * cell + shape.leave()] == 2 * edge;
  const int local = crosses ? shape.leave() : shape.side;
  const OpenEdge opened = 2 * edge + (local != 2);
  if (crosses)
    crossing_ = opened;
  else
    push(stack_of(shape, leaves_[i].level()), opened);
}

void CurvePass::drop_open() {
  std::vector<std::int32_t> holes;
  for (const OpenEdge* e = bottom_[0]; e != top_[0]; ++e) holes.push_back(*e / 2);
  for (const OpenEdge* e = top_[1]; e != bottom_[1]; ++e) holes.push_back(*e / 2);
  if (holes.empty()) return;
  std::ranges::sort(holes);
  for (const std::int32_t hole : holes) {
    const std::int32_t cell = left_of_[hole];
    mark_external(cell, shapes_[static_cast<std::size_t>(cell)].side);
  }
  close_up(holes);
}

void CurvePass::close_up(std::span<const std::int32_t> holes) {
  const std::int32_t first = holes[0], first_cell = left_of_[first];
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(count_ - first));
  std::int32_t to = first;
  auto hole = holes.begin();
  for (std::int32_t edge = first; edge < count_; ++edge) {
    if (hole != holes.end() && *hole == edge) {
      ++hole;
      continue;
    }
    numbers[static_cast<std::size_t>(edge - first)] = to;
    left_of_[to] = left_of_[edge], right_of_[to] = right_of_[edge];
    class_[to] = class_[edge];
    ++to;
  }
  count_ = to;
  const auto end = static_cast<std::int32_t>(3 * leaves_.size());
  for (std::int32_t face = 3 * first_cell; face < end; ++face)
    if (const std::int32_t slot = slots_[face]; slot >= 2 * first)
      slots_[face] = 2 * numbers[static_cast<std::size_t>(slot / 2 - first)] + slot % 2;
}

void CurvePass::finish(const Domain& domain) {
  Edges& edges = out_.edges;
  const auto count = static_cast<std::size_t>(count_);
  for_edge_fields(edges, [&](auto& field) {
    field.resize(count);
    reserve_tight(field, count + external_.size());
  });
  out_.cell_slots.resize(3 * leaves_.size());
  edges.interior = count;
  out_.on_curve = count_;
  edges.sections.clear();
  for (std::size_t cell = 0; cell < leaves_.size(); cell += kSectionCells)
    edges.sections.push_back(first_edge(out_.cell_slots, count_, static_cast<std::int32_t>(cell)));
  edges.sections.push_back(count_);
  describe_external(domain);
}

void CurvePass::describe_external(const Domain& domain) {
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

}  // namespace mesh
