// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/solver/kernel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "apps/tsunami/solver/augmented_riemann.hpp"
#include "runtime/base/target_clones.hpp"

#define SWE_INLINE inline __attribute__((always_inline))

namespace swe {
namespace {

constexpr std::int64_t kChunk = 128;
constexpr double kRounding = 1e-12;  // of a depth of 1 m and of the bed's elevation
constexpr double kInfinity = std::numeric_limits<double>::infinity();

SWE_INLINE double larger(double a, double b) { return a > b ? a : b; }
SWE_INLINE double smaller(double a, double b) { return a < b ? a : b; }

struct alignas(64) Lane {
  double v[kChunk];
};

// The two sides of `chunk` edges and the edges themselves: gathered first, so that the arithmetic runs on
// vectors.
struct Batch {
  Lane etal, hul, hvl, bl, etar, hur, hvr, br, nx, ny, len, rate;
  Lane worst{};

  SWE_INLINE void load_cells(const Fields& cells, const EdgeList& edges, std::int64_t start,
                             std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int32_t l = edges.left[start + k], r = edges.right[start + k];
      etal.v[k] = cells.eta[l], hul.v[k] = cells.hu[l], hvl.v[k] = cells.hv[l], bl.v[k] = cells.b[l];
      etar.v[k] = cells.eta[r], hur.v[k] = cells.hu[r], hvr.v[k] = cells.hv[r], br.v[k] = cells.b[r];
    }
  }
  SWE_INLINE void load_faces(const Faces& faces, std::int64_t start, std::int64_t count) {
    const double *const eta = faces.eta + 2 * start, *const hu = faces.hu + 2 * start;
    const double *const hv = faces.hv + 2 * start, *const b = faces.b + 2 * start;
    for (std::int64_t k = 0; k < count; ++k) {
      etal.v[k] = eta[2 * k], hul.v[k] = hu[2 * k], hvl.v[k] = hv[2 * k], bl.v[k] = b[2 * k];
      etar.v[k] = eta[2 * k + 1], hur.v[k] = hu[2 * k + 1], hvr.v[k] = hv[2 * k + 1], br.v[k] = b[2 * k + 1];
    }
  }
  SWE_INLINE void load_metric(const EdgeList& edges, std::int64_t start, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k) {
      const EdgeMetric& m = edges.table[edges.edge_class[start + k]];
      nx.v[k] = m.nx, ny.v[k] = m.ny, len.v[k] = m.length, rate.v[k] = m.rate;
    }
  }
};

