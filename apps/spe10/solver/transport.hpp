// SPDX-License-Identifier: Apache-2.0
// Explicit upwind transport of water with given volume fluxes, in substeps that keep saturations between
// those around them (CFL condition).
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "apps/spe10/model/deck.hpp"
#include "apps/spe10/model/fluid.hpp"
#include "apps/spe10/solver/columns.hpp"
#include "apps/spe10/solver/pressure.hpp"

namespace spe10 {

struct TransportInput {
  std::span<const double> edge_flux, vertical_flux;  // as Pressure has them
  std::span<const double> pressure_change;           // psi in the whole step, per own prism
  std::span<const Completion> completions;
  std::span<const double> flow;  // per completion: volume into the prism, ft3/day
  std::span<const Well> wells;
};

// Volumes in ft3 at reference pressure, on this rank, in the step.
struct TransportReport {
  std::int64_t substeps = 0;
  std::vector<double> water, oil;  // per well: into the reservoir
  double border_water = 0;         // through open borders, into the reservoir
};

class Transport {
 public:
  // The references must outlive the object. Local.
  Transport(Columns& columns, const Fluid& fluid, const Borders& borders);

  // Moves columns.s on by `days`. Collective. The Courant number is a share of what is stable.
  TransportReport advance(const TransportInput& in, double days);

 private:
  struct Face {
    double inflow = 0, outflow = 0;  // volume per day
    double low = 0, high = 0;        // saturations that come in, and the prism's own
  };
  double largest_slope(double low, double high) const;
  void expand(const TransportInput& in);
  double room(std::size_t column, std::size_t z) const;
  void find_wet();
  double rates(const TransportInput& in, TransportReport& rate);
  double through_edges(const TransportInput& in);
  void through_columns(const TransportInput& in);
  void through_wells(const TransportInput& in, TransportReport& rate);
  double stable_days() const;
  void flow(std::size_t from, std::size_t to, double volume, double water, double s);

  Columns& columns_;
  const Fluid& fluid_;
  const Borders& borders_;
  double steepest_ = 0;               // saturation of the steepest fractional flow
  double gravity_slope_ = 0;          // largest slope of mobility_w mobility_o / mobility_t, 1/cP
  std::vector<std::uint8_t> wet_;     // per column, halo and exterior too: its water can move
  std::vector<std::int32_t> active_;  // own columns that are wet or touch one
  std::vector<std::uint8_t> is_active_;
  std::vector<double> fraction_;  // per prism of wet columns: fractional flow; 0 elsewhere
  std::vector<double> net_;       // per own prism: water into it, ft3/day
  std::vector<double> held_;      // per own prism: Fluid::water_held() at the new pressure
  std::vector<double> gravity_;   // per own prism: CFL rate by gravity
  std::vector<Face> around_;      // per own prism
};

}  // namespace spe10
