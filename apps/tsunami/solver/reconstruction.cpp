// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/solver/reconstruction.hpp"

#include <algorithm>
#include <cmath>

#include "apps/tsunami/solver/branchless.hpp"
#include "runtime/base/target_clones.hpp"

namespace swe {
namespace {

constexpr std::int64_t kCells = 64;  // of a batch, which fits the first cache

struct Vector {
  double x, y;
};

// The centroid of the neighbour across local edge k, of which that is the local edge `its`, where b is the
// origin, a = (1, 0) and c = (0, 1).
constexpr Vector neighbour(int k, int its) {
  if (k == 2) return its == 2 ? Vector{2. / 3, 2. / 3} : its == 0 ? Vector{1, 2. / 3} : Vector{2. / 3, 1};
  // ab; bc is its mirror image, in which ab and bc change places
  const int seen = its == 2 || k == 0 ? its : 1 - its;
  const Vector v = seen == 2   ? Vector{1. / 2, -1. / 6}
                   : seen == 1 ? Vector{1. / 3, -1. / 3}
                               : Vector{2. / 3, -1. / 3};
  return k == 0 ? v : Vector{v.y, v.x};
}

// From d1 and d2, how much more the second and the third neighbour have than the first, which has d0 more
// than the cell: the plane's steps from the centroid to the faces, and its height above the cell there.
struct PlaneKind {
  double ab1, ab2;  // step to ab = ab1 d1 + ab2 d2
  double bc1, bc2;
  double offset1, offset2;  // height = d0 + offset1 d1 + offset2 d2
};
constexpr int kPlaneNumbers = 6;

constexpr auto kPlanes = [] {
  std::array<std::array<double, kPlaneNumbers>, kConstantCell + 1> planes{};
  for (int ab = 0; ab < 3; ++ab)
    for (int bc = 0; bc < 3; ++bc)
      for (int ac = 0; ac < 3; ++ac) {
        const Vector n0 = neighbour(0, ab), n1 = neighbour(1, bc), n2 = neighbour(2, ac);
        const double x1 = n1.x - n0.x, y1 = n1.y - n0.y, x2 = n2.x - n0.x, y2 = n2.y - n0.y;
        const double scale = 1 / (x1 * y2 - x2 * y1);
        // of a step (x, y): gradient (d1 y2 - d2 y1, d2 x1 - d1 x2) * scale
        const auto by1 = [&](double x, double y) { return (x * y2 - y * x2) * scale; };
        const auto by2 = [&](double x, double y) { return (y * x1 - x * y1) * scale; };
        const double x0 = 1. / 3 - n0.x, y0 = 1. / 3 - n0.y;
        planes[cell_kind(ab, bc, ac)] = {by1(1. / 6, -1. / 3), by2(1. / 6, -1. / 3), by1(-1. / 3, 1. / 6),
                                         by2(-1. / 3, 1. / 6), by1(x0, y0),          by2(x0, y0)};
      }
  return planes;
}();

struct Triple {
  double v[3];
};

// Steps to the faces of the plane through neighbours that have d more than the cell.
SWE_INLINE Triple to_faces(const PlaneKind& p, const Triple& d) {
  const double d1 = d.v[1] - d.v[0], d2 = d.v[2] - d.v[0];
  const double ab = p.ab1 * d1 + p.ab2 * d2, bc = p.bc1 * d1 + p.bc2 * d2;
  return {{ab, bc, -(ab + bc)}};
}

// Those, scaled so that none passes the neighbours' values by more than half, and a part of the bend: a crest
// is not cut.
constexpr double kPass = 1.5, kBend = 0.1;
SWE_INLINE Triple limited(const PlaneKind& p, const Triple& d) {
  const Triple s = to_faces(p, d);
  const double offset = d.v[0] + (p.offset1 * (d.v[1] - d.v[0]) + p.offset2 * (d.v[2] - d.v[0]));
  const double bend = kBend * std::abs(offset);
  const double top = kPass * larger(larger(larger(d.v[0], d.v[1]), d.v[2]), 0.0) + bend;
  const double bottom = kPass * smaller(smaller(smaller(d.v[0], d.v[1]), d.v[2]), 0.0) - bend;
  const double highest = larger(larger(s.v[0], s.v[1]), s.v[2]),
               lowest = smaller(smaller(s.v[0], s.v[1]), s.v[2]);
  // the smaller of top / highest and bottom / lowest, if they are below 1
  const bool high = highest > top;
  const double over = high ? top : 1.0, under = high ? highest : 1.0;
  const bool low = lowest < bottom && bottom * under > over * lowest;
  const double share = (low ? bottom : over) / (low ? lowest : under);
  return {{share * s.v[0], share * s.v[1], share * s.v[2]}};
}

// Cells with their neighbours' values, gathered first, so that the arithmetic runs on vectors.
struct CellBatch {
  struct alignas(64) Row {
    double v[kCells];
  };
  enum : int { kEta, kHu, kHv, kB, kForce };
  Row plane[kPlaneNumbers];
  Row own[4], across[4][3];
  Row face[5][3];  // eta, hu, hv, b, force

