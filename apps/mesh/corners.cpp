// SPDX-License-Identifier: Apache-2.0
#include "apps/mesh/corners.hpp"

#include <unordered_map>

#include "apps/mesh/topology.hpp"
#include "runtime/base/hash.hpp"

namespace mesh {
namespace {

struct PointHash {
  std::size_t operator()(Point p) const {
    return empi::mix64(static_cast<std::uint64_t>(static_cast<std::uint32_t>(p.x)) << 32 |
                       static_cast<std::uint32_t>(p.y));
  }
};

bool counter_clockwise(const Triangle& t) {
  const Point u = t.b - t.a, v = t.c - t.a;
  return static_cast<std::int64_t>(u.x) * v.y > static_cast<std::int64_t>(u.y) * v.x;
}

}  // namespace

Corners corners(const Domain& domain, std::span<const Leaf> leaves) {
  Corners result;
  result.triangles.reserve(3 * leaves.size());
  result.points.reserve(leaves.size() / 2 + 16);
  std::unordered_map<Point, std::int32_t, PointHash> numbers;
  numbers.reserve(leaves.size());
  LeafWalk walk(domain);
  for (const Leaf leaf : leaves) {
    const Triangle t = walk.triangle(leaf);
    const bool turned = counter_clockwise(t);
    for (const Point p : {t.a, turned ? t.b : t.c, turned ? t.c : t.b}) {
      const auto [at, is_new] = numbers.try_emplace(p, static_cast<std::int32_t>(result.points.size()));
      if (is_new) result.points.push_back(p);
      result.triangles.push_back(at->second);
    }
  }
  return result;
}

}  // namespace mesh
