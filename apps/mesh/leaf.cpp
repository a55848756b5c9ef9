// SPDX-License-Identifier: Apache-2.0
#include "apps/mesh/leaf.hpp"

namespace mesh {

Triangle Domain::root_triangle(std::uint32_t root) const {
  // Squares run along the rows like an ox ploughs, so that consecutive squares touch.
  const auto square = static_cast<std::int32_t>(root / 2);
  const std::int32_t row = square / nx;
  const std::int32_t column = row % 2 == 0 ? square % nx : nx - 1 - square % nx;
  const auto corner = [&](std::int32_t i, std::int32_t j) {
    return Point{(column + i) * kSide, (row + j) * kSide};
  };
  const bool first = root % 2 == 0;
  if ((row + column) % 2 == 0)
    return first ? Triangle{corner(0, 0), corner(1, 0), corner(1, 1)}
                 : Triangle{corner(1, 1), corner(0, 1), corner(0, 0)};
  return first ? Triangle{corner(0, 1), corner(0, 0), corner(1, 0)}
               : Triangle{corner(1, 0), corner(1, 1), corner(0, 1)};
}

Triangle Domain::triangle(Leaf leaf) const {
  Triangle t = root_triangle(leaf.root());
  for (int level = 1; level <= leaf.level(); ++level) t = t.child(leaf.branch(level));
  return t;
}

std::optional<Leaf> Domain::locate(std::int64_t x4, std::int64_t y4, int level) const {
  const std::int64_t side4 = 4ll * kSide;
  if (x4 < 0 || y4 < 0 || x4 > side4 * nx || y4 > side4 * ny) return std::nullopt;
  // The last square of a row or column owns the domain's far side.
  const auto column = static_cast<std::int32_t>(x4 == side4 * nx ? nx - 1 : x4 / side4);
  const auto row = static_cast<std::int32_t>(y4 == side4 * ny ? ny - 1 : y4 / side4);
  const std::int32_t square = row * nx + (row % 2 == 0 ? column : nx - 1 - column);
  // Twice the signed area of (p, q, point); the sign tells the side of the line pq.
  const auto side_of = [&](Point p, Point q) {
    return (q.x - p.x) * (y4 - 4ll * p.y) - (q.y - p.y) * (x4 - 4ll * p.x);
  };
  Leaf leaf = Leaf::of_root(2u * static_cast<std::uint32_t>(square));
  Triangle t = root_triangle(leaf.root());
  // In every root the right angle lies to the right of the line from a to c.
  if (side_of(t.a, t.c) > 0) {
    leaf = Leaf::of_root(leaf.root() + 1);
    t = root_triangle(leaf.root());
  }
  for (int l = 0; l < level; ++l) {
    const Point m = midpoint(t.a, t.c);
    // a and the point on the same side of the line from m to b: first child.
    const std::int64_t of_a = 4 * (static_cast<std::int64_t>(t.b.x - m.x) * (t.a.y - m.y) -
                                   static_cast<std::int64_t>(t.b.y - m.y) * (t.a.x - m.x));
    const std::int64_t of_point = side_of(m, t.b);
    const int which = of_point == 0 || (of_point > 0) == (of_a > 0) ? 0 : 1;
    leaf = leaf.child(which);
    t = t.child(which);
  }
  return leaf;
}

std::array<Point, 2> directed_edge(const Triangle& t, int level, int local_edge) {
  // (a, b, c) runs counter-clockwise on even levels; each bisection mirrors it.
  std::array<Point, 2> edge = local_edge == 0   ? std::array{t.a, t.b}
                              : local_edge == 1 ? std::array{t.b, t.c}
                                                : std::array{t.c, t.a};
  if (level % 2 == 1) std::swap(edge[0], edge[1]);
  return edge;
}

}  // namespace mesh
