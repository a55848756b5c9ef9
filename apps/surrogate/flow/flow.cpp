// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/flow/flow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "runtime/base/target_clones.hpp"

namespace flow {
namespace {

// One component of the momentum equation for the places [from, to). The loop runs through columns and their
// borders alike; what it leaves in a border is overwritten. `a` is the component itself, `along` the distance
// to its next place in its own direction, `across` in the other one; b is the other component, whose places
// around a place of `a` are at 0, across, -along and across - along.
struct Momentum {
  long from, to, along, across;
  double h_along, h_across, viscosity, dt, weight, old_weight;
};

EMPI_TARGET_CLONES void advance(const Momentum& m, const double* __restrict a, const double* __restrict b,
                                const double* __restrict p, const double* __restrict damping,
                                double* __restrict rate, double* __restrict next) {
  const long s = m.along, t = m.across;
  const double flux = 0.25 / m.h_along, cross = 0.25 / m.h_across;
  const double diffuse = m.viscosity / (m.h_along * m.h_along);
  const double diffuse_across = m.viscosity / (m.h_across * m.h_across);
  const double pressure = m.dt / m.h_along, now = m.dt * m.weight, before = m.dt * m.old_weight;
#pragma omp simd
  for (long i = m.from; i < m.to; ++i) {
    const double ahead = a[i] + a[i + s], behind = a[i - s] + a[i];
    const double above = (a[i] + a[i + t]) * (b[i + t - s] + b[i + t]);
    const double below = (a[i - t] + a[i]) * (b[i - s] + b[i]);
    const double advection = flux * (ahead * ahead - behind * behind) + cross * (above - below);
    const double diffusion =
        diffuse * (a[i + s] - 2 * a[i] + a[i - s]) + diffuse_across * (a[i + t] - 2 * a[i] + a[i - t]);
    const double change = diffusion - advection;
    next[i] = (a[i] + now * change + before * rate[i] - pressure * (p[i] - p[i - s])) * damping[i];
    rate[i] = change;
  }
}

// Integral of the hat (1 - |s|) from -infinity.
double hat_integral(double s) {
  if (s <= -1) return 0;
  if (s >= 1) return 1;
  return s < 0 ? 0.5 * (1 + s) * (1 + s) : 1 - 0.5 * (1 - s) * (1 - s);
}

// Of the interval around `middle`, as seen through a hat of half width h at x.
double fraction(double x, double h, double middle, double width) {
  return hat_integral((x - middle + width / 2) / h) - hat_integral((x - middle - width / 2) / h);
}

void check(const Box& s) {
  const auto refuse = [](const char* what) {
    throw std::invalid_argument(std::string("flow::Flow: ") + what);
  };
  if (s.nx < 4 || s.ny < 4) refuse("at least 4 x 4 cells expected");
  if (!(s.length > 0) || !(s.height > 0)) refuse("length and height must be positive");
  if (!(s.viscosity > 0) || !(s.dt > 0)) refuse("viscosity and time step must be positive");
  if (!(s.resistance >= 0)) refuse("the obstacles' resistance must not be negative");
  if (!s.inflow.empty() && s.inflow.size() != static_cast<std::size_t>(s.ny))
    refuse("one inflow velocity for each cell of the western side expected");
  if (!s.inflow.empty() && !s.open_east) refuse("with an inflow the eastern side must be open");
}

}  // namespace

Flow::Flow(const Box& box)
    : box_((check(box), box)),
      hx_(box.length / box.nx),
      hy_(box.height / box.ny),
      stride_((box.ny + 3 + 7) / 8 * 8),
      last_u_(box.open_east ? box.nx : box.nx - 1),
      poisson_(box.nx, box.ny, hx_, hy_, box.open_east) {
  const std::size_t size = at(box.nx + 2, 0);
  for (auto* field : {&u_, &v_, &p_, &next_u_, &next_v_, &rate_u_, &rate_v_}) field->assign(size, 0);
  solid_u_.assign(size, 0);
  damping_u_.assign(size, 1);
  damping_v_.assign(size, 1);
  rhs_.assign(static_cast<std::size_t>(box.nx) * static_cast<std::size_t>(poisson_.stride()), 0);
  reset();
}

void Flow::set_blocks(std::span<const Block> blocks) {
  std::vector<double> free_u(u_.size(), 1), free_v(u_.size(), 1),
      across(static_cast<std::size_t>(box_.ny + 1));
  const auto cover = [&](std::vector<double>& free, const Block& block, double shift_x, double shift_y) {
    for (int j = 0; j <= box_.ny; ++j)
      across[static_cast<std::size_t>(j)] = fraction((j + shift_y) * hy_, hy_, block.y, block.height);
    for (int i = 0; i <= box_.nx; ++i) {
      const double along = fraction((i + shift_x) * hx_, hx_, block.x, block.width);
      if (along == 0) continue;
      for (int j = 0; j <= box_.ny; ++j) free[at(i, j)] *= 1 - along * across[static_cast<std::size_t>(j)];
    }
  };
  for (const Block& block : blocks) {
    cover(free_u, block, 0, 0.5);
    cover(free_v, block, 0.5, 0);
  }
  set_damping(free_u, free_v);
}

void Flow::set_disc(const Disc& disc) {
  constexpr int kParts = 16;  // of the hat, in each direction
  std::vector<double> free_u(u_.size(), 1), free_v(u_.size(), 1);
  const auto covered = [&](double x, double y) {
    const double far = disc.diameter / 2 + 2 * std::max(hx_, hy_);
    if (std::abs(x - disc.x) > far || std::abs(y - disc.y) > far) return 0.0;
    double sum = 0, whole = 0;
    for (int a = 0; a < kParts; ++a)
      for (int b = 0; b < kParts; ++b) {
        const double s = (2 * a + 1.0) / kParts - 1, t = (2 * b + 1.0) / kParts - 1;
        const double weight = (1 - std::abs(s)) * (1 - std::abs(t));
        whole += weight;
        if (std::hypot(x + s * hx_ - disc.x, y + t * hy_ - disc.y) < disc.diameter / 2) sum += weight;
      }
    return sum / whole;
  };
  for (int i = 0; i <= box_.nx; ++i)
    for (int j = 0; j <= box_.ny; ++j) {
      free_u[at(i, j)] = 1 - covered(i * hx_, (j + 0.5) * hy_);
      free_v[at(i, j)] = 1 - covered((i + 0.5) * hx_, j * hy_);
    }
  set_damping(free_u, free_v);
}

void Flow::set_damping(const std::vector<double>& free_u, const std::vector<double>& free_v) {
  constexpr double kLeast = 1e-3;  // of a fraction that is free
  const double at_half = 10 * box_.viscosity / (hx_ * hy_);
  const auto damping = [&](double free) {
    const double rate = box_.closed ? at_half * (1 - free) / (free + kLeast) : box_.resistance * (1 - free);
    return 1 / (1 + box_.dt * rate);
  };
  for (std::size_t k = 0; k < u_.size(); ++k) {
    solid_u_[k] = 1 - free_u[k];
    damping_u_[k] = damping(free_u[k]);
    damping_v_[k] = damping(free_v[k]);
  }
}

double Flow::solid(int i, int j) const { return 0.5 * (solid_u_[at(i, j)] + solid_u_[at(i + 1, j)]); }

void Flow::reset() {
  for (auto* field : {&u_, &v_, &p_, &rate_u_, &rate_v_}) std::fill(field->begin(), field->end(), 0.0);
  steps_ = 0;
  next_u_ = u_;
  next_v_ = v_;
  for (std::size_t j = 0; j < box_.inflow.size(); ++j) next_u_[at(0, static_cast<int>(j))] = box_.inflow[j];
  project(false);
  fill_borders();
}

// Values outside of the box that make differences across a border what they should be.
void Flow::fill_borders() {
  const int nx = box_.nx, ny = box_.ny;
  for (int i = 0; i <= nx; ++i) {
    u_[at(i, -1)] = -u_[at(i, 0)];
    u_[at(i, ny)] = 2 * box_.lid - u_[at(i, ny - 1)];
    v_[at(i, 0)] = 0;
    v_[at(i, ny)] = 0;
  }
  const bool out = box_.open_east;
  for (int j = -1; j <= ny; ++j) {
    if (j < 0 || static_cast<std::size_t>(j) >= box_.inflow.size())
      u_[at(0, j)] = 0;
    else
      u_[at(0, j)] = box_.inflow[static_cast<std::size_t>(j)];
    u_[at(nx + 1, j)] = out ? u_[at(nx, j)] : 0;
    if (!out) u_[at(nx, j)] = 0;
    v_[at(-1, j)] = -v_[at(0, j)];
    v_[at(nx, j)] = out ? v_[at(nx - 1, j)] : -v_[at(nx - 1, j)];
    p_[at(nx, j)] = out ? -p_[at(nx - 1, j)] : 0;
  }
  v_[at(-1, ny)] = v_[at(nx, ny)] = 0;
}

void Flow::predict() {
  const bool first = steps_ == 0;
  Momentum m{.from = static_cast<long>(at(1, 0)),
             .to = static_cast<long>(at(last_u_, box_.ny)),
             .along = stride_,
             .across = 1,
             .h_along = hx_,
             .h_across = hy_,
             .viscosity = box_.viscosity,
             .dt = box_.dt,
             .weight = first ? 1 : 1.5,
             .old_weight = first ? 0 : -0.5};
  advance(m, u_.data(), v_.data(), p_.data(), damping_u_.data(), rate_u_.data(), next_u_.data());
  m.from = static_cast<long>(at(0, 1));
  m.to = static_cast<long>(at(box_.nx - 1, box_.ny));
  std::swap(m.along, m.across);
  std::swap(m.h_along, m.h_across);
  advance(m, v_.data(), u_.data(), p_.data(), damping_v_.data(), rate_v_.data(), next_v_.data());
  for (int j = 0; j < box_.ny; ++j) {
    next_u_[at(0, j)] = u_[at(0, j)];
    if (!box_.open_east) next_u_[at(box_.nx, j)] = 0;
  }
  for (int i = 0; i < box_.nx; ++i) next_v_[at(i, 0)] = next_v_[at(i, box_.ny)] = 0;
}

// Makes the velocity free of divergence; the pressure's change does it.
void Flow::project(bool add_pressure) {
  const int nx = box_.nx, ny = box_.ny, width = poisson_.stride();
  const double dt = box_.dt, du = 1 / (hx_ * dt), dv = 1 / (hy_ * dt);
  for (int i = 0; i < nx; ++i) {
    const double* u = next_u_.data() + at(i, 0);
    const double* v = next_v_.data() + at(i, 0);
    double* rhs = rhs_.data() + static_cast<std::ptrdiff_t>(i) * width;
    for (int j = 0; j < ny; ++j) rhs[j] = (u[j + stride_] - u[j]) * du + (v[j + 1] - v[j]) * dv;
  }
  poisson_.solve(rhs_);
  const double back_u = dt / hx_, back_v = dt / hy_;
  for (int i = 0; i < nx; ++i) {
    const double* phi = rhs_.data() + static_cast<std::ptrdiff_t>(i) * width;
    const std::size_t row = at(i, 0);
    for (int j = 0; j < ny; ++j) {
      u_[row + static_cast<std::size_t>(j)] =
          i == 0 ? next_u_[row + static_cast<std::size_t>(j)]
                 : next_u_[row + static_cast<std::size_t>(j)] - back_u * (phi[j] - phi[j - width]);
    }
    for (int j = 1; j < ny; ++j)
      v_[row + static_cast<std::size_t>(j)] =
          next_v_[row + static_cast<std::size_t>(j)] - back_v * (phi[j] - phi[j - 1]);
    if (add_pressure)
      for (int j = 0; j < ny; ++j) p_[row + static_cast<std::size_t>(j)] += phi[j];
  }
  if (!box_.open_east) return;
  const double* phi = rhs_.data() + static_cast<std::ptrdiff_t>(nx - 1) * width;
  for (int j = 0; j < ny; ++j) u_[at(nx, j)] = next_u_[at(nx, j)] + 2 * back_u * phi[j];
}

void Flow::step() {
  predict();
  project(true);
  ++steps_;
  fill_borders();
}

double Flow::u_at(double x, double y) const {
  const double a = x / hx_, b = y / hy_ - 0.5;
  const int i = std::clamp(static_cast<int>(std::floor(a)), 0, box_.nx - 1);
  const int j = std::clamp(static_cast<int>(std::floor(b)), -1, box_.ny - 1);
  const double s = a - i, t = b - j;
  return (1 - s) * ((1 - t) * u(i, j) + t * u(i, j + 1)) + s * ((1 - t) * u(i + 1, j) + t * u(i + 1, j + 1));
}

double Flow::v_at(double x, double y) const {
  const double a = x / hx_ - 0.5, b = y / hy_;
  const int i = std::clamp(static_cast<int>(std::floor(a)), -1, box_.nx - 1);
  const int j = std::clamp(static_cast<int>(std::floor(b)), 0, box_.ny - 1);
  const double s = a - i, t = b - j;
  return (1 - s) * ((1 - t) * v(i, j) + t * v(i, j + 1)) + s * ((1 - t) * v(i + 1, j) + t * v(i + 1, j + 1));
}

double Flow::pressure_at(double x, double y) const {
  const double a = x / hx_ - 0.5, b = y / hy_ - 0.5;
  const int i = std::clamp(static_cast<int>(std::floor(a)), 0, box_.nx - 2);
  const int j = std::clamp(static_cast<int>(std::floor(b)), 0, box_.ny - 2);
  const double s = a - i, t = b - j;
  return (1 - s) * ((1 - t) * pressure(i, j) + t * pressure(i, j + 1)) +
         s * ((1 - t) * pressure(i + 1, j) + t * pressure(i + 1, j + 1));
}

// next_u_ and next_v_ are what the resistance left; a projection moves no momentum into an obstacle.
Force Flow::force() const {
  Force sum;
  for (int i = 0; i <= box_.nx; ++i)
    for (int j = 0; j <= box_.ny; ++j) {
      sum.x += next_u_[at(i, j)] * (1 / damping_u_[at(i, j)] - 1);
      sum.y += next_v_[at(i, j)] * (1 / damping_v_[at(i, j)] - 1);
    }
  const double scale = hx_ * hy_ / box_.dt;
  return {sum.x * scale, sum.y * scale};
}

double Flow::courant() const {
  double fastest_u = 0, fastest_v = 0, undefined = 0;
  for (int i = 0; i <= box_.nx; ++i) {
    const double *const u = u_.data() + at(i, 0), *const v = v_.data() + at(i, 0);
    for (int j = 0; j < box_.ny; ++j) {
      fastest_u = std::max(fastest_u, std::abs(u[j])), fastest_v = std::max(fastest_v, std::abs(v[j]));
      undefined += 0 * (u[j] + v[j]);
    }
  }
  if (undefined != 0) return std::numeric_limits<double>::infinity();
  return box_.dt * std::max(fastest_u / hx_, fastest_v / hy_);
}

double Flow::divergence() const {
  double largest = 0;
  for (int i = 0; i < box_.nx; ++i)
    for (int j = 0; j < box_.ny; ++j)
      largest = std::max(largest, std::abs((u(i + 1, j) - u(i, j)) / hx_ + (v(i, j + 1) - v(i, j)) / hy_));
  return largest;
}

double Flow::acceleration() const {
  Flow after = *this;
  after.step();
  double largest = 0;
  for (int i = 0; i < box_.nx; ++i)
    for (int j = 0; j < box_.ny; ++j)
      largest = std::max({largest, std::abs(after.u(i, j) - u(i, j)), std::abs(after.v(i, j) - v(i, j))});
  return largest / box_.dt;
}

void Flow::set_state(const Flow& other) {
  reset();
  for (int i = 1; i <= last_u_; ++i)
    for (int j = 0; j < box_.ny; ++j) next_u_[at(i, j)] = other.u_at(i * hx_, (j + 0.5) * hy_);
  for (int i = 0; i < box_.nx; ++i)
    for (int j = 1; j < box_.ny; ++j) next_v_[at(i, j)] = other.v_at((i + 0.5) * hx_, j * hy_);
  project(false);
  fill_borders();
}

}  // namespace flow
