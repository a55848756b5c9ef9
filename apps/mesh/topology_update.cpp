// SPDX-License-Identifier: Apache-2.0
// Edges after an adaption. A pass numbers edges in the order of the cells that open them, so that those of
// cells that stay side by side go on together, with their numbers and their cells' shifted: whole segments of
// the curve move in place. Only what leads from one segment to another goes over the pass's stacks again.
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

#include "apps/mesh/curve_pass.hpp"
#include "apps/mesh/outside.hpp"
#include "apps/mesh/pieces.hpp"
#include "apps/mesh/tight.hpp"
#include "apps/mesh/topology.hpp"

namespace mesh {
namespace {

// Fewer cells that stay find their edges like new ones: that takes less than to begin a segment.
constexpr std::int32_t kLongRun = 16;

struct Range {
  std::size_t begin = 0, end = 0;
};

// Cells in a row that all stayed, or whose edges are all found anew; and the edges that they open.
struct Segment {
  bool stayed;
  Piece cells, edges;  // of new ones, `from` means nothing
  Range leading_out;   // of cells that stayed: faces to cells before, and what the pass does not connect
  Range open;          // and edges to cells after
};

// Which local edges of a cell the pass shall not connect, a bit for each: its descendants and its parent have
// them on the same line.
using Outside = std::uint8_t;
Outside outside_of_child(unsigned outside, int which) {
  const unsigned ab = outside & 1, bc = outside >> 1 & 1, ac = outside >> 2 & 1;
  return static_cast<Outside>(which == 0 ? ac | ab << 2 : ac << 1 | bc << 2);
}
Outside outside_of_parent(unsigned first, unsigned second) {
  return static_cast<Outside>((first >> 2 & 1) | (second >> 2 & 1) << 1 | (first & 1) << 2);
}

class Update {
 public:
  Update(std::span<const Leaf> leaves, std::span<const CellShape> shapes, LocalTopology& topology)
      : leaves_(leaves), shapes_(shapes), topology_(topology) {}

  void plan(std::span<const Run> runs) {
    for (const Run& run : runs)
      if (run.kind == Run::Kind::Keep && run.count >= kLongRun)
        stay(run);
      else
        find_anew(run);
  }

  void move_segments() {
    const auto edges = std::max(next_edge_, topology_.on_curve);
    make_room(static_cast<std::size_t>(edges));
    const std::span segments(segments_);
    move_pieces(segments, &Segment::cells, [this](Segment& s) { move_cells(s); });
    move_pieces(segments, &Segment::edges, [this](Segment& s) { move_edges(s); });
  }

  void walk(const Domain& domain) {
    CurvePass pass(leaves_, shapes_, static_cast<std::size_t>(next_edge_), topology_);
    std::size_t found = 0;
    for (const Segment& s : segments_) {
      if (pass.count() != s.edges.to)
        throw std::logic_error("mesh: an adaption's edges are other than planned");
      if (s.stayed)
        pass_over(s, pass);
      else
        for (std::int32_t k = 0; k < s.cells.count; ++k) pass.visit(s.cells.to + k, outside_[found++]);
    }
    pass.finish(domain);
  }

 private:
  // Of cells as they were.
  unsigned outside(std::int32_t cell) const {
    unsigned bits = 0;
    for (unsigned k = 0; k < 3; ++k)
      if (slots()[3 * cell + static_cast<std::int32_t>(k)] >= 2 * topology_.on_curve) bits |= 1u << k;
    return bits;
  }
  std::int32_t first_edge(std::int32_t cell) const {
    return mesh::first_edge(topology_.cell_slots, topology_.on_curve, cell);
  }

  void stay(const Run& run) {
    const std::int32_t first = first_edge(run.old_begin),
                       count = first_edge(run.old_begin + run.count) - first;
    segments_.push_back(
        {true, {run.old_begin, run.new_begin, run.count}, {first, next_edge_, count}, {}, {}});
    next_edge_ += count;
  }

