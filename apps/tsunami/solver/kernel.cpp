// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/solver/kernel.hpp"

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

}  // namespace

EMPI_TARGET_CLONES
double edge_fluxes(const Physics& physics, const Fields& cells, const EdgeList& edges, std::int64_t begin,
                   std::int64_t end, const Fluxes& fluxes) {
  Batch s;
  for (std::int64_t start = begin; start < end; start += kChunk) {
    const std::int64_t count = end - start < kChunk ? end - start : kChunk;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int32_t l = edges.left[start + k], r = edges.right[start + k];
      s.etal.v[k] = cells.eta[l], s.hul.v[k] = cells.hu[l], s.hvl.v[k] = cells.hv[l], s.bl.v[k] = cells.b[l];
      s.etar.v[k] = cells.eta[r], s.hur.v[k] = cells.hu[r], s.hvr.v[k] = cells.hv[r], s.br.v[k] = cells.b[r];
    }
    s.load_metric(edges, start, count);
    batch_fluxes(physics, s, count, fluxes.mass + 2 * start, fluxes.east + 2 * start,
                 fluxes.north + 2 * start);
  }
  return largest(s.worst);
}

EMPI_TARGET_CLONES
double face_fluxes(const Physics& physics, const Faces& faces, const EdgeList& edges, std::int64_t begin,
                   std::int64_t end, const Fluxes& fluxes) {
  Batch s;
  for (std::int64_t start = begin; start < end; start += kChunk) {
    const std::int64_t count = end - start < kChunk ? end - start : kChunk;
    const double *const eta = faces.eta + 2 * start, *const hu = faces.hu + 2 * start;
    const double *const hv = faces.hv + 2 * start, *const b = faces.b + 2 * start;
    for (std::int64_t k = 0; k < count; ++k) {
      s.etal.v[k] = eta[2 * k], s.hul.v[k] = hu[2 * k], s.hvl.v[k] = hv[2 * k], s.bl.v[k] = b[2 * k];
      s.etar.v[k] = eta[2 * k + 1], s.hur.v[k] = hu[2 * k + 1], s.hvr.v[k] = hv[2 * k + 1],
      s.br.v[k] = b[2 * k + 1];
    }
    s.load_metric(edges, start, count);
    batch_fluxes(physics, s, count, fluxes.mass + 2 * start, fluxes.east + 2 * start,
                 fluxes.north + 2 * start);
  }
  return largest(s.worst);
}

EMPI_TARGET_CLONES
bool update_cells(const Physics& physics, const Fields& cells, const std::int32_t* slots,
                  const double* inverse_area, double dt, std::int64_t count, const Fluxes& fluxes,
                  const Stage& stage) {
  double *const eta = cells.eta, *const hu = cells.hu, *const hv = cells.hv;
  const double* const b = cells.b;
  const double *const mass = fluxes.mass, *const east = fluxes.east, *const north = fluxes.north;
  const double dry = physics.dry_tolerance;
  std::int64_t unsound = 0;
  // Generic in how a state is gained from that before the step, so that each order gets a loop of its own.
  const auto update = [&](std::int64_t i, double inner_x, double inner_y,
                          auto blend) __attribute__((always_inline)) {
    const std::int32_t s = slots[3 * i], t = slots[3 * i + 1], u = slots[3 * i + 2];
    const double k = dt * inverse_area[i];
    const double next = blend(stage.eta, i, eta[i] + k * ((mass[s] + mass[t]) + mass[u]));
    const double hole = b[i] - next;  // mended where it is rounding, kept to be found where it is not
    const bool covered = hole <= kRounding * (1.0 + std::abs(b[i]));
    const double e = covered ? larger(next, b[i]) : next;
    const bool flows = e - b[i] > dry;
    const double x = blend(stage.hu, i, hu[i] + k * (((east[s] + east[t]) + east[u]) + inner_x));
    const double y = blend(stage.hv, i, hv[i] + k * (((north[s] + north[t]) + north[u]) + inner_y));
    unsound |= !covered | !(0.0 * (x + y) == 0.0);
    eta[i] = e;
    hu[i] = flows ? x : 0.0;
    hv[i] = flows ? y : 0.0;
  };
  const auto fresh = [](const double*, std::int64_t, double value)
                         __attribute__((always_inline)) { return value; };
  const auto mean = [](const double* before, std::int64_t i, double value)
                        __attribute__((always_inline)) { return 0.5 * (before[i] + value); };
  if (stage.eta != nullptr) {
    for (std::int64_t i = 0; i < count; ++i) update(i, stage.east[i], stage.north[i], mean);
  } else if (stage.east != nullptr) {
    for (std::int64_t i = 0; i < count; ++i) update(i, stage.east[i], stage.north[i], fresh);
  } else {
    for (std::int64_t i = 0; i < count; ++i) update(i, 0.0, 0.0, fresh);
  }
  return unsound == 0;
}