SWE_INLINE void batch_hllc(const Physics& physics, Batch& s, std::int64_t count, double* __restrict mass,
                           double* __restrict east, double* __restrict north) {
  const double g = physics.gravity, dry = physics.dry_tolerance;
#pragma omp simd
  for (std::int64_t k = 0; k < count; ++k) {
    const double nx = s.nx.v[k], ny = s.ny.v[k];
    // velocities of the cells
    const double Hl = s.etal.v[k] - s.bl.v[k], Hr = s.etar.v[k] - s.br.v[k];
    const double wl = (Hl > dry ? 1.0 : 0.0) / larger(Hl, dry), wr = (Hr > dry ? 1.0 : 0.0) / larger(Hr, dry);
    const double ul = s.hul.v[k] * wl, vl = s.hvl.v[k] * wl, ur = s.hur.v[k] * wr, vr = s.hvr.v[k] * wr;
    const double cell_nl = ul * nx + vl * ny, cell_nr = ur * nx + vr * ny;
    const double tl = vl * nx - ul * ny, tr = vr * nx - ur * ny;
    // hydrostatic reconstruction (eq. 2.9, 2.10)
    const double sill = larger(s.bl.v[k], s.br.v[k]);
    const double hl = larger(s.etal.v[k] - sill, 0.0), hr = larger(s.etar.v[k] - sill, 0.0);
    const double cl = std::sqrt(g * hl), cr = std::sqrt(g * hr);
    // beyond a dry front the fan ends at u + 2c
    const double nl = hl > 0.0 ? cell_nl : cell_nr - 2.0 * cr;
    const double nr = hr > 0.0 ? cell_nr : cell_nl + 2.0 * cl;
    const double us = 0.5 * (nl + nr) + (cl - cr), cs = 0.5 * (cl + cr) + 0.25 * (nl - nr);
    const double sl = smaller(smaller(nl - cl, us - cs), 0.0), sr = larger(larger(nr + cr, us + cs), 0.0);
    // HLL as left flux plus a correction that vanishes for equal states
    const double theta = sl / larger(sr - sl, 1e-200);
    const double ql = hl * nl, qr = hr * nr;
    const double dp = 0.5 * g * ((hl - hr) * (hl + hr));
    const double f_mass = ql + theta * ((ql - qr) + sr * (hr - hl));
    const double f_left =
        ql * nl + theta * (((ql * nl - qr * nr) + dp) + sr * (qr - ql));  // minus g hl^2 / 2
    const double f_right = f_left + dp;                                   // minus g hr^2 / 2
    const double f_t = f_mass * (f_mass > 0.0 ? tl : tr);
    const double m = f_mass * s.len.v[k], t = f_t * s.len.v[k];
    const double pl = f_left * s.len.v[k], pr = f_right * s.len.v[k];
    mass[2 * k] = -m, mass[2 * k + 1] = m;
    east[2 * k] = t * ny - pl * nx, east[2 * k + 1] = pr * nx - t * ny;
    north[2 * k] = -(pl * ny + t * nx), north[2 * k + 1] = pr * ny + t * nx;
    const double speed = larger(sr, -sl) * (larger(hl, hr) > 0.0 ? s.rate.v[k] : 0.0);
    // The maxima above drop what is undefined, and so would make it dry land: it counts as infinitely fast.
    const double undefined = 0.0 * (((Hl + Hr) + (s.hul.v[k] + s.hvl.v[k])) + (s.hur.v[k] + s.hvr.v[k]));
    const double seen = undefined == 0.0 && speed >= 0.0 ? speed : kInfinity;
    s.worst.v[k] = larger(seen, s.worst.v[k]);
  }
}

SWE_INLINE void batch_augmented(const Physics& physics, Batch& s, std::int64_t count, double* __restrict mass,
                                double* __restrict east, double* __restrict north) {
  const double dry = physics.dry_tolerance;
  for (std::int64_t k = 0; k < count; ++k) {
    const double nx = s.nx.v[k], ny = s.ny.v[k];
    const double Hl = s.etal.v[k] - s.bl.v[k], Hr = s.etar.v[k] - s.br.v[k];
    const double wl = (Hl > dry ? 1.0 : 0.0) / larger(Hl, dry), wr = (Hr > dry ? 1.0 : 0.0) / larger(Hr, dry);
    const double ul = s.hul.v[k] * wl, vl = s.hvl.v[k] * wl, ur = s.hur.v[k] * wr, vr = s.hvr.v[k] * wr;
    const EdgeFlux f = augmented_flux(physics.gravity, dry, {s.etal.v[k], s.bl.v[k], ul * nx + vl * ny},
                                      {s.etar.v[k], s.br.v[k], ur * nx + vr * ny});
    const double tangential = f.mass > 0.0 ? vl * nx - ul * ny : vr * nx - ur * ny;
    const double m = f.mass * s.len.v[k], t = f.mass * tangential * s.len.v[k];
    const double pl = f.left * s.len.v[k], pr = f.right * s.len.v[k];
    mass[2 * k] = -m, mass[2 * k + 1] = m;
    east[2 * k] = t * ny - pl * nx, east[2 * k + 1] = pr * nx - t * ny;
    north[2 * k] = -(pl * ny + t * nx), north[2 * k + 1] = pr * ny + t * nx;
    const double speed = f.speed * s.rate.v[k];
    const double undefined = 0.0 * (((Hl + Hr) + (s.hul.v[k] + s.hvl.v[k])) + (s.hur.v[k] + s.hvr.v[k]));
    s.worst.v[k] = larger(undefined == 0.0 && speed >= 0.0 ? speed : kInfinity, s.worst.v[k]);
  }
}

