// SPDX-License-Identifier: Apache-2.0
// The one-dimensional functions that sparse grids are products of (grid.hpp), and the tree of their nodes.
#pragma once
#include <cstdint>
#include <string>

namespace sparse {

/// What the piecewise linear basis does at the border of the unit interval.
enum class Boundary {
  None,      ///< hats only: the interpolant is 0 there
  Points,    ///< a constant, then half hats with grid points on the border, then hats
  Modified,  ///< a constant, and the outermost functions are extrapolated: no points on the border
};

/// "none", "points", "modified". Throws std::invalid_argument for another name.
Boundary boundary_of(const std::string& name);
const char* name_of(Boundary boundary);

/// Nodes in one dimension form a binary tree, numbered as a heap: 1, its children 2 and 3, ... With
/// Boundary::Points, 2 and 3 are the two ends, with one child each (5 and 6).
using Node1 = std::uint32_t;
inline constexpr Node1 kRoot = 1;
/// The deepest node has 2^-25 as its distance to the next ones.
inline constexpr int kDeepest = 24;

int depth_of(Node1 node);
/// In [0, 1], exact.
double position_of(Boundary boundary, Node1 node);
/// 0 when there is none; side 0: left, 1: right.
Node1 child_of(Boundary boundary, Node1 node, int side);
inline Node1 parent_of(Node1 node) { return node / 2; }
/// The node's basis function at x.
double value_of(Boundary boundary, Node1 node, double x);

}  // namespace sparse
