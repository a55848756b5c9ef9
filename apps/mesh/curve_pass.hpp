// SPDX-License-Identifier: Apache-2.0
// The pass along the Sierpinski curve that opens and closes edges (topology.hpp), for cells one after the
// other: those whose edges are to be found, and whole runs of cells that kept their edges with each other.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "apps/mesh/topology.hpp"

namespace mesh {

class CurvePass {
 public:
  // Of all leaves and shapes, into arrays of `out` that have room for `edges` edges.
  CurvePass(std::span<const Leaf> leaves, std::span<const CellShape> shapes, std::size_t edges,
            LocalTopology& out);

  // Finds the edges of the next cell. outside: a bit for each local edge that the pass shall not connect.
  void visit(std::int32_t cell, unsigned outside);

  // Of a run of cells that have their edges: those that lead out of it, first to cells before, then to cells
  // after it; then how many edges there are in all.
  void close_crossing(std::int32_t cell);
  void close_side(std::int32_t cell);
  void open_again(std::int32_t edge);
  void pass_over(std::int32_t edges) { count_ += edges; }

  void mark_external(std::int32_t cell, int local);
  std::int32_t count() const { return count_; }  // of edges so far
  // Takes edges that no cell has closed out of the list, in which the others close up.
  void drop_open();
  // Describes the result. The arrays have room for what external edges become.
  void finish(const Domain& domain);

 private:
  using OpenEdge = std::int32_t;  // 2 * edge + (1 if it is a leg of its left cell)

  static int stack_of(const CellShape& shape, int level);
  bool is_empty(int stack) const { return top_[stack] == bottom_[stack]; }
  void push(int stack, OpenEdge edge);
  OpenEdge pop(int stack) { return stack == 0 ? *--top_[0] : *top_[1]++; }
  OpenEdge open(std::int32_t cell, int level, const CellShape& shape, int local);
  void close(std::int32_t cell, int level, int local, OpenEdge open);
  void close_up(std::span<const std::int32_t> holes);
  void describe_external(const Domain& domain);

  std::span<const Leaf> leaves_;
  std::span<const CellShape> shapes_;
  LocalTopology& out_;
  std::int32_t *left_of_, *right_of_, *class_, *slots_;
  OpenEdge *top_[2], *bottom_[2];       // of the two stacks, which grow towards each other
  std::vector<std::int32_t> external_;  // 3 * cell + local edge
  OpenEdge crossing_ = 0;
  std::int32_t count_ = 0;
};

// The first edge that a cell from this one on has opened, by their slots.
std::int32_t first_edge(std::span<const std::int32_t> cell_slots, std::int32_t on_curve, std::int32_t cell);

}  // namespace mesh