SWE_INLINE void batch_fluxes(const Physics& physics, Batch& s, std::int64_t count, double* mass, double* east,
                             double* north) {
  if (physics.solver == RiemannSolver::Augmented)
    batch_augmented(physics, s, count, mass, east, north);
  else
    batch_hllc(physics, s, count, mass, east, north);
}

// What a cell has in the direction of each of its three faces.
struct Triple {
  double v[3];
};

// The plane through the neighbours' values: its steps from the centroid to the faces, and how far it passes
// the cell's own value by there.
struct Plane {
  Triple steps;
  double offset;
};

// Steps to the faces, scaled so that none passes the neighbours' values by more than half, and a part of the
// bend: a crest is not cut.
constexpr double kPass = 1.5, kBend = 0.1;
SWE_INLINE Triple limited(const Plane& plane, const Triple& to_neighbours) {
  const double(&s)[3] = plane.steps.v, (&d)[3] = to_neighbours.v;
  const double bend = kBend * std::abs(plane.offset);
  const double top = kPass * larger(larger(larger(d[0], d[1]), d[2]), 0.0) + bend;
  const double bottom = kPass * smaller(smaller(smaller(d[0], d[1]), d[2]), 0.0) - bend;
  const double highest = larger(larger(s[0], s[1]), s[2]), lowest = smaller(smaller(s[0], s[1]), s[2]);
  double share = 1.0;
  if (highest > top) share = top / highest;
  if (lowest < bottom) share = smaller(share, bottom / lowest);
  return {{share * s[0], share * s[1], share * s[2]}};
}

SWE_INLINE double largest(const Lane& lane) {
  double value = 0;
  for (double w : lane.v) value = larger(w, value);
  return value;
}

// Fluxes of `count` edges, from the states of their cells or, if given, at their faces.
SWE_INLINE double fluxes_of(const Physics& physics, const Fields& cells, const Faces* faces,
                            const EdgeList& edges, std::int64_t count, const Fluxes& fluxes) {
  Batch s;
  for (std::int64_t start = 0; start < count; start += kChunk) {
    const std::int64_t n = count - start < kChunk ? count - start : kChunk;
    if (faces != nullptr)
      s.load_faces(*faces, start, n);
    else
      s.load_cells(cells, edges, start, n);
    s.load_metric(edges, start, n);
    batch_fluxes(physics, s, n, fluxes.mass + 2 * start, fluxes.east + 2 * start, fluxes.north + 2 * start);
  }
  return largest(s.worst);
}

SWE_INLINE int local_edge(const std::int32_t* slots, std::int32_t slot) {
  return slots[0] == slot ? 0 : slots[1] == slot ? 1 : 2;
}

SWE_INLINE Metric::Offset to_face(const Geometry& geo, std::int64_t cell, int k) {
  const mesh::CellShape& shape = geo.shapes[cell];
  return geo.metric->to_face(geo.leaves[cell].level(), shape.direction, shape.y_sum, k);
}

