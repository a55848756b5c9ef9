// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/solver/transport.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "apps/mesh/mpi_check.hpp"

namespace spe10 {
namespace {

constexpr double kCourant = 0.9;
// A column counts as dry while its saturation is this close to residual: below 5e-5 of what flows is water
// then, and it stays where it is.
constexpr double kNearlyResidual = 1e-3;

double buoyancy(const Fluid& f, double s) {
  return f.water_mobility(s) * f.oil_mobility(s) / f.total_mobility(s);
}

}  // namespace

Transport::Transport(Columns& columns, const Fluid& fluid, const Borders& borders)
    : columns_(columns), fluid_(fluid), borders_(borders) {
  constexpr int samples = 2000;
  const double width = (1 - fluid.swc - fluid.sor) / samples;
  double peak = 0;
  for (int n = 0; n <= samples; ++n) {
    const double s = fluid.swc + n * width, slope = fluid.fractional_slope(s);
    if (slope > peak) peak = slope, steepest_ = s;
    if (n > 0)
      gravity_slope_ =
          std::max(gravity_slope_, std::abs(buoyancy(fluid, s) - buoyancy(fluid, s - width)) / width);
  }
}

// Of the fractional flow, which has one inflection point.
double Transport::largest_slope(double low, double high) const {
  if (low < steepest_ && steepest_ < high) return fluid_.fractional_slope(steepest_);
  return std::max(fluid_.fractional_slope(low), fluid_.fractional_slope(high));
}

// Water keeps its mass as pressure, and with it its volume and the pores', changes.
void Transport::expand(const TransportInput& in) {
  held_.assign(columns_.own() * columns_.nz(), 1);
  if (fluid_.c_w + fluid_.c_rock == 0) return;
  for (std::size_t k = 0; k < held_.size(); ++k) {
    held_[k] = fluid_.water_held(columns_.p[k]);
    columns_.s[k] *= fluid_.water_held(columns_.p[k] - in.pressure_change[k]) / held_[k];
  }
}

// What would fill the pores, ft3 of water at reference.
double Transport::room(std::size_t column, std::size_t z) const {
  return columns_.pore_volume(column, z) * held_[columns_.at(column, z)];
}

void Transport::find_wet() {
  const std::size_t all = columns_.mesh.all_cells(), nz = columns_.nz(), own = columns_.own();
  const mesh::Edges& edges = columns_.mesh.edges();
  for (const auto& b : columns_.mesh.boundary()) {
    const BorderCondition& border = borders_[static_cast<std::size_t>(b.border)];
    const auto outside = static_cast<std::size_t>(edges.right[static_cast<std::size_t>(b.edge)]);
    std::fill_n(columns_.s.begin() + static_cast<std::ptrdiff_t>(outside * nz), nz,
                border.open() ? border.saturation : 0);
  }
  const double dry = fluid_.swc + kNearlyResidual;
  wet_.assign(all, 0);
  fraction_.resize(all * nz);
  for (std::size_t i = 0; i < all; ++i) {
    const double* s = columns_.s.data() + i * nz;
    wet_[i] = *std::max_element(s, s + nz) > dry;
    for (std::size_t z = 0; z < nz; ++z) fraction_[i * nz + z] = wet_[i] ? fluid_.fractional_flow(s[z]) : 0;
  }
  is_active_.assign(own, 0);
  std::copy_n(wet_.begin(), own, is_active_.begin());
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto l = static_cast<std::size_t>(edges.left[e]), r = static_cast<std::size_t>(edges.right[e]);
    if (l < own && wet_[r]) is_active_[l] = 1;
    if (r < own && wet_[l]) is_active_[r] = 1;
  }
}

// Books a volume per day, of it `water`, with saturation s.
void Transport::flow(std::size_t from, std::size_t to, double volume, double water, double s) {
  const std::size_t own = columns_.own() * columns_.nz();
  if (from < own) {
    net_[from] -= water;
    around_[from].outflow += volume;
  }
  if (to < own) {
    net_[to] += water;
    Face& f = around_[to];
    f.inflow += volume;
    f.low = std::min(f.low, s), f.high = std::max(f.high, s);
  }
}

// Returns what open borders let in, ft3/day.
double Transport::through_edges(const TransportInput& in) {
  const mesh::Edges& edges = columns_.mesh.edges();
  const std::size_t nz = columns_.nz(), first_border = edges.size() - columns_.mesh.boundary().size();
  double border = 0;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto l = static_cast<std::size_t>(edges.left[e]), r = static_cast<std::size_t>(edges.right[e]);
    if (!wet_[l] && !wet_[r]) continue;
    for (std::size_t z = 0; z < nz; ++z) {
      const double u = in.edge_flux[e * nz + z];
      if (u == 0) continue;
      const std::size_t from = (u > 0 ? l : r) * nz + z, to = (u > 0 ? r : l) * nz + z;
      const double water = std::abs(u) * fraction_[from];
      flow(from, to, std::abs(u), water, columns_.s[from]);
      if (e >= first_border) border += u > 0 ? -water : water;
    }
  }
  return border;
}

