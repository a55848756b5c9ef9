// SPDX-License-Identifier: Apache-2.0
// The loops of a finite volume time step for the shallow water equations
//   h_t + div(hu) = 0,   (hu)_t + div(hu (x) u + g h^2 / 2) = -g h grad b,
// with the free surface eta = h + b as unknown, so that water at rest is constant exactly.
// Hydrostatic reconstruction: Audusse, Bouchut, Bristeau, Klein, Perthame, SIAM J. Sci. Comput. 25 (2004)
// 2050-2065. HLL: Harten, Lax, van Leer (1983); wave speeds of the two-rarefaction star state and dry fronts:
// Toro, "Shock- Capturing Methods for Free-Surface Shallow Flows" (2001), section 10.3; tangential momentum
// is upwinded with the mass flux (HLLC). Every edge and every cell is computed alone, without contraction, so
// that its bits depend neither on its place in a loop nor on the instruction set.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "apps/tsunami/solver/metric.hpp"
#include "apps/tsunami/solver/section.hpp"

namespace swe {

// HLL with an upwinded tangential momentum over reconstructed depths, or the augmented solver of
// augmented_riemann.hpp.
enum class RiemannSolver : std::uint8_t { Hllc, Augmented };

struct Physics {
  double gravity = 9.81;        // m / s^2
  double dry_tolerance = 1e-3;  // m; thinner water has no velocity
  double cfl = 0.55;            // of length * speed * dt / area per edge; depths stay >= 0 up to .58
  double manning = 0.025;       // s / m^(1/3), where the sea floor has none of its own; 0: no friction
  double friction_depth = 100;  // m; deeper water feels no friction
  // m / s: in water that may feel friction, momentum beyond it is lost, as behind a breaking wave. Else a
  // film on a steep slope makes all steps short. GeoClaw's is as fast. 0: none
  double speed_limit = 50;
  double rotation = 0;  // of the earth, rad / s (7.292e-5); on the sphere only
  int order = 1;        // 1, or 2: in space and in time
  RiemannSolver solver = RiemannSolver::Hllc;
};

// Own, halo and exterior cells (structure of arrays). Stored: double or float, of what is kept from one loop
// to the next; all is computed in double.
template <class Stored>
struct Fields {
  Stored *eta, *hu, *hv;  // m, m^2 / s east, m^2 / s north
  const Stored* b;        // m, bed elevation
};

// The mesh as the loops see it.
struct Connections {
  const std::int32_t* slots;         // 3 per own cell: 2 * edge + (0 left | 1 right)
  const std::int32_t *left, *right;  // cells of edges
  const std::int32_t* edge_class;    // of edges, into table
  const EdgeMetric* table;
  const std::uint8_t* kinds;  // of own cells, at order 2: reconstruction.hpp
  std::int32_t first_border;  // edges from here on are borders
};

// States at the mid points of edges, seen from both of their cells.
struct FaceStates {
  double *eta, *hu, *hv, *b;
  double* force;        // m^3 / s^2: pressure of the surface that slopes from the cell's centre to the face,
                        // nullptr at order 1
  std::int64_t stride;  // from an edge's left side to its right one

  std::int64_t index(std::int32_t at) const { return (at & 1) * stride + (at >> 1); }  // Section's numbers
};

// Fluxes through the scratch's edges, times their lengths: of water to the right; and what the left and the
// right cell gain of momentum.
struct Fluxes {
  double *mass, *east, *north;
  std::int64_t stride;  // of momentum, as above
};

// The memory of one thread, for one section after the other.
class Scratch {
 public:
  // For sections of at most so many edges.
  void fit(std::int32_t edges);
  FaceStates faces();
  Fluxes fluxes();

 private:
  std::vector<double> values_;
  std::int64_t stride_ = 0;
};

// What own cells gain per second through their faces: m^3 / s, and momentum over density, m^4 / s^2.
template <class Stored>
struct Gains {
  Stored *volume, *east, *north;
};

// The gains of a section's cells, at order 1. border_mass: m^3 / s that come in through the section's
// borders, by border. Returns the largest speed * length / area, 1 / s; infinity if a state is infinite or
// undefined.
template <class Stored>
double gains_order1(const Physics& physics, const Fields<Stored>& cells, const Connections& c,
                    const Section& section, Scratch& scratch, const Gains<Stored>& gains,
                    double* border_mass);
// The same at order 2. outer: states at faces of halo cells, then of those behind borders.
template <class Stored>
double gains_order2(const Physics& physics, const Fields<Stored>& cells, const Connections& c,
                    const Section& section, const FaceStates& outer, Scratch& scratch,
                    const Gains<Stored>& gains, double* border_mass);

// Euler's method, or the stages of Heun's, which keeps what Euler's keeps (Shu and Osher, J. Comput. Phys. 77
// (1988) 439, eq. 2.15): the first saves the state before the step, the second takes the mean with it.
enum class Stage : std::uint8_t { Only, First, Second };
template <class Stored>
struct Saved {
  Stored *eta = nullptr, *hu = nullptr, *hv = nullptr;
};

// Adds dt * gains / area to the cells [begin, end). False if a cell has become undefined, or its depth less
// than minus 1e-12 (1 m + |b|); it keeps that state, to be found. What rounding takes below the bed is raised
// to it.
template <class Stored>
bool update_cells(const Physics& physics, const Fields<Stored>& cells, const double* inverse_area, double dt,
                  std::int64_t begin, std::int64_t end, const Gains<Stored>& gains, Stage stage,
                  const Saved<Stored>& saved);

// Turns momentum by the Coriolis force, (hu)_t = f hv, (hv)_t = -f hu, for dt: Crank and Nicolson's rotation,
// of second order, which keeps its size. Of the cells [begin, end), f of each of them, 1 / s.
template <class Stored>
void apply_rotation(const Fields<Stored>& cells, const double* f, double dt, std::int64_t begin,
                    std::int64_t end);

// Implicit Manning friction on the given cells, and the limit of their speed. n: of each of them, s /
// m^(1/3), as 32 bits, for it is known to two digits; empty: Physics::manning.
template <class Stored>
void apply_friction(const Physics& physics, const Fields<Stored>& cells, double dt,
                    std::span<const std::int32_t> rough, std::span<const float> n);

}  // namespace swe
