// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/solver/kernel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "apps/tsunami/solver/augmented_riemann.hpp"
#include "apps/tsunami/solver/branchless.hpp"
#include "apps/tsunami/solver/reconstruction.hpp"
#include "runtime/base/target_clones.hpp"

namespace swe {
namespace {

constexpr double kRounding = 1e-12;  // of a depth of 1 m and of the bed's elevation
// Of what is found to be below the bed: so much more, or floats would not show it.
template <class Stored>
constexpr double kSeen = std::numeric_limits<Stored>::digits < 30 ? 1e-6 : 0.0;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A chunk of edges: what is on their two sides, the edges themselves, and where their fluxes go.
struct Batch {
  Lane nx, ny, len, rate;
  Lane worst{};
  const double* __restrict etal, * __restrict hul, * __restrict hvl, * __restrict bl, * __restrict forcel;
  const double* __restrict etar, * __restrict hur, * __restrict hvr, * __restrict br, * __restrict forcer;
  double* __restrict mass, * __restrict eastl, * __restrict northl, * __restrict eastr, * __restrict northr;

  SWE_INLINE void look_at(const FaceStates& f, std::int64_t start) {
    etal = f.eta + start, hul = f.hu + start, hvl = f.hv + start, bl = f.b + start;
    etar = etal + f.stride, hur = hul + f.stride, hvr = hvl + f.stride, br = bl + f.stride;
    if (f.force != nullptr) forcel = f.force + start, forcer = forcel + f.stride;
  }
  SWE_INLINE void write_to(const Fluxes& f, std::int64_t start) {
    mass = f.mass + start, eastl = f.east + start, northl = f.north + start;
    eastr = eastl + f.stride, northr = northl + f.stride;
  }
  SWE_INLINE void load_metric(const Connections& c, std::int32_t edge, std::int64_t k) {
    const EdgeMetric& m = c.table[c.edge_class[edge]];
    nx.v[k] = m.nx, ny.v[k] = m.ny, len.v[k] = m.length, rate.v[k] = m.rate;
  }
};

template <bool second>
SWE_INLINE void batch_hllc(const Physics& physics, Batch& s, std::int64_t count) {
  const double g = physics.gravity, dry = physics.dry_tolerance;
#pragma omp simd
  for (std::int64_t k = 0; k < count; ++k) {
    const double nx = s.nx.v[k], ny = s.ny.v[k];
    // velocities of the cells
    const double Hl = s.etal[k] - s.bl[k], Hr = s.etar[k] - s.br[k];
    const double wl = (Hl > dry ? 1.0 : 0.0) / larger(Hl, dry), wr = (Hr > dry ? 1.0 : 0.0) / larger(Hr, dry);
    const double ul = s.hul[k] * wl, vl = s.hvl[k] * wl, ur = s.hur[k] * wr, vr = s.hvr[k] * wr;
    const double cell_nl = ul * nx + vl * ny, cell_nr = ur * nx + vr * ny;
    const double tl = vl * nx - ul * ny, tr = vr * nx - ur * ny;
    // hydrostatic reconstruction (eq. 2.9, 2.10)
    const double sill = larger(s.bl[k], s.br[k]);
    const double hl = larger(s.etal[k] - sill, 0.0), hr = larger(s.etar[k] - sill, 0.0);
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
    const double pl = (second ? f_left + s.forcel[k] : f_left) * s.len.v[k];
    const double pr = (second ? f_right + s.forcer[k] : f_right) * s.len.v[k];
    s.mass[k] = m;
    s.eastl[k] = t * ny - pl * nx, s.eastr[k] = pr * nx - t * ny;
    s.northl[k] = -(pl * ny + t * nx), s.northr[k] = pr * ny + t * nx;
    const double speed = larger(sr, -sl) * (larger(hl, hr) > 0.0 ? s.rate.v[k] : 0.0);
    // The maxima above drop what is undefined, and so would make it dry land: it counts as infinitely fast.
    const double undefined = 0.0 * (((Hl + Hr) + (s.hul[k] + s.hvl[k])) + (s.hur[k] + s.hvr[k]));
    const double seen = undefined == 0.0 && speed >= 0.0 ? speed : kInfinity;
    s.worst.v[k] = larger(seen, s.worst.v[k]);
  }
}

template <bool second, bool shores>
SWE_INLINE void lanes_augmented(const Physics& physics, Batch& s, std::int64_t count) {
  const double g = physics.gravity, dry = physics.dry_tolerance;
#pragma omp simd
  for (std::int64_t k = 0; k < count; ++k) {
    const double nx = s.nx.v[k], ny = s.ny.v[k];
    const double Hl = s.etal[k] - s.bl[k], Hr = s.etar[k] - s.br[k];
    const double wl = (Hl > dry ? 1.0 : 0.0) / larger(Hl, dry), wr = (Hr > dry ? 1.0 : 0.0) / larger(Hr, dry);
    const double ul = s.hul[k] * wl, vl = s.hvl[k] * wl, ur = s.hur[k] * wr, vr = s.hvr[k] * wr;
    const EdgeState left{s.etal[k], s.bl[k], ul * nx + vl * ny}, right{s.etar[k], s.br[k], ur * nx + vr * ny};
    const EdgeFlux f = shores ? shore_flux(g, dry, left, right) : wet_flux(g, dry, left, right);
    const double tangential = f.mass > 0.0 ? vl * nx - ul * ny : vr * nx - ur * ny;
    const double m = f.mass * s.len.v[k], t = f.mass * tangential * s.len.v[k];
    const double pl = (second ? f.left + s.forcel[k] : f.left) * s.len.v[k];
    const double pr = (second ? f.right + s.forcer[k] : f.right) * s.len.v[k];
    s.mass[k] = m;
    s.eastl[k] = t * ny - pl * nx, s.eastr[k] = pr * nx - t * ny;
    s.northl[k] = -(pl * ny + t * nx), s.northr[k] = pr * ny + t * nx;
    const double speed = f.speed * s.rate.v[k];
    const double undefined = 0.0 * (((Hl + Hr) + (s.hul[k] + s.hvl[k])) + (s.hur[k] + s.hvr[k]));
    const double seen = undefined == 0.0 && speed >= 0.0 ? speed : kInfinity;
    s.worst.v[k] = larger(seen, s.worst.v[k]);
  }
}

// Shores cost twice as much, and are few.
template <bool second>
SWE_INLINE void batch_augmented(const Physics& physics, Batch& s, std::int64_t count) {
  const double dry = physics.dry_tolerance;
  int shores = 0;
  for (std::int64_t k = 0; k < count; ++k)
    shores |= static_cast<int>(!(s.etal[k] - s.bl[k] > dry)) | static_cast<int>(!(s.etar[k] - s.br[k] > dry));
  if (shores != 0)
    lanes_augmented<second, true>(physics, s, count);
  else
    lanes_augmented<second, false>(physics, s, count);
}

template <bool second>
SWE_INLINE void batch_fluxes(const Physics& physics, Batch& s, std::int64_t count) {
  if (physics.solver == RiemannSolver::Augmented)
    batch_augmented<second>(physics, s, count);
  else
    batch_hllc<second>(physics, s, count);
}

SWE_INLINE double largest(const Lane& lane) {
  double value = 0;
  for (double w : lane.v) value = larger(w, value);
  return value;
}

// Fluxes of the scratch's edges, whose states `gather` brings, and from them the gains of the cells.
template <bool second, class Stored, class Gather>
SWE_INLINE double section_gains(const Physics& physics, const Connections& c, const Section& section,
                                const FaceStates& faces, const Fluxes& fluxes, const Gains<Stored>& gains,
                                double* border_mass, Gather gather) {
  Batch batch;
  const std::int32_t range = section.edges(), all = section.scratch_edges();
  const auto flow = [&](std::int32_t begin, std::int32_t end, auto edge_of) __attribute__((always_inline)) {
    for (std::int32_t start = begin; start < end; start += kChunk) {
      const std::int64_t count = end - start < kChunk ? end - start : kChunk;
      for (std::int64_t k = 0; k < count; ++k) gather(k, edge_of(start + static_cast<std::int32_t>(k)));
      for (std::int64_t k = 0; k < count; ++k)
        batch.load_metric(c, edge_of(start + static_cast<std::int32_t>(k)), k);
      batch.look_at(faces, second ? start : 0);
      batch.write_to(fluxes, start);
      batch_fluxes<second>(physics, batch, count);
    }
  };
  flow(0, range, [&](std::int32_t k) __attribute__((always_inline)) { return section.edge_begin + k; });
  const std::int32_t* const seams = section.seams.data();
  const auto edge_of_seam = [&](std::int32_t k)
                                __attribute__((always_inline)) { return c.slots[seams[k - range]] >> 1; };
  flow(range, all, edge_of_seam);
  for (std::int32_t k = range; k < all; ++k)
    if (const std::int32_t edge = edge_of_seam(k); edge >= c.first_border)
      border_mass[edge - c.first_border] = -fluxes.mass[k];

  std::int32_t seam = range;
  for (std::int32_t i = section.cell_begin; i < section.cell_end; ++i) {
    double m[3], x[3], y[3];
    for (int k = 0; k < 3; ++k) {
      const std::int32_t s = c.slots[3 * static_cast<std::ptrdiff_t>(i) + k];
      const std::int32_t in_range = (s >> 1) - section.edge_begin;
      const bool is_seam = static_cast<std::uint32_t>(in_range) >= static_cast<std::uint32_t>(range);
      const std::int32_t edge = is_seam ? seam : in_range;
      seam += static_cast<std::int32_t>(is_seam);
      const std::int64_t at = (s & 1) * fluxes.stride + edge;
      m[k] = (s & 1) != 0 ? fluxes.mass[edge] : -fluxes.mass[edge];
      x[k] = fluxes.east[at], y[k] = fluxes.north[at];
    }
    gains.volume[i] = static_cast<Stored>((m[0] + m[1]) + m[2]);
    gains.east[i] = static_cast<Stored>((x[0] + x[1]) + x[2]);
    gains.north[i] = static_cast<Stored>((y[0] + y[1]) + y[2]);
  }
  return largest(batch.worst);
}

}  // namespace

void Scratch::fit(std::int32_t edges) {
  // Forces of cells outside are read and not used.
  stride_ = (std::max<std::int64_t>(edges, kChunk) + 8) & ~7ll;
  values_.resize(static_cast<std::size_t>(15 * stride_));
}

FaceStates Scratch::faces() {
  double* const v = values_.data();
  const std::int64_t both = 2 * stride_;
  return {v, v + both, v + 2 * both, v + 3 * both, v + 4 * both, stride_};
}

Fluxes Scratch::fluxes() {
  double* const v = values_.data() + 10 * stride_;
  return {v, v + stride_, v + 3 * stride_, stride_};
}

template <class Stored>
EMPI_TARGET_CLONES double gains_order1(const Physics& physics, const Fields<Stored>& cells,
                                       const Connections& c, const Section& section, Scratch& scratch,
                                       const Gains<Stored>& gains, double* border_mass) {
  struct {
    Lane eta[2], hu[2], hv[2], b[2];
  } sides;
  const FaceStates faces{sides.eta[0].v, sides.hu[0].v, sides.hv[0].v, sides.b[0].v, nullptr, kChunk};
  const auto gather = [&](std::int64_t k, std::int32_t edge) __attribute__((always_inline)) {
    const std::int32_t cell[] = {c.left[edge], c.right[edge]};
    for (int side : {0, 1}) {
      sides.eta[side].v[k] = cells.eta[cell[side]], sides.hu[side].v[k] = cells.hu[cell[side]];
      sides.hv[side].v[k] = cells.hv[cell[side]], sides.b[side].v[k] = cells.b[cell[side]];
    }
  };
  return section_gains<false>(physics, c, section, faces, scratch.fluxes(), gains, border_mass, gather);
}

template <class Stored>
EMPI_TARGET_CLONES double gains_order2(const Physics& physics, const Fields<Stored>& cells,
                                       const Connections& c, const Section& section, const FaceStates& outer,
                                       Scratch& scratch, const Gains<Stored>& gains, double* border_mass) {
  const FaceStates faces = scratch.faces();
  reconstruct(physics, cells, c, section, faces);
  for (const FaceAt& f : section.outer) {
    const std::int64_t at = faces.index(f.at);
    faces.eta[at] = outer.eta[f.face], faces.hu[at] = outer.hu[f.face], faces.hv[at] = outer.hv[f.face];
    faces.b[at] = outer.b[f.face];
  }
  const auto there = [](std::int64_t, std::int32_t) __attribute__((always_inline)) {};
  return section_gains<true>(physics, c, section, faces, scratch.fluxes(), gains, border_mass, there);
}

template <class Stored>
EMPI_TARGET_CLONES bool update_cells(const Physics& physics, const Fields<Stored>& cells,
                                     const double* __restrict inverse_area, double dt, std::int64_t begin,
                                     std::int64_t end, const Gains<Stored>& gains, Stage stage,
                                     const Saved<Stored>& saved) {
  Stored* const __restrict eta = cells.eta, * const __restrict hu = cells.hu, * const __restrict hv = cells.hv;
  const Stored* const __restrict b = cells.b;
  const Stored *const __restrict volume = gains.volume, *const __restrict east = gains.east,
                           *const __restrict north = gains.north;
  const double dry = physics.dry_tolerance;
  int unsound = 0;
  Stored* const __restrict eta0 = saved.eta, * const __restrict hu0 = saved.hu, * const __restrict hv0 = saved.hv;
  // Each stage gets a loop of its own.
  const auto update = [&](auto is_first, auto is_second) __attribute__((always_inline)) {
#pragma omp simd reduction(| : unsound)
    for (std::int64_t i = begin; i < end; ++i) {
      const double k = dt * inverse_area[i];
      double next = eta[i] + k * volume[i], x = hu[i] + k * east[i], y = hv[i] + k * north[i];
      if constexpr (is_first) eta0[i] = eta[i], hu0[i] = hu[i], hv0[i] = hv[i];
      if constexpr (is_second) next = 0.5 * (eta0[i] + next), x = 0.5 * (hu0[i] + x), y = 0.5 * (hv0[i] + y);
      const double hole = b[i] - next;  // mended where it is rounding, kept to be found where it is not
      const bool covered = hole <= kRounding * (1.0 + std::abs(b[i]));
      const double e = covered ? larger(next, b[i]) : next - kSeen<Stored> * (1.0 + std::abs(b[i]));
      const bool flows = e - b[i] > dry;
      unsound |= static_cast<int>(!covered) | static_cast<int>(!(0.0 * (x + y) == 0.0));
      eta[i] = static_cast<Stored>(e);
      hu[i] = static_cast<Stored>(flows ? x : 0.0);
      hv[i] = static_cast<Stored>(flows ? y : 0.0);
    }
  };
  if (stage == Stage::Only)
    update(std::false_type{}, std::false_type{});
  else if (stage == Stage::First)
    update(std::true_type{}, std::false_type{});
  else
    update(std::false_type{}, std::true_type{});
  return unsound == 0;
}

template <class Stored>
EMPI_TARGET_CLONES void apply_rotation(const Fields<Stored>& cells, const double* __restrict f, double dt,
                                       std::int64_t begin, std::int64_t end) {
  Stored* const __restrict hu = cells.hu, * const __restrict hv = cells.hv;
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const double t = 0.5 * dt * f[i - begin], scale = 1.0 / (1.0 + t * t);
    const double x = hu[i], y = hv[i];
    hu[i] = static_cast<Stored>(((1.0 - t * t) * x + 2.0 * t * y) * scale);
    hv[i] = static_cast<Stored>(((1.0 - t * t) * y - 2.0 * t * x) * scale);
  }
}