SWE_INLINE CellFaces reconstructed(const Physics& physics, const Fields& cells, const Geometry& geo,
                                   std::int64_t i) {
  const double dry = physics.dry_tolerance;
  const std::int32_t* const s = geo.slots + 3 * i;
  const double eta = cells.eta[i], hu = cells.hu[i], hv = cells.hv[i], b = cells.b[i], depth = eta - b;
  bool linear = geo.linear[i] != 0 && depth > dry;
  std::int32_t other[3];
  Triple e, u, v, z;  // how much higher the neighbours' values are
  for (int k = 0; k < 3; ++k) {
    const std::int32_t edge = s[k] >> 1, cell = (s[k] & 1) ? geo.edges.left[edge] : geo.edges.right[edge];
    other[k] = cell;
    e.v[k] = cells.eta[cell] - eta, z.v[k] = cells.b[cell] - b;
    u.v[k] = cells.hu[cell] - hu, v.v[k] = cells.hv[cell] - hv;
    linear = linear && cells.eta[cell] - cells.b[cell] > dry;
  }
  CellFaces f;
  f.east = f.north = 0;
  if (!linear) {
    for (int k = 0; k < 3; ++k) f.eta[k] = eta, f.hu[k] = hu, f.hv[k] = hv, f.b[k] = b;
    return f;
  }
  Triple face_x, face_y, x, y;  // ways to the faces, and to the neighbours
  for (int k = 0; k < 3; ++k) {
    const Metric::Offset mine = to_face(geo, i, k);
    const std::int32_t across = s[k] ^ 1;
    Metric::Offset theirs;
    if ((across >> 1) < geo.interior)
      theirs =
          to_face(geo, other[k], local_edge(geo.slots + 3 * static_cast<std::int64_t>(other[k]), across));
    else
      theirs = {geo.outer_x[across - 2 * geo.interior], geo.outer_y[across - 2 * geo.interior]};
    face_x.v[k] = mine.x, face_y.v[k] = mine.y;
    x.v[k] = mine.x - theirs.x, y.v[k] = mine.y - theirs.y;
  }
  const double x1 = x.v[1] - x.v[0], y1 = y.v[1] - y.v[0], x2 = x.v[2] - x.v[0], y2 = y.v[2] - y.v[0];
  const double scale = 1.0 / (x1 * y2 - x2 * y1);
  // From the differences to the neighbours to those to the faces.
  const auto to_faces = [&](const Triple& d) __attribute__((always_inline)) {
    const double d1 = d.v[1] - d.v[0], d2 = d.v[2] - d.v[0];
    const double gx = (d1 * y2 - d2 * y1) * scale, gy = (d2 * x1 - d1 * x2) * scale;
    Plane plane{{}, d.v[0] - (gx * x.v[0] + gy * y.v[0])};
    for (int k = 0; k < 3; ++k) plane.steps.v[k] = gx * face_x.v[k] + gy * face_y.v[k];
    return plane;
  };
  const Triple fe = limited(to_faces(e), e), fu = limited(to_faces(u), u), fv = limited(to_faces(v), v);
  const Triple fz = to_faces(z).steps;
  double thinned = 0.5 * depth;
  for (int k = 0; k < 3; ++k) thinned = larger(thinned, std::abs(fe.v[k] - fz.v[k]));
  const double share = 0.5 * depth / thinned;
  for (int k = 0; k < 3; ++k) {
    const double rise = share * fe.v[k], bed = b + share * fz.v[k];
    f.eta[k] = eta + rise, f.b[k] = bed;
    f.hu[k] = hu + share * fu.v[k], f.hv[k] = hv + share * fv.v[k];
    // surface force between centre and face; the constant part of the pressure sums to zero over the cell
    const EdgeMetric& m = geo.edges.table[geo.edges.edge_class[s[k] >> 1]];
    const double sum = depth + ((eta + rise) - bed);
    const double force = 0.5 * physics.gravity * sum * rise * m.length * ((s[k] & 1) ? 1.0 : -1.0);
    f.east += force * m.nx, f.north += force * m.ny;
  }
  return f;
}

// Where the slot of an interior edge that touches the section is in its scratch.
SWE_INLINE std::int64_t place_of(const Section& section, std::int32_t slot) {
  const std::int32_t edge = slot >> 1;
  if (edge >= section.first_edge) return slot - 2 * static_cast<std::int64_t>(section.first_edge);
  const auto found = std::lower_bound(section.earlier.begin(), section.earlier.end(), edge);
  return 2 * (section.last_edge - section.first_edge + (found - section.earlier.begin())) + (slot & 1);
}