  template <class Stored>
  SWE_INLINE void load(const Fields<Stored>& cells, const Connections& c, std::int32_t cell, std::int64_t j) {
    const auto& numbers = kPlanes[c.kinds[cell]];
    for (int n = 0; n < kPlaneNumbers; ++n) plane[n].v[j] = numbers[n];
    own[kEta].v[j] = cells.eta[cell], own[kHu].v[j] = cells.hu[cell];
    own[kHv].v[j] = cells.hv[cell], own[kB].v[j] = cells.b[cell];
    const std::int32_t* const slots = c.slots + 3 * static_cast<std::ptrdiff_t>(cell);
    for (int k = 0; k < 3; ++k) {
      const std::int32_t s = slots[k], other = ((s & 1) != 0 ? c.left : c.right)[s >> 1];
      across[kEta][k].v[j] = cells.eta[other], across[kHu][k].v[j] = cells.hu[other];
      across[kHv][k].v[j] = cells.hv[other], across[kB][k].v[j] = cells.b[other];
    }
  }

  SWE_INLINE void reconstruct(const Physics& physics, std::int64_t count) {
    const double dry = physics.dry_tolerance, half_g = 0.5 * physics.gravity;
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) {
      const double eta = own[kEta].v[j], hu = own[kHu].v[j], hv = own[kHv].v[j], b = own[kB].v[j];
      const PlaneKind p{plane[0].v[j], plane[1].v[j], plane[2].v[j],
                        plane[3].v[j], plane[4].v[j], plane[5].v[j]};
      const double eta0 = across[kEta][0].v[j], eta1 = across[kEta][1].v[j], eta2 = across[kEta][2].v[j];
      const double b0 = across[kB][0].v[j], b1 = across[kB][1].v[j], b2 = across[kB][2].v[j];
      const double depth = eta - b;
      const double least = smaller(smaller(smaller(eta0 - b0, eta1 - b1), eta2 - b2), depth);
      const Triple e = limited(p, {{eta0 - eta, eta1 - eta, eta2 - eta}});
      const Triple z = to_faces(p, {{b0 - b, b1 - b, b2 - b}});
      const Triple u =
          limited(p, {{across[kHu][0].v[j] - hu, across[kHu][1].v[j] - hu, across[kHu][2].v[j] - hu}});
      const Triple v =
          limited(p, {{across[kHv][0].v[j] - hv, across[kHv][1].v[j] - hv, across[kHv][2].v[j] - hv}});
      const double thinned = larger(
          larger(larger(std::abs(e.v[0] - z.v[0]), std::abs(e.v[1] - z.v[1])), std::abs(e.v[2] - z.v[2])),
          0.5 * depth);
      const double share = 0.5 * depth / thinned;
      const bool linear = least > dry;
#pragma GCC unroll 3
      for (int k = 0; k < 3; ++k) {
        const double rise = linear ? share * e.v[k] : 0.0, bed = b + (linear ? share * z.v[k] : 0.0);
        face[kEta][k].v[j] = eta + rise;
        face[kHu][k].v[j] = hu + (linear ? share * u.v[k] : 0.0);
        face[kHv][k].v[j] = hv + (linear ? share * v.v[k] : 0.0);
        face[kB][k].v[j] = bed;
        // surface force between centre and face; the constant part of the pressure sums to zero over the cell
        face[kForce][k].v[j] = half_g * (depth + ((eta + rise) - bed)) * rise;
      }
    }
  }

