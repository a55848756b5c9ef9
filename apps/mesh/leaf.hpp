// SPDX-License-Identifier: Apache-2.0
// Leaves of a newest-vertex bisection forest and their exact integer geometry.
//
// A domain is nx x ny root squares of side kSide integer units. Each square is split along a diagonal into
// two root triangles; diagonals alternate, so neighbouring squares meet conformingly. A triangle (a, b, c)
// has its newest vertex (the right angle) at b and its hypotenuse from a to c, which is also where the
// Sierpinski curve enters and leaves it. Bisection at the midpoint m of ac gives the children (a, m, b) and
// (b, m, c), in curve order.
//
// A leaf is one 64-bit word: root (16 bits) | bisection path, left aligned (40 bits) | level (8 bits).
// Integer order is curve order, and the descendants of a leaf fill the interval [key(), key_end()).
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <optional>

namespace mesh {

inline constexpr int kMaxLevel = 36;  // legs are then 4 units long: every point we need is an integer
inline constexpr std::int32_t kSide = 1 << 20;  // units per side of a root square
inline constexpr int kPathTop = 48;             // the first bisection's bit is bit 47
inline constexpr std::uint32_t kMaxRoots = 65535;

struct Point {
  std::int32_t x = 0, y = 0;
  friend bool operator==(Point, Point) = default;
  friend Point operator+(Point p, Point q) { return {p.x + q.x, p.y + q.y}; }
  friend Point operator-(Point p, Point q) { return {p.x - q.x, p.y - q.y}; }
};
inline Point midpoint(Point p, Point q) { return {(p.x + q.x) >> 1, (p.y + q.y) >> 1}; }

struct Leaf {
  std::uint64_t bits = 0;

  friend auto operator<=>(Leaf, Leaf) = default;
  int level() const { return static_cast<int>(bits & 0xff); }
  std::uint32_t root() const { return static_cast<std::uint32_t>(bits >> kPathTop); }
  std::uint64_t key() const { return bits & ~0xffull; }
  std::uint64_t key_end() const { return key() + (1ull << (kPathTop - level())); }
  // The bit of bisection `level` (1-based): 0 for the first child in curve order, 1 for the second.
  int branch(int level) const { return static_cast<int>(bits >> (kPathTop - level)) & 1; }
  bool is_second() const { return level() > 0 && branch(level()) == 1; }
  Leaf child(int which) const {
    const int next = level() + 1;
    return {(key() | (static_cast<std::uint64_t>(which) << (kPathTop - next))) +
            static_cast<std::uint64_t>(next)};
  }
  Leaf parent() const {
    return {(key() & ~(1ull << (kPathTop - level()))) + static_cast<std::uint64_t>(level() - 1)};
  }
  static Leaf of_root(std::uint32_t root) { return {static_cast<std::uint64_t>(root) << kPathTop}; }
};
static_assert(sizeof(Leaf) == 8);

// True if `second` follows `first` on the curve and both have the same parent.
inline bool are_siblings(Leaf first, Leaf second) {
  return second.is_second() && first.level() == second.level() && first.parent() == second.parent();
}

struct Triangle {
  Point a, b, c;
  Triangle child(int which) const {
    const Point m = midpoint(a, c);
    return which == 0 ? Triangle{a, m, b} : Triangle{b, m, c};
  }
};

// nx x ny root squares; (0, 0) is the south-west corner, x runs east and y north, in integer units.
struct Domain {
  std::int32_t nx = 1, ny = 1;

  friend bool operator==(Domain, Domain) = default;
  std::uint32_t roots() const { return 2u * static_cast<std::uint32_t>(nx) * static_cast<std::uint32_t>(ny); }
  Triangle root_triangle(std::uint32_t root) const;
  Triangle triangle(Leaf leaf) const;
  // The key of the descendant of the given level that contains the point (in units / 4, that is 4 x finer
  // than Point); points on an edge go to the first child. Empty if the point is outside of the domain.
  std::optional<Leaf> locate(std::int64_t x4, std::int64_t y4, int level) const;
};

// The cells' local edges are numbered 0: ab, 1: bc (the legs), 2: ac (the hypotenuse).
// Directed counter-clockwise around the triangle, so that the outward normal of (dx, dy) is (dy, -dx).
std::array<Point, 2> directed_edge(const Triangle& t, int level, int local_edge);

}  // namespace mesh