// States at the section's interior edges, of its cells and of those across; into the gains what their slopes
// push.
SWE_INLINE void find_faces(const Physics& physics, const Fields& cells, const Geometry& geo,
                           const Section& section, const Faces& faces, const Gains& gains) {
  const auto put = [&](std::int64_t at, const CellFaces& f, int k) __attribute__((always_inline)) {
    faces.eta[at] = f.eta[k], faces.hu[at] = f.hu[k], faces.hv[at] = f.hv[k], faces.b[at] = f.b[k];
  };
  for (std::int64_t i = section.begin; i < section.end; ++i) {
    const CellFaces f = reconstructed(physics, cells, geo, i);
    for (int k = 0; k < 3; ++k)
      if (const std::int32_t slot = geo.slots[3 * i + k]; (slot >> 1) < geo.interior)
        put(place_of(section, slot), f, k);
    gains.east[i] = f.east, gains.north[i] = f.north;
  }
  const auto put_across = [&](std::int64_t cell, std::int32_t slot) __attribute__((always_inline)) {
    put(place_of(section, slot), reconstructed(physics, cells, geo, cell),
        local_edge(geo.slots + 3 * cell, slot));
  };
  for (std::int32_t edge = section.first_edge; edge < section.last_edge; ++edge)
    if (geo.edges.right[edge] >= section.end) put_across(geo.edges.right[edge], 2 * edge + 1);
  for (const std::int32_t edge : section.earlier) put_across(geo.edges.left[edge], 2 * edge);
}

// Sums up what flows through each cell's three slots.
SWE_INLINE void sum_up(const Geometry& geo, const Section& section, const Fluxes& inside, const Fluxes& outer,
                       bool pushed, const Gains& gains) {
  for (std::int64_t i = section.begin; i < section.end; ++i) {
    double m[3], x[3], y[3];
    for (int k = 0; k < 3; ++k) {
      const std::int32_t slot = geo.slots[3 * i + k];
      const bool here = (slot >> 1) < geo.interior;
      const Fluxes& from = here ? inside : outer;
      const std::int64_t at =
          here ? place_of(section, slot) : slot - 2 * static_cast<std::int64_t>(geo.interior);
      m[k] = from.mass[at], x[k] = from.east[at], y[k] = from.north[at];
    }
    gains.mass[i] = (m[0] + m[1]) + m[2];
    gains.east[i] = ((x[0] + x[1]) + x[2]) + (pushed ? gains.east[i] : 0.0);
    gains.north[i] = ((y[0] + y[1]) + y[2]) + (pushed ? gains.north[i] : 0.0);
  }
}

}  // namespace

EMPI_TARGET_CLONES
CellFaces faces_of(const Physics& physics, const Fields& cells, const Geometry& geometry, std::int64_t i) {
  return reconstructed(physics, cells, geometry, i);
}

EMPI_TARGET_CLONES
double outer_fluxes(const Physics& physics, const Fields& cells, const Faces* faces, const Geometry& geometry,
                    std::int64_t count, const Fluxes& fluxes) {
  const EdgeList& all = geometry.edges;
  const EdgeList outer{all.left + geometry.interior, all.right + geometry.interior,
                       all.edge_class + geometry.interior, all.table};
  return fluxes_of(physics, cells, faces, outer, count, fluxes);
}

EMPI_TARGET_CLONES
double section_gains(const Physics& physics, const Fields& cells, const Geometry& geo, const Section& section,
                     const Fluxes& outer, Scratch& scratch, const Gains& gains) {
  const std::int64_t own = section.last_edge - section.first_edge;
  const auto room = 2 * (static_cast<std::size_t>(own) + section.earlier.size());
  const bool second = physics.order == 2;
  for (auto& list : scratch.fluxes)
    if (list.size() < room) list.resize(room);
  if (second)
    for (auto& list : scratch.faces)
      if (list.size() < room) list.resize(room);
  auto& [eta, hu, hv, b] = scratch.faces;
  if (second) find_faces(physics, cells, geo, section, {eta.data(), hu.data(), hv.data(), b.data()}, gains);

  scratch.left.clear(), scratch.right.clear(), scratch.edge_class.clear();
  for (const std::int32_t edge : section.earlier) {
    scratch.left.push_back(geo.edges.left[edge]), scratch.right.push_back(geo.edges.right[edge]);
    scratch.edge_class.push_back(geo.edges.edge_class[edge]);
  }
  double rate = 0;
  const auto flow = [&](const EdgeList& edges, std::int64_t begin,
                        std::int64_t count) __attribute__((always_inline)) {
    const std::int64_t at = 2 * begin;
    const Faces faces{eta.data() + at, hu.data() + at, hv.data() + at, b.data() + at};
    const Fluxes fluxes{scratch.fluxes[0].data() + at, scratch.fluxes[1].data() + at,
                        scratch.fluxes[2].data() + at};
    rate = larger(fluxes_of(physics, cells, second ? &faces : nullptr, edges, count, fluxes), rate);
  };
  flow({geo.edges.left + section.first_edge, geo.edges.right + section.first_edge,
        geo.edges.edge_class + section.first_edge, geo.edges.table},
       0, own);
  flow({scratch.left.data(), scratch.right.data(), scratch.edge_class.data(), geo.edges.table}, own,
       static_cast<std::int64_t>(section.earlier.size()));
  sum_up(geo, section, {scratch.fluxes[0].data(), scratch.fluxes[1].data(), scratch.fluxes[2].data()}, outer,
         second, gains);
  return rate;
}