  SWE_INLINE void store(int k, std::int64_t j, const FaceStates& to, std::int64_t at) const {
    to.eta[at] = face[kEta][k].v[j], to.hu[at] = face[kHu][k].v[j], to.hv[at] = face[kHv][k].v[j];
    to.b[at] = face[kB][k].v[j], to.force[at] = face[kForce][k].v[j];
  }
};

template <class Stored>
SWE_INLINE void single_faces(const Physics& physics, const Fields<Stored>& cells, const Connections& c,
                             std::span<const FaceAt> faces, const FaceStates& states, CellBatch& batch) {
  for (std::size_t start = 0; start < faces.size(); start += kCells) {
    const auto part = faces.subspan(start, std::min<std::size_t>(kCells, faces.size() - start));
    const auto count = static_cast<std::int64_t>(part.size());
    for (std::int64_t j = 0; j < count; ++j) batch.load(cells, c, part[j].face / 3, j);
    batch.reconstruct(physics, count);
    for (std::int64_t j = 0; j < count; ++j)
      batch.store(part[j].face % 3, j, states, states.index(part[j].at));
  }
}

}  // namespace

template <class Stored>
EMPI_TARGET_CLONES void reconstruct(const Physics& physics, const Fields<Stored>& cells, const Connections& c,
                                    const Section& section, const FaceStates& faces) {
  CellBatch batch;
  const std::int32_t range = section.edges();
  std::int32_t seam = range;
  for (std::int32_t start = section.cell_begin; start < section.cell_end; start += kCells) {
    const std::int32_t count = std::min<std::int32_t>(kCells, section.cell_end - start);
    for (std::int32_t j = 0; j < count; ++j) batch.load(cells, c, start + j, j);
    batch.reconstruct(physics, count);
    const std::int32_t* slots = c.slots + 3 * static_cast<std::ptrdiff_t>(start);
    for (std::int32_t j = 0; j < count; ++j)
      for (int k = 0; k < 3; ++k) {
        const std::int32_t s = *slots++;
        std::int32_t edge = (s >> 1) - section.edge_begin;
        if (static_cast<std::uint32_t>(edge) >= static_cast<std::uint32_t>(range)) edge = seam++;
        batch.store(k, j, faces, (s & 1) * faces.stride + edge);
      }
  }
  single_faces(physics, cells, c, section.near, faces, batch);
}

template <class Stored>
EMPI_TARGET_CLONES void reconstruct(const Physics& physics, const Fields<Stored>& cells, const Connections& c,
                                    std::span<const FaceAt> faces, const FaceStates& states) {
  CellBatch batch;
  single_faces(physics, cells, c, faces, states, batch);
}

template <class Stored>
EMPI_TARGET_CLONES void find_slopes(const Physics& physics, const Fields<Stored>& cells, const Connections& c,
                                    std::span<const std::int32_t> of, std::span<Slopes> slopes) {
  CellBatch batch;
  for (std::size_t start = 0; start < of.size(); start += kCells) {
    const auto part = of.subspan(start, std::min<std::size_t>(kCells, of.size() - start));
    const auto count = static_cast<std::int64_t>(part.size());
    for (std::int64_t j = 0; j < count; ++j) batch.load(cells, c, part[j], j);
    batch.reconstruct(physics, count);
    for (std::int64_t j = 0; j < count; ++j)
      for (int f = 0; f < 3; ++f) {
        const double ab = batch.face[f][0].v[j], bc = batch.face[f][1].v[j], ac = batch.face[f][2].v[j];
        slopes[start + j][f] = (ab - bc) / 3, slopes[start + j][3 + f] = (ac - bc) / 3;
      }
  }
}

#define SWE_STORED(Stored)                                                                             \
  template void reconstruct(const Physics&, const Fields<Stored>&, const Connections&, const Section&, \
                            const FaceStates&);                                                        \
  template void reconstruct(const Physics&, const Fields<Stored>&, const Connections&,                 \
                            std::span<const FaceAt>, const FaceStates&);                               \
  template void find_slopes(const Physics&, const Fields<Stored>&, const Connections&,                 \
                            std::span<const std::int32_t>, std::span<Slopes>)
SWE_STORED(double);
SWE_STORED(float);
#undef SWE_STORED

}  // namespace swe