  void find_anew(const Run& run) {
    if (segments_.empty() || segments_.back().stayed)
      segments_.push_back({false, {0, run.new_begin, 0}, {0, next_edge_, 0}, {}, {}});
    const std::int32_t cell = run.old_begin;
    if (run.kind == Run::Kind::Coarsen) return add(outside_of_parent(outside(cell), outside(cell + 1)));
    if (run.kind == Run::Kind::Keep) {
      for (std::int32_t k = 0; k < run.count; ++k) add(outside(cell + k));
      return;
    }
    for (int which : {0, 1}) {
      const Outside child = outside_of_child(outside(cell), which);
      if (!run.child_refined[static_cast<std::size_t>(which)])
        add(child);
      else
        add(outside_of_child(child, 0)), add(outside_of_child(child, 1));
    }
  }

  // The next cell of the segment that is found anew.
  void add(unsigned outside) {
    Segment& s = segments_.back();
    const CellShape& shape =
        shapes_[static_cast<std::size_t>(s.cells.to) + static_cast<std::size_t>(s.cells.count)];
    outside_.push_back(static_cast<Outside>(outside));
    const bool opens_side = shape.beyond_side == CellShape::later && (outside >> shape.side & 1) == 0,
               crosses = (outside >> shape.leave() & 1) == 0;
    const std::int32_t opens = opens_side + crosses;
    ++s.cells.count;
    s.edges.count += opens;
    next_edge_ += opens;
  }

  void make_room(std::size_t edges) {
    Edges& e = topology_.edges;
    const auto extend = [](auto& field, std::size_t count) {
      if (field.size() < count) resize_tight(field, count);
    };
    extend(e.left, edges), extend(e.right, edges), extend(e.classes, edges);
    extend(topology_.cell_slots, 3 * leaves_.size());
  }

  void move_cells(Segment& s) {
    if (!s.stayed) return;
    move_values(slots(), {3 * s.cells.from, 3 * s.cells.to, 3 * s.cells.count});
    s.leading_out.begin = leading_out_.size();
    shift_inside(slots(), 3 * s.cells.to, 3 * (s.cells.to + s.cells.count), 2 * s.edges.from,
                 2 * s.edges.count, 2 * (s.edges.to - s.edges.from), leading_out_);
    s.leading_out.end = leading_out_.size();
  }

  void move_edges(Segment& s) {
    if (!s.stayed) return;
    Edges& e = topology_.edges;
    move_values(e.left.data(), s.edges), move_values(e.right.data(), s.edges);
    move_values(e.classes.data(), s.edges);
    const std::int32_t end = s.edges.to + s.edges.count, shift = s.cells.to - s.cells.from;
    if (shift != 0)
      for (std::int32_t k = s.edges.to; k < end; ++k) e.left[static_cast<std::size_t>(k)] += shift;
    s.open.begin = open_.size();
    shift_inside(e.right.data(), s.edges.to, end, s.cells.from, s.cells.count, shift, open_);
    s.open.end = open_.size();
  }

  // On each stack, what was there before the segment is taken before anything of it is left there.
  void pass_over(const Segment& s, CurvePass& pass) {
    for (std::size_t k = s.leading_out.begin; k < s.leading_out.end; ++k) {
      const std::int32_t cell = leading_out_[k] / 3, local = leading_out_[k] % 3;
      if (slots()[leading_out_[k]] >= 2 * topology_.on_curve)
        pass.mark_external(cell, local);
      else if (cell == s.cells.to && local == shapes_[static_cast<std::size_t>(cell)].enter())
        pass.close_crossing(cell);
      else
        pass.close_side(cell);
    }
    for (std::size_t k = s.open.begin; k < s.open.end; ++k) pass.open_again(open_[k]);
    pass.pass_over(s.edges.count);
  }

  std::int32_t* slots() { return topology_.cell_slots.data(); }
  const std::int32_t* slots() const { return topology_.cell_slots.data(); }

  std::span<const Leaf> leaves_;
  std::span<const CellShape> shapes_;
  LocalTopology& topology_;
  std::vector<Segment> segments_;
  std::vector<Outside> outside_;  // of cells that are found anew
  std::vector<std::int32_t> leading_out_, open_;
  std::int32_t next_edge_ = 0;
};

}  // namespace

void update_local_topology(const Domain& domain, std::span<const Leaf> leaves,
                           std::span<const CellShape> shapes, std::span<const Run> runs,
                           LocalTopology& topology) {
  Update update(leaves, shapes, topology);
  update.plan(runs);
  update.move_segments();
  update.walk(domain);
}

}  // namespace mesh
