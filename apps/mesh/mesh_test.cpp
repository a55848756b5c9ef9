// SPDX-License-Identifier: Apache-2.0
// Promises of the mesh; run with 1, 2, 3 and 5 ranks. Every case compares against the gathered global mesh,
// so that the result is the same for each number of ranks.
#include "apps/mesh/mesh.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "apps/mesh/corners.hpp"

namespace mesh {
namespace {

int rank() {
  int r = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  return r;
}
int ranks() {
  int p = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  return p;
}

template <class T>
std::vector<T> gather(const std::vector<T>& mine) {
  int bytes = static_cast<int>(mine.size() * sizeof(T));
  std::vector<int> counts(ranks()), at(ranks());
  MPI_Allgather(&bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (int r = 1; r < ranks(); ++r) at[r] = at[r - 1] + counts[r - 1];
  std::vector<T> all(static_cast<std::size_t>(at.back() + counts.back()) / sizeof(T));
  MPI_Allgatherv(mine.data(), bytes, MPI_BYTE, all.data(), counts.data(), at.data(), MPI_BYTE,
                 MPI_COMM_WORLD);
  return all;
}
std::vector<Leaf> global_leaves(const Mesh& m) {
  return gather(std::vector<Leaf>(m.leaves().begin(), m.leaves().end()));
}

// A hash of the leaf: marks must not depend on how cells are distributed.
std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 31, x *= 0x9e3779b97f4a7c15ull, x ^= x >> 29, x *= 0xbf58476d1ce4e5b9ull;
  return x ^ (x >> 32);
}
std::vector<std::int8_t> random_marks(const Mesh& m, std::uint64_t round, int top_level) {
  std::vector<std::int8_t> marks;
  for (Leaf leaf : m.leaves()) {
    const std::uint64_t h = mix(leaf.bits * 31 + round) % 10;
    marks.push_back(h < 2 && leaf.level() < top_level               ? 1
                    : h > 4 - static_cast<std::uint64_t>(round % 3) ? -1
                                                                    : 0);
  }
  return marks;
}

// Conforming: an edge of the domain's interior is a whole edge of exactly two leaves. Checked without the
// mesh's own edges, on the gathered leaves.
void expect_conforming(const Domain& domain, const std::vector<Leaf>& leaves) {
  std::map<std::tuple<int, int, int, int>, int> uses;
  std::int64_t twice_area = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (i > 0) {
      ASSERT_EQ(leaves[i - 1].key_end(), leaves[i].key());
    }
    const Triangle t = domain.triangle(leaves[i]);
    const Point u = t.b - t.a, v = t.c - t.a;
    twice_area += std::abs(std::int64_t(u.x) * v.y - std::int64_t(u.y) * v.x);
    for (auto [p, q] : {std::pair{t.a, t.b}, std::pair{t.b, t.c}, std::pair{t.a, t.c}}) {
      if (std::tie(q.x, q.y) < std::tie(p.x, p.y)) std::swap(p, q);
      ++uses[{p.x, p.y, q.x, q.y}];
    }
  }
  EXPECT_EQ(twice_area, 2ll * kSide * kSide * domain.nx * domain.ny);
  for (const auto& [edge, count] : uses) {
    const auto [px, py, qx, qy] = edge;
    const bool border = (px == qx && (px == 0 || px == domain.nx * kSide)) ||
                        (py == qy && (py == 0 || py == domain.ny * kSide));
    ASSERT_EQ(count, border ? 1 : 2) << "edge (" << px << "," << py << ")-(" << qx << "," << qy << ")";
  }
}

// With 32 rows at most, for four rows of root squares.
EdgeClasses classes_with_rows() {
  EdgeClasses classes{};
  for (std::size_t level = 0; level < classes.begin.size(); ++level)
    classes.begin[level] = static_cast<std::int32_t>(level) * 64 * EdgeShape::per_level,
    classes.row_bits[level] = 18;
  return classes;
}

// The edge list of every rank agrees with the geometry.
void expect_edges_right(Mesh& m) {
  const Edges& e = m.edges();
  const auto own = static_cast<std::int32_t>(m.cells());
  ASSERT_EQ(e.size(), e.interior + m.halo_cells() + m.boundary().size());
  const auto leaf_of = [&](std::int32_t cell) {
    return cell < own ? m.leaves()[cell] : m.halo_leaves()[static_cast<std::size_t>(cell - own)];
  };
  std::size_t slots_seen = 0;
  for (std::int32_t i = 0; i < own; ++i) {
    const Triangle t = m.triangle(i);
    ASSERT_EQ(m.shapes()[i].b_y, t.b.y);
    ASSERT_EQ(m.shapes()[i].y_sum, t.a.y + t.b.y + t.c.y);
    ASSERT_EQ(m.shapes()[i].direction, direction_of(t.c - t.a));
    for (int k = 0; k < 3; ++k, ++slots_seen) {
      const std::int32_t slot = m.cell_slots()[3 * i + k], edge = slot / 2;
      ASSERT_EQ(slot % 2 == 0 ? e.left[edge] : e.right[edge], i);
      const auto [from, to] = directed_edge(t, m.leaves()[i].level(), k);
      const std::int32_t other = slot % 2 == 0 ? e.right[edge] : e.left[edge];
      bool both_legs = k != 2;
      if (other < own + static_cast<std::int32_t>(m.halo_cells())) {
        const Triangle o = m.domain().triangle(leaf_of(other));
        int shared = 0;
        for (Point p : {from, to}) shared += p == o.a || p == o.b || p == o.c;
        ASSERT_EQ(shared, 2);
        both_legs = both_legs && (from == o.b || to == o.b);
        ASSERT_EQ(slot % 2 == 0, m.leaves()[i].key() < leaf_of(other).key());
      }
      const int le = m.leaves()[i].level() + (k != 2);
      const auto shape =
          EdgeShape::encode(le, direction_of(slot % 2 == 0 ? to - from : from - to), both_legs);
      ASSERT_EQ(e.classes[edge], m.edge_classes().of(shape, from.y + to.y));
      ASSERT_EQ(EdgeShape::extent(le), std::max(std::abs(to.x - from.x), std::abs(to.y - from.y)));
    }
  }
}

TEST(Leaf, ChildAndParentAreInverse) {
  Leaf leaf = Leaf::of_root(5);
  for (int l = 0; l < kMaxLevel; ++l) {
    for (int w : {0, 1}) {
      EXPECT_EQ(leaf.child(w).parent(), leaf);
      EXPECT_EQ(leaf.child(w).is_second(), w == 1);
    }
    EXPECT_TRUE(are_siblings(leaf.child(0), leaf.child(1)));
    EXPECT_EQ(leaf.child(0).key_end(), leaf.child(1).key());
    EXPECT_EQ(leaf.child(1).key_end(), leaf.key_end());
    leaf = leaf.child(l % 3 == 0);
  }
}

TEST(Leaf, LocateFindsTheTriangleOfAnInteriorPoint) {
  const Domain domain{3, 2};
  std::mt19937 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    Leaf leaf = Leaf::of_root(random() % domain.roots());
    const int level = static_cast<int>(random() % 30);
    for (int l = 0; l < level; ++l) leaf = leaf.child(random() % 2);
    const Triangle t = domain.triangle(leaf);
    // (a + 2b + c) / 4 in quarter units is an interior point
    const auto found = domain.locate(t.a.x + 2ll * t.b.x + t.c.x, t.a.y + 2ll * t.b.y + t.c.y, level);
    ASSERT_TRUE(found);
    ASSERT_EQ(*found, leaf);
  }
  EXPECT_FALSE(domain.locate(-1, 0, 3));
  EXPECT_FALSE(domain.locate(0, 8ll * kSide + 1, 3));
}

