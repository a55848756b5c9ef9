#include "apps/tsunami/solver/kernel.hpp"

#include <cmath>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SWE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SWE_CLONES
#endif

namespace swe {
namespace {

constexpr std::int64_t chunk = 128;

inline __attribute__((always_inline)) double larger(double a, double b) { return a > b ? a : b; }
inline __attribute__((always_inline)) double smaller(double a, double b) { return a < b ? a : b; }

struct alignas(64) Lane {
  double v[chunk];
};

}  // namespace

SWE_CLONES
double edge_fluxes(const Physics& physics, const Fields& cells, const std::int32_t* left, const std::int32_t* right,
                   const std::int32_t* edge_class, const EdgeMetric* table, std::int64_t begin, std::int64_t end,
                   const Fluxes& fluxes) {
  const double g = physics.gravity, dry = physics.dry_tolerance;
  const double *const eta = cells.eta, *const hu = cells.hu, *const hv = cells.hv, *const b = cells.b;
  Lane etal, hul, hvl, bl, etar, hur, hvr, br, nx, ny, len, rate;
  Lane worst{};
  for (std::int64_t start = begin; start < end; start += chunk) {
    const std::int64_t count = end - start < chunk ? end - start : chunk;
    for (std::int64_t k = 0; k < count; ++k) {  // gather; the arithmetic below runs on full vectors
      const std::int32_t l = left[start + k], r = right[start + k];
      etal.v[k] = eta[l], hul.v[k] = hu[l], hvl.v[k] = hv[l], bl.v[k] = b[l];
      etar.v[k] = eta[r], hur.v[k] = hu[r], hvr.v[k] = hv[r], br.v[k] = b[r];
      const EdgeMetric& m = table[edge_class[start + k]];
      nx.v[k] = m.nx, ny.v[k] = m.ny, len.v[k] = m.length, rate.v[k] = m.rate;
    }
    double* const mass = fluxes.mass + 2 * start;
    double* const east = fluxes.east + 2 * start;
    double* const north = fluxes.north + 2 * start;
#pragma omp simd
    for (std::int64_t k = 0; k < count; ++k) {
      // velocities of the cells
      const double Hl = etal.v[k] - bl.v[k], Hr = etar.v[k] - br.v[k];
      const double wl = (Hl > dry ? 1.0 : 0.0) / larger(Hl, dry), wr = (Hr > dry ? 1.0 : 0.0) / larger(Hr, dry);
      const double ul = hul.v[k] * wl, vl = hvl.v[k] * wl, ur = hur.v[k] * wr, vr = hvr.v[k] * wr;
      const double cell_nl = ul * nx.v[k] + vl * ny.v[k], cell_nr = ur * nx.v[k] + vr * ny.v[k];
      const double tl = vl * nx.v[k] - ul * ny.v[k], tr = vr * nx.v[k] - ur * ny.v[k];
      // hydrostatic reconstruction (eq. 2.9, 2.10)
      const double sill = larger(bl.v[k], br.v[k]);
      const double hl = larger(etal.v[k] - sill, 0.0), hr = larger(etar.v[k] - sill, 0.0);
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
      const double f_left = ql * nl + theta * (((ql * nl - qr * nr) + dp) + sr * (qr - ql));  // minus g hl^2 / 2
      const double f_right = f_left + dp;                                                    // minus g hr^2 / 2
      const double f_t = f_mass * (f_mass > 0.0 ? tl : tr);
      const double m = f_mass * len.v[k], t = f_t * len.v[k];
      const double pl = f_left * len.v[k], pr = f_right * len.v[k];
      mass[2 * k] = -m, mass[2 * k + 1] = m;
      east[2 * k] = t * ny.v[k] - pl * nx.v[k], east[2 * k + 1] = pr * nx.v[k] - t * ny.v[k];
      north[2 * k] = -(pl * ny.v[k] + t * nx.v[k]), north[2 * k + 1] = pr * ny.v[k] + t * nx.v[k];
      const double speed = larger(sr, -sl) * (larger(hl, hr) > 0.0 ? rate.v[k] : 0.0);
      worst.v[k] = larger(speed, worst.v[k]);
    }
  }
  double largest = 0;
  for (double w : worst.v) largest = larger(w, largest);
  return largest;
}

SWE_CLONES
void update_cells(const Physics& physics, const Fields& cells, const std::int32_t* slots, const double* inverse_area,
                  double dt, std::int64_t count, const Fluxes& fluxes) {
  double *const eta = cells.eta, *const hu = cells.hu, *const hv = cells.hv;
  const double* const b = cells.b;
  const double *const mass = fluxes.mass, *const east = fluxes.east, *const north = fluxes.north;
  const double dry = physics.dry_tolerance;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t s = slots[3 * i], t = slots[3 * i + 1], u = slots[3 * i + 2];
    const double k = dt * inverse_area[i];
    const double e = larger(eta[i] + k * ((mass[s] + mass[t]) + mass[u]), b[i]);
    const bool flows = e - b[i] > dry;
    const double x = hu[i] + k * ((east[s] + east[t]) + east[u]);
    const double y = hv[i] + k * ((north[s] + north[t]) + north[u]);
    eta[i] = e;
    hu[i] = flows ? x : 0.0;
    hv[i] = flows ? y : 0.0;
  }
}

void apply_friction(const Physics& physics, const Fields& cells, double dt, std::span<const std::int32_t> shallow) {
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