EMPI_TARGET_CLONES
void reconstruct(const Physics& physics, const Fields& cells, const EdgeList& edges, const Reconstruction& r,
                 std::int64_t count, const Faces& faces) {
  const double g = physics.gravity, dry = physics.dry_tolerance;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t* const s = r.slots + 3 * i;
    const double eta = cells.eta[i], hu = cells.hu[i], hv = cells.hv[i], b = cells.b[i], depth = eta - b;
    bool linear = r.linear[i] != 0 && depth > dry;
    Triple x, y, e, u, v, z;  // ways to the neighbours, and how much higher their values are
    for (int k = 0; k < 3; ++k) {
      const std::int32_t edge = s[k] >> 1, other = (s[k] & 1) ? edges.left[edge] : edges.right[edge];
      x.v[k] = r.to_face_x[s[k]] - r.to_face_x[s[k] ^ 1], y.v[k] = r.to_face_y[s[k]] - r.to_face_y[s[k] ^ 1];
      e.v[k] = cells.eta[other] - eta, z.v[k] = cells.b[other] - b;
      u.v[k] = cells.hu[other] - hu, v.v[k] = cells.hv[other] - hv;
      linear = linear && cells.eta[other] - cells.b[other] > dry;
    }
    r.east[i] = r.north[i] = 0;
    if (!linear) {
      for (int k = 0; k < 3; ++k)
        faces.eta[s[k]] = eta, faces.hu[s[k]] = hu, faces.hv[s[k]] = hv, faces.b[s[k]] = b;
      continue;
    }
    const double x1 = x.v[1] - x.v[0], y1 = y.v[1] - y.v[0], x2 = x.v[2] - x.v[0], y2 = y.v[2] - y.v[0];
    const double scale = 1.0 / (x1 * y2 - x2 * y1);
    // From the differences to the neighbours to those to the faces.
    const auto to_faces = [&](const Triple& d) __attribute__((always_inline)) {
      const double d1 = d.v[1] - d.v[0], d2 = d.v[2] - d.v[0];
      const double gx = (d1 * y2 - d2 * y1) * scale, gy = (d2 * x1 - d1 * x2) * scale;
      Plane f{{}, d.v[0] - (gx * x.v[0] + gy * y.v[0])};
      for (int k = 0; k < 3; ++k) f.steps.v[k] = gx * r.to_face_x[s[k]] + gy * r.to_face_y[s[k]];
      return f;
    };
    const Triple fe = limited(to_faces(e), e), fu = limited(to_faces(u), u), fv = limited(to_faces(v), v);
    const Triple fz = to_faces(z).steps;
    double thinned = 0.5 * depth;
    for (int k = 0; k < 3; ++k) thinned = larger(thinned, std::abs(fe.v[k] - fz.v[k]));
    const double share = 0.5 * depth / thinned;
    double east = 0, north = 0;
    for (int k = 0; k < 3; ++k) {
      const std::int32_t slot = s[k];
      const double rise = share * fe.v[k], bed = b + share * fz.v[k];
      faces.eta[slot] = eta + rise, faces.b[slot] = bed;
      faces.hu[slot] = hu + share * fu.v[k], faces.hv[slot] = hv + share * fv.v[k];
      // surface force between centre and face; the constant part of the pressure sums to zero over the cell
      const EdgeMetric& m = edges.table[edges.edge_class[slot >> 1]];
      const double sum = depth + ((eta + rise) - bed);
      const double force = 0.5 * g * sum * rise * m.length * ((slot & 1) ? 1.0 : -1.0);
      east += force * m.nx, north += force * m.ny;
    }
    r.east[i] = east, r.north[i] = north;
  }
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