TEST(Corners, AreEachPointOnceAndGoRoundTheirCell) {
  const Domain domain{2, 1};
  const Mesh m(MPI_COMM_WORLD, domain, 5);
  const Corners found = corners(domain, m.leaves());
  ASSERT_EQ(found.triangles.size(), 3 * m.leaves().size());
  std::set<std::pair<int, int>> places;
  for (const Point p : found.points)
    EXPECT_TRUE(places.insert({p.x, p.y}).second) << "a point is there twice";
  double area = 0;
  for (std::size_t i = 0; i < m.leaves().size(); ++i) {
    const Point* corner[3];
    for (std::size_t k = 0; k < 3; ++k)
      corner[k] = &found.points.at(static_cast<std::size_t>(found.triangles[3 * i + k]));
    const Triangle t = m.triangle(i);
    EXPECT_EQ(*corner[0], t.a);
    EXPECT_TRUE((*corner[1] == t.b && *corner[2] == t.c) || (*corner[1] == t.c && *corner[2] == t.b));
    const Point u = *corner[1] - *corner[0], v = *corner[2] - *corner[0];
    const double twice = static_cast<double>(u.x) * v.y - static_cast<double>(u.y) * v.x;
    EXPECT_GT(twice, 0) << "clockwise";
    area += twice / 2;
  }
  double all = 0;
  MPI_Allreduce(&area, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(all, 2.0 * kSide * kSide);
}

TEST(Mesh, UniformMeshesAreConforming) {
  for (const Domain d : {Domain{1, 1}, Domain{2, 1}, Domain{3, 2}, Domain{2, 3}})
    for (int level : {2, 5, 6}) {
      Mesh m(MPI_COMM_WORLD, d, level);
      const auto all = global_leaves(m);
      ASSERT_EQ(all.size(), std::size_t(d.roots()) << level);
      expect_conforming(d, all);
      expect_edges_right(m);
    }
}

TEST(Mesh, RandomAdaptionsStayConformingAndKeepCellData) {
  const Domain domain{2, 2};
  Mesh m(MPI_COMM_WORLD, domain, 5, classes_with_rows());
  std::vector<std::uint64_t> data;  // each cell carries its own leaf: any mix-up shows
  for (Leaf leaf : m.leaves()) data.push_back(leaf.bits);
  int coarsened = 0;
  for (std::uint64_t round = 0; round < 40; ++round) {
    const auto transfer = m.adapt(random_marks(m, round, 13));
    for (const auto& run : transfer.runs) coarsened += run.kind == Transfer::Kind::Coarsen;
    if (transfer.changed)
      data = transfer.apply(
          data,
          [](Leaf parent, std::uint64_t value) {
            EXPECT_EQ(value, parent.bits);
            return std::pair{parent.child(0).bits, parent.child(1).bits};
          },
          [](Leaf parent, std::uint64_t first, std::uint64_t second) {
            EXPECT_EQ(first, parent.child(0).bits);
            EXPECT_EQ(second, parent.child(1).bits);
            return parent.bits;
          });
    ASSERT_EQ(data.size(), m.cells());
    for (std::size_t i = 0; i < data.size(); ++i) ASSERT_EQ(data[i], m.leaves()[i].bits);
    if (round % 4 == 0) expect_conforming(domain, global_leaves(m));
    expect_edges_right(m);
    // no siblings on two ranks
    const auto all = global_leaves(m);
    for (std::size_t i = 1; i < all.size(); ++i)
      if (are_siblings(all[i - 1], all[i])) {
        ASSERT_EQ(m.owner(all[i - 1].key()), m.owner(all[i].key()));
      }
  }
  MPI_Allreduce(MPI_IN_PLACE, &coarsened, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_GT(coarsened, 1000);
}

// A ring that grows: cells in it are refined, others joined, and long runs of them stay.
std::vector<std::int8_t> marks_of_ring(const Mesh& m, int round, int top_level) {
  std::vector<std::int8_t> marks;
  for (std::size_t i = 0; i < m.cells(); ++i) {
    const Point b = m.triangle(i).b;
    const double radius = std::hypot(b.x - 0.9 * kSide, b.y - 1.1 * kSide) / kSide;
    const bool inside = std::abs(radius - 0.1 - 0.02 * round) < 0.15;
    marks.push_back(inside ? (m.leaves()[i].level() < top_level ? 1 : 0) : -1);
  }
  return marks;
}

void expect_same_edges(const Mesh& m, const Mesh& other) {
  const Edges &e = m.edges(), &o = other.edges();
  EXPECT_EQ(e.interior, o.interior);
  EXPECT_EQ(e.sections, o.sections);
  EXPECT_TRUE(e.left == o.left && e.right == o.right);
  EXPECT_EQ(e.classes, o.classes);
  EXPECT_TRUE(std::ranges::equal(m.cell_slots(), other.cell_slots()));
  EXPECT_TRUE(std::ranges::equal(m.halo_leaves(), other.halo_leaves()));
  const auto same = [](const CellShape& a, const CellShape& b) {
    return a.b_y == b.b_y && a.y_sum == b.y_sum && a.direction == b.direction && a.side == b.side &&
           a.beyond_side == b.beyond_side;
  };
  EXPECT_TRUE(std::ranges::equal(m.shapes(), other.shapes(), same));
}

TEST(Mesh, AdaptionsLeaveTheEdgesThatARebuildFinds) {
  std::int32_t longest = 0, changes = 0;
  for (const int top : {11, 15}) {
    Mesh m(MPI_COMM_WORLD, {2, 2}, 7, classes_with_rows());
    for (int round = 0; round < 40; ++round) {
      const auto marks = round % 10 == 9 ? random_marks(m, static_cast<std::uint64_t>(round), top)
                                         : marks_of_ring(m, round, top);
      const Transfer transfer = m.adapt(marks);
      for (const mesh::Run& run : transfer.runs)
        if (run.kind == mesh::Run::Kind::Keep)
          longest = std::max(longest, run.count);
        else
          ++changes;
      Mesh fresh = m;
      fresh.rebuild(MPI_COMM_WORLD);
      expect_same_edges(m, fresh);
    }
  }
  const auto all_longest = gather(std::vector{longest}), all_changes = gather(std::vector{changes});
  EXPECT_GT(std::ranges::max(all_longest), 200);
  EXPECT_GT(std::ranges::max(all_changes), 1000);
}

TEST(Mesh, AdaptionsAreTheSameForEveryNumberOfRanks) {
  const Domain domain{2, 1};
  Mesh shared(MPI_COMM_WORLD, domain, 6), alone(MPI_COMM_SELF, domain, 6);
  for (std::uint64_t round = 0; round < 30; ++round) {
    shared.adapt(random_marks(shared, round, 14));
    alone.adapt(random_marks(alone, round, 14));
    const auto all = global_leaves(shared);
    ASSERT_TRUE(std::equal(all.begin(), all.end(), alone.leaves().begin(), alone.leaves().end()))
        << "round " << round;
  }
}

// While they are still there, in order, and none that stays.
TEST(Mesh, AdaptionsTellWhichCellsAreBisected) {
  Mesh m(MPI_COMM_WORLD, {2, 1}, 5);
  for (std::uint64_t round = 0; round < 6; ++round) {
    std::vector<Leaf> told;
    m.adapt(random_marks(m, round, 12), [&](std::span<const std::int32_t> cells) {
      EXPECT_TRUE(std::ranges::is_sorted(cells));
      for (const std::int32_t cell : cells) told.push_back(m.leaves()[static_cast<std::size_t>(cell)]);
    });
    const std::vector<Leaf> bisected = gather(told), leaves = global_leaves(m);
    EXPECT_FALSE(bisected.empty());
    std::size_t children = 0;
    for (const Leaf parent : bisected) {
      const auto first = std::ranges::lower_bound(leaves, parent.key(), {}, &Leaf::key);
      for (auto leaf = first; leaf != leaves.end() && leaf->key() < parent.key_end(); ++leaf, ++children)
        ASSERT_GT(leaf->level(), parent.level());
    }
    EXPECT_GE(children, 2 * bisected.size());
  }
}

// Where a section's edges begin is a matter of speed; that nearly all of them are its own cells' is, too.
TEST(Mesh, EdgesLieInTheSectionsOfTheirLeftCells) {
  const Mesh m(MPI_COMM_WORLD, {2, 1}, 14);
  const Edges& e = m.edges();
  ASSERT_EQ(e.sections.size(), (m.cells() + kSectionCells - 1) / kSectionCells + 1);
  EXPECT_TRUE(std::ranges::is_sorted(e.sections));
  EXPECT_EQ(e.sections.front(), 0);
  EXPECT_LE(e.sections.back(), static_cast<std::int32_t>(e.interior));
  std::size_t within = 0;
  for (std::size_t s = 0; s + 1 < e.sections.size(); ++s)
    for (std::int32_t k = e.sections[s]; k < e.sections[s + 1]; ++k)
      within += e.left[k] / kSectionCells == static_cast<std::int32_t>(s);
  EXPECT_GT(static_cast<double>(within), 0.95 * static_cast<double>(e.interior));
}

TEST(Mesh, DilationIsRepeatedMaximumOverNeighbours) {
  const Domain domain{2, 1};
  Mesh shared(MPI_COMM_WORLD, domain, 5), alone(MPI_COMM_SELF, domain, 5);
  for (std::uint64_t round = 0; round < 5; ++round) {
    shared.adapt(random_marks(shared, round, 12));
    alone.adapt(random_marks(alone, round, 12));
  }
  const auto seeds = [](const Mesh& m) {
    std::vector<std::int8_t> marks;
    for (Leaf leaf : m.leaves())
      marks.push_back(static_cast<std::int8_t>(mix(leaf.bits) % 50 < 3 ? mix(leaf.bits) % 50 : 0));
    return marks;
  };
  const Edges& e = alone.edges();
  auto expected = seeds(alone);
  for (int layers = 0; layers <= 4; ++layers) {
    auto marks = seeds(shared);
    shared.dilate(marks, layers);
    ASSERT_EQ(gather(marks), expected) << layers << " layers";
    const auto before = expected;
    for (std::size_t k = 0; k < e.interior; ++k)
      for (const auto& [to, from] : {std::pair{e.left[k], e.right[k]}, std::pair{e.right[k], e.left[k]}})
        expected[to] = std::max(expected[to], before[from]);
    EXPECT_NE(expected, before);
  }
}

TEST(Mesh, RefiningAndCoarseningEverythingReturnsTheSameMesh) {
  const Domain domain{3, 1};
  Mesh m(MPI_COMM_WORLD, domain, 4);
  for (std::uint64_t round = 0; round < 8; ++round) m.adapt(random_marks(m, round, 12));
  const auto before = global_leaves(m);
  const std::vector<std::int8_t> refine(m.cells(), 1);
  m.adapt(refine);
  EXPECT_GE(global_leaves(m).size(), 2 * before.size());
  // Coarsening removes the newest vertices first; level by level down to the roots.
  std::size_t cells = 0;
  for (int round = 0; round < 64; ++round) {
    m.adapt(std::vector<std::int8_t>(m.cells(), -1));
    const std::size_t now = global_leaves(m).size();
    if (now == cells) break;
    cells = now;
    expect_edges_right(m);
  }
  EXPECT_EQ(cells, domain.roots());

  Mesh uniform(MPI_COMM_WORLD, domain, 7);
  const auto start = global_leaves(uniform);
  uniform.adapt(std::vector<std::int8_t>(uniform.cells(), 1));
  EXPECT_EQ(global_leaves(uniform).size(), 2 * start.size());
  uniform.adapt(std::vector<std::int8_t>(uniform.cells(), -1));
  EXPECT_EQ(global_leaves(uniform), start);
}

TEST(Mesh, EmptyRanksAreAllowed) {
  const Domain domain{1, 1};
  Mesh m(MPI_COMM_WORLD, domain, 0);  // two leaves; more ranks than that
  for (int round = 0; round < 6; ++round) {
    m.adapt(std::vector<std::int8_t>(m.cells(), 1));
    expect_edges_right(m);
  }
  EXPECT_EQ(global_leaves(m).size(), 128u);
  expect_conforming(domain, global_leaves(m));
}

TEST(Mesh, ReassignedLeavesGiveTheSameEdges) {
  const Domain domain{2, 2};
  Mesh m(MPI_COMM_WORLD, domain, 5);
  for (std::uint64_t round = 0; round < 6; ++round) m.adapt(random_marks(m, round, 12));
  const auto all = global_leaves(m);
  const auto may_cut = cut_positions(all);
  std::mt19937 random(7);
  for (int trial = 0; trial < 10; ++trial) {
    std::vector<std::size_t> cuts{0, all.size()};
    for (int r = 1; r < ranks(); ++r) {
      std::size_t cut = random() % all.size();
      while (!may_cut[cut]) ++cut;
      cuts.push_back(cut);
    }
    std::sort(cuts.begin(), cuts.end());
    const auto r = static_cast<std::size_t>(rank());
    m.assign({all.begin() + static_cast<std::ptrdiff_t>(cuts[r]),
              all.begin() + static_cast<std::ptrdiff_t>(cuts[r + 1])},
             MPI_COMM_WORLD);
    expect_edges_right(m);
  }
  const std::size_t interior[] = {m.edges().interior, m.halo_cells(), m.boundary().size()};
  std::size_t sums[3];
  MPI_Allreduce(interior, sums, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(2 * (sums[0] + sums[1] / 2) + sums[2], 3 * all.size());
}

TEST(Mesh, BadInputIsRefused) {
  EXPECT_THROW(Mesh(MPI_COMM_WORLD, Domain{0, 1}, 3), std::invalid_argument);
  EXPECT_THROW(Mesh(MPI_COMM_WORLD, Domain{200, 200}, 3), std::invalid_argument);
  EXPECT_THROW(uniform_leaves(Domain{1, 1}, 60, 0, 1), std::invalid_argument);
}

}  // namespace
}  // namespace mesh