template <class Stored>
void apply_friction(const Physics& physics, const Fields<Stored>& cells, double dt,
                    std::span<const std::int32_t> rough, std::span<const float> n) {
  for (std::size_t k = 0; k < rough.size(); ++k) {
    const std::int32_t i = rough[k];
    const double manning = n.empty() ? physics.manning : static_cast<double>(n[k]);
    const double eta = cells.eta[i], hu = cells.hu[i], hv = cells.hv[i], h = eta - cells.b[i];
    if (h > physics.friction_depth || h <= physics.dry_tolerance) continue;
    const double discharge = std::sqrt(hu * hu + hv * hv);
    const double factor = dt * physics.gravity * manning * manning;
    double damping = 1 + factor * discharge / (h * h * std::cbrt(h));
    if (physics.speed_limit > 0) damping = std::max(damping, discharge / (h * physics.speed_limit));
    cells.hu[i] = static_cast<Stored>(hu / damping);
    cells.hv[i] = static_cast<Stored>(hv / damping);
  }
}

// All of the above for what cells may be stored as.
#define SWE_STORED(Stored)                                                                                   \
  template double gains_order1(const Physics&, const Fields<Stored>&, const Connections&, const Section&,    \
                               Scratch&, const Gains<Stored>&, double*);                                     \
  template double gains_order2(const Physics&, const Fields<Stored>&, const Connections&, const Section&,    \
                               const FaceStates&, Scratch&, const Gains<Stored>&, double*);                  \
  template bool update_cells(const Physics&, const Fields<Stored>&, const double*, double, std::int64_t,     \
                             std::int64_t, const Gains<Stored>&, Stage, const Saved<Stored>&);               \
  template void apply_rotation(const Fields<Stored>&, const double*, double, std::int64_t, std::int64_t);    \
  template void apply_friction(const Physics&, const Fields<Stored>&, double, std::span<const std::int32_t>, \
                               std::span<const float>)
SWE_STORED(double);
SWE_STORED(float);
#undef SWE_STORED

}  // namespace swe
