// SPDX-License-Identifier: Apache-2.0
#include "apps/mesh/topology.hpp"

#include "apps/mesh/curve_pass.hpp"

namespace mesh {

void build_local_topology(const Domain& domain, std::span<const Leaf> leaves,
                          std::span<const CellShape> shapes, LocalTopology& topology) {
  // Every cell opens the edge to the next cell and its side edge, if that is not open yet.
  CurvePass pass(leaves, shapes, 2 * leaves.size(), topology);
  bool joined_before = false;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const bool joined_after = i + 1 < leaves.size() && leaves[i + 1].root() == leaves[i].root();
    const CellShape& shape = shapes[i];
    unsigned outside = shape.beyond_side == CellShape::other_root ? 1u << shape.side : 0u;
    if (!joined_before) outside |= 1u << shape.enter();
    if (!joined_after) outside |= 1u << shape.leave();
    pass.visit(static_cast<std::int32_t>(i), outside);
    joined_before = joined_after;
  }
  pass.drop_open();
  pass.finish(domain);
}

}  // namespace mesh
