// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/grid/basis.hpp"

#include <bit>
#include <cmath>
#include <stdexcept>

namespace sparse {
namespace {

// Position i * 2^-level as integers, i odd (but for the ends of the interval).
struct Dyadic {
  std::int64_t i = 0;
  int level = 0;
};

Dyadic dyadic_of(Boundary boundary, Node1 node) {
  const int depth = depth_of(node);
  if (boundary != Boundary::Points)
    return {2 * (std::int64_t{node} - (std::int64_t{1} << depth)) + 1, depth + 1};
  if (node == kRoot) return {1, 1};
  if (depth == 1) return {node == 2 ? 0 : 1, 0};
  const std::int64_t first = std::int64_t{5} << (depth - 2);
  return {2 * (std::int64_t{node} - first) + 1, depth};
}

double hat(double s) { return std::max(0.0, 1 - std::abs(s)); }

}  // namespace

Boundary boundary_of(const std::string& name) {
  for (const Boundary b : {Boundary::None, Boundary::Points, Boundary::Modified})
    if (name == name_of(b)) return b;
  throw std::invalid_argument("'" + name + "' is no boundary treatment: none, points or modified expected");
}

const char* name_of(Boundary boundary) {
  return boundary == Boundary::None ? "none" : boundary == Boundary::Points ? "points" : "modified";
}

int depth_of(Node1 node) { return std::bit_width(node) - 1; }

double position_of(Boundary boundary, Node1 node) {
  const Dyadic at = dyadic_of(boundary, node);
  return std::ldexp(static_cast<double>(at.i), -at.level);
}

Node1 child_of(Boundary boundary, Node1 node, int side) {
  if (depth_of(node) >= kDeepest) return 0;
  if (boundary == Boundary::Points && (node == 2 || node == 3)) {
    const int inwards = node == 2 ? 1 : 0;
    if (side != inwards) return 0;
  }
  return 2 * node + static_cast<Node1>(side);
}

double value_of(Boundary boundary, Node1 node, double x) {
  const Dyadic at = dyadic_of(boundary, node);
  const double s = std::ldexp(x, at.level) - static_cast<double>(at.i);
  if (boundary == Boundary::None) return hat(s);
  if (node == kRoot) return 1;
  if (boundary == Boundary::Points) return depth_of(node) == 1 ? hat(2 * s) : hat(s);
  if (at.i == 1) return std::max(0.0, 1 - s);
  if (at.i == (std::int64_t{1} << at.level) - 1) return std::max(0.0, 1 + s);
  return hat(s);
}

}  // namespace sparse
