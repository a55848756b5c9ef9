// SPDX-License-Identifier: Apache-2.0
// The corners of cells as numbered points, each of which is there once: what programs that draw meshes read.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "apps/mesh/leaf.hpp"

namespace mesh {

struct Corners {
  std::vector<Point> points;            // in the order in which the cells come to them
  std::vector<std::int32_t> triangles;  // 3 numbers of points a cell, counter-clockwise, the first is its `a`
};

// Of leaves in curve order.
Corners corners(const Domain& domain, std::span<const Leaf> leaves);

}  // namespace mesh