// Phases are taken from where each of them comes, seen by its own potential (Brenier, Jaffre 1991).
void Transport::through_columns(const TransportInput& in) {
  const std::size_t nz = columns_.nz();
  const double head = (fluid_.density_w - fluid_.density_o) * kPsiPerFt * columns_.frame.dz;
  for (const std::int32_t column : active_) {
    const auto i = static_cast<std::size_t>(column);
    if (!wet_[i]) continue;
    for (std::size_t z = 0; z + 1 < nz; ++z) {
      const std::size_t up = columns_.at(i, z), down = up + 1;
      if (columns_.active[up] == 0 || columns_.active[down] == 0) continue;
      const double u = in.vertical_flux[i * (nz + 1) + z + 1];
      const double k_up = columns_.rock[up].kzz, k_down = columns_.rock[down].kzz;
      const double pull =
          kDarcy * 2 * k_up * k_down / (k_up + k_down) * columns_.shape[i].area / columns_.frame.dz * head;
      const double s_up = columns_.s[up], s_down = columns_.s[down];
      double w = 0, o = 0;
      if (u >= 0) {
        w = fluid_.water_mobility(s_up);
        o = u > w * pull ? fluid_.oil_mobility(s_up) : fluid_.oil_mobility(s_down);
      } else {
        o = fluid_.oil_mobility(s_down);
        w = u + o * pull > 0 ? fluid_.water_mobility(s_up) : fluid_.water_mobility(s_down);
      }
      const double water = w * (u + o * pull) / (w + o);
      net_[up] -= water, net_[down] += water;
      const double through = std::abs(u);
      Face &above = around_[up], &below = around_[down];
      (u >= 0 ? above : below).outflow += through;
      Face& downstream = u >= 0 ? below : above;
      downstream.inflow += through;
      for (Face* f : {&above, &below}) {
        f->low = std::min({f->low, s_up, s_down});
        f->high = std::max({f->high, s_up, s_down});
      }
      gravity_[up] += pull, gravity_[down] += pull;
    }
  }
}

void Transport::through_wells(const TransportInput& in, TransportReport& rate) {
  for (std::size_t k = 0; k < in.completions.size(); ++k) {
    const Completion& c = in.completions[k];
    const std::size_t prism = columns_.at(static_cast<std::size_t>(c.column), static_cast<std::size_t>(c.z));
    const double q = in.flow[k];
    // An injector gives water; what a producer takes in is the mixture around it, as what it lifts.
    const bool injects = q > 0 && in.wells[static_cast<std::size_t>(c.well)].kind == Well::Kind::Injector;
    const double water = injects ? q : q * fraction_[prism];
    if (!is_active_[static_cast<std::size_t>(c.column)] && q > 0)
      throw std::logic_error("transport: a well's column is not active");
    net_[prism] += water;
    Face& f = around_[prism];
    if (q > 0) {
      f.inflow += q;
      if (injects) f.high = std::max(f.high, 1 - fluid_.sor);
    } else {
      f.outflow -= q;
    }
    rate.water[static_cast<std::size_t>(c.well)] += water;
    rate.oil[static_cast<std::size_t>(c.well)] += q - water;
  }
}

double Transport::rates(const TransportInput& in, TransportReport& rate) {
  find_wet();
  for (const Completion& c : in.completions) is_active_[static_cast<std::size_t>(c.column)] = 1;
  active_.clear();
  const std::size_t nz = columns_.nz(), prisms = columns_.own() * nz;
  net_.resize(prisms), around_.resize(prisms), gravity_.resize(prisms);
  for (std::size_t i = 0; i < columns_.own(); ++i) {
    if (!is_active_[i]) continue;
    active_.push_back(static_cast<std::int32_t>(i));
    for (std::size_t k = i * nz; k < (i + 1) * nz; ++k) {
      net_[k] = gravity_[k] = 0;
      around_[k] = {0, 0, columns_.s[k], columns_.s[k]};
    }
  }
  const double border = through_edges(in);
  through_columns(in);
  through_wells(in, rate);
  return border;
}

double Transport::stable_days() const {
  double days = 1e300;
  for (const std::int32_t column : active_)
    for (std::size_t z = 0; z < columns_.nz(); ++z) {
      const std::size_t prism = columns_.at(static_cast<std::size_t>(column), z);
      const Face& f = around_[prism];
      double rate = std::max(f.inflow, f.outflow) * largest_slope(f.low, f.high);
      if (f.high > fluid_.swc + kNearlyResidual) rate += gravity_[prism] * gravity_slope_;
      if (rate > 0) days = std::min(days, room(static_cast<std::size_t>(column), z) / rate);
    }
  elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, &days, 1, MPI_DOUBLE, MPI_MIN, columns_.mesh.comm()),
                     "finding the substep");
  if (!(days > 0)) throw NotConverged("transport: fluxes are not finite");
  return kCourant * days;
}

TransportReport Transport::advance(const TransportInput& in, double days) {
  TransportReport report;
  const auto wells = in.wells.size();
  report.water.assign(wells, 0), report.oil.assign(wells, 0);
  expand(in);
  double left = days;
  while (left > 0) {
    columns_.exchange(columns_.s);
    TransportReport rate;
    rate.water.assign(wells, 0), rate.oil.assign(wells, 0);
    const double border = rates(in, rate);
    const double stable = stable_days();
    // Substeps of about the same length, the last one without a remainder.
    const double step = stable >= left ? left : left / std::ceil(left / stable);
    for (const std::int32_t column : active_) {
      const auto i = static_cast<std::size_t>(column);
      for (std::size_t z = 0; z < columns_.nz(); ++z)
        if (const std::size_t prism = columns_.at(i, z); columns_.active[prism] != 0)
          columns_.s[prism] += step * net_[prism] / room(i, z);
    }
    for (std::size_t w = 0; w < wells; ++w)
      report.water[w] += step * rate.water[w], report.oil[w] += step * rate.oil[w];
    report.border_water += step * border;
    left = stable >= left ? 0 : left - step;
    ++report.substeps;
  }
  return report;
}

}  // namespace spe10