EMPI_TARGET_CLONES
bool update_cells(const Physics& physics, const Fields& cells, const double* inverse_area, double dt,
                  std::int64_t count, const Gains& gains, const Before& before) {
  double *const eta = cells.eta, *const hu = cells.hu, *const hv = cells.hv;
  const double* const b = cells.b;
  const double dry = physics.dry_tolerance;
  std::int64_t unsound = 0;
  // Generic in how a state is gained from that before the step, so that each stage gets a loop of its own.
  const auto update = [&](std::int64_t i, auto blend) __attribute__((always_inline)) {
    const double k = dt * inverse_area[i];
    const double next = blend(before.eta, i, eta[i] + k * gains.mass[i]);
    const double hole = b[i] - next;  // mended where it is rounding, kept to be found where it is not
    const bool covered = hole <= kRounding * (1.0 + std::abs(b[i]));
    const double e = covered ? larger(next, b[i]) : next;
    const bool flows = e - b[i] > dry;
    const double x = blend(before.hu, i, hu[i] + k * gains.east[i]);
    const double y = blend(before.hv, i, hv[i] + k * gains.north[i]);
    unsound |= !covered | !(0.0 * (x + y) == 0.0);
    eta[i] = e;
    hu[i] = flows ? x : 0.0;
    hv[i] = flows ? y : 0.0;
  };
  const auto fresh = [](const double*, std::int64_t, double value)
                         __attribute__((always_inline)) { return value; };
  const auto mean = [](const double* state, std::int64_t i, double value)
                        __attribute__((always_inline)) { return 0.5 * (state[i] + value); };
  if (before.eta != nullptr) {
    for (std::int64_t i = 0; i < count; ++i) update(i, mean);
  } else {
    for (std::int64_t i = 0; i < count; ++i) update(i, fresh);
  }
  return unsound == 0;
}

EMPI_TARGET_CLONES
void apply_rotation(const Fields& cells, const double* __restrict f, double dt, std::int64_t count) {
  double* const __restrict hu = cells.hu, * const __restrict hv = cells.hv;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const double t = 0.5 * dt * f[i], scale = 1.0 / (1.0 + t * t);
    const double x = hu[i], y = hv[i];
    hu[i] = ((1.0 - t * t) * x + 2.0 * t * y) * scale;
    hv[i] = ((1.0 - t * t) * y - 2.0 * t * x) * scale;
  }
}

void apply_friction(const Physics& physics, const Fields& cells, double dt,
                    std::span<const RoughCell> rough) {
  for (const auto& [i, manning] : rough) {
    const double h = cells.eta[i] - cells.b[i];
    if (h > physics.friction_depth || h <= physics.dry_tolerance) continue;
    const double discharge = std::sqrt(cells.hu[i] * cells.hu[i] + cells.hv[i] * cells.hv[i]);
    const double factor = dt * physics.gravity * manning * manning;
    const double damping = 1 + factor * discharge / (h * h * std::cbrt(h));
    cells.hu[i] /= damping;
    cells.hv[i] /= damping;
  }
}

}  // namespace swe
