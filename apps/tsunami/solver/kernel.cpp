// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/solver/kernel.hpp"

#include <cmath>
#include <limits>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SWE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SWE_CLONES
#endif
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

SWE_INLINE void batch_fluxes(const Physics& physics, Batch& s, std::int64_t count, double* __restrict mass,
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

SWE_INLINE double largest(const Lane& lane) {
  double value = 0;
  for (double w : lane.v) value = larger(w, value);
  return value;
}

}  // namespace

SWE_CLONES
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

SWE_CLONES
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

SWE_CLONES
bool update_cells(const Physics& physics, const Fields& cells, const std::int32_t* slots,
                  const double* inverse_area, double dt, std::int64_t count, const Fluxes& fluxes,
                  const double* inner_east, const double* inner_north) {
  double *const eta = cells.eta, *const hu = cells.hu, *const hv = cells.hv;
  const double* const b = cells.b;
  const double *const mass = fluxes.mass, *const east = fluxes.east, *const north = fluxes.north;
  const double dry = physics.dry_tolerance;
  std::int64_t unsound = 0;
  const auto update = [&](std::int64_t i, double inner_x, double inner_y) __attribute__((always_inline)) {
    const std::int32_t s = slots[3 * i], t = slots[3 * i + 1], u = slots[3 * i + 2];
    const double k = dt * inverse_area[i];
    const double next = eta[i] + k * ((mass[s] + mass[t]) + mass[u]);
    const double hole = b[i] - next;  // mended where it is rounding, kept to be found where it is not
    const bool covered = hole <= kRounding * (1.0 + std::abs(b[i]));
    const double e = covered ? larger(next, b[i]) : next;
    const bool flows = e - b[i] > dry;
    const double x = hu[i] + k * (((east[s] + east[t]) + east[u]) + inner_x);
    const double y = hv[i] + k * (((north[s] + north[t]) + north[u]) + inner_y);
    unsound |= !covered | !(0.0 * (x + y) == 0.0);
    eta[i] = e;
    hu[i] = flows ? x : 0.0;
    hv[i] = flows ? y : 0.0;
  };
  if (inner_east != nullptr) {
    for (std::int64_t i = 0; i < count; ++i) update(i, inner_east[i], inner_north[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) update(i, 0.0, 0.0);
  }
  return unsound == 0;
}

SWE_CLONES
void reconstruct(const Physics& physics, const Fields& cells, const EdgeList& edges, const Reconstruction& r,
                 double half_dt, std::int64_t count, const Faces& faces) {
  const double g = physics.gravity;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t* const s = r.slots + 3 * i;
    const double eta = cells.eta[i], hu = cells.hu[i], hv = cells.hv[i], depth = eta - cells.b[i];
    r.east[i] = r.north[i] = 0;
    bool smooth = r.linear[i] != 0;
    double de[3], dx_[3], dy_[3], dhu[3], dhv[3];
    for (int k = 0; k < 3; ++k) {
      const std::int32_t e = s[k] >> 1, other = (s[k] & 1) ? edges.left[e] : edges.right[e];
      de[k] = cells.eta[other] - eta, dhu[k] = cells.hu[other] - hu, dhv[k] = cells.hv[other] - hv;
      dx_[k] = r.to_face_x[s[k]] - r.to_face_x[s[k] ^ 1], dy_[k] = r.to_face_y[s[k]] - r.to_face_y[s[k] ^ 1];
    }
    // gradient of the plane through the three neighbours' values
    const double x1 = dx_[1] - dx_[0], y1 = dy_[1] - dy_[0], x2 = dx_[2] - dx_[0], y2 = dy_[2] - dy_[0];
    const double scale = 1.0 / (x1 * y2 - x2 * y1);
    const auto gradient = [&](const double(&d)[3], double& gx, double& gy) {
      const double d1 = d[1] - d[0], d2 = d[2] - d[0];
      gx = (d1 * y2 - d2 * y1) * scale, gy = (d2 * x1 - d1 * x2) * scale;
    };
    double ex, ey, ux, uy, vx, vy;
    gradient(de, ex, ey), gradient(dhu, ux, uy), gradient(dhv, vx, vy);
    double step[3];
    for (int k = 0; k < 3; ++k) {
      step[k] = ex * r.to_face_x[s[k]] + ey * r.to_face_y[s[k]];
      smooth = smooth && std::abs(step[k]) <= physics.linear_slope * depth;
    }
    if (!smooth) {
      for (int k = 0; k < 3; ++k) faces.eta[s[k]] = eta, faces.hu[s[k]] = hu, faces.hv[s[k]] = hv;
      continue;
    }
    // half a step of the linear equations inside of the cell (MUSCL-Hancock)
    const double half_eta = eta - half_dt * (ux + vy);
    const double half_hu = hu - half_dt * (g * depth) * ex, half_hv = hv - half_dt * (g * depth) * ey;
    double east = 0, north = 0;
    for (int k = 0; k < 3; ++k) {
      const std::int32_t slot = s[k];
      const double fx = r.to_face_x[slot], fy = r.to_face_y[slot];
      const double eta_face = half_eta + step[k];
      faces.eta[slot] = eta_face;
      faces.hu[slot] = half_hu + (ux * fx + uy * fy);
      faces.hv[slot] = half_hv + (vx * fx + vy * fy);
      // surface force between centre and face; the constant part of the pressure sums to zero over the cell
      const EdgeMetric& m = edges.table[edges.edge_class[slot >> 1]];
      const double sum = (half_eta - cells.b[i]) + (eta_face - faces.b[slot]);
      const double force = 0.5 * g * sum * step[k] * m.length * ((slot & 1) ? 1.0 : -1.0);
      east += force * m.nx, north += force * m.ny;
    }
    r.east[i] = east, r.north[i] = north;
  }
}

void apply_friction(const Physics& physics, const Fields& cells, double dt,
                    std::span<const std::int32_t> shallow) {
  const double factor = dt * physics.gravity * physics.manning * physics.manning;
  for (const std::int32_t i : shallow) {
    const double h = cells.eta[i] - cells.b[i];
    if (h > physics.friction_depth || h <= physics.dry_tolerance) continue;
    const double discharge = std::sqrt(cells.hu[i] * cells.hu[i] + cells.hv[i] * cells.hv[i]);
    const double damping = 1 + factor * discharge / (h * h * std::cbrt(h));
    cells.hu[i] /= damping;
    cells.hv[i] /= damping;
  }
}

}  // namespace swe
