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

#include "apps/tsunami/solver/metric.hpp"

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
  double rotation = 0;          // of the earth, rad / s (7.292e-5); on the sphere only
  int order = 1;                // 1, or 2: in space and in time
  RiemannSolver solver = RiemannSolver::Hllc;
};

// Own, halo and exterior cells (structure of arrays).
struct Fields {
  double *eta, *hu, *hv;  // m, m^2 / s east, m^2 / s north
  const double* b;        // m, bed elevation
};

// States at the mid points of edges, one per side: slot 2 * edge + (0 left | 1 right).
struct Faces {
  double *eta, *hu, *hv, *b;
};

// What a cell gains per second through each of its slots, already times the edge's length.
struct Fluxes {
  double *mass, *east, *north;
};

struct EdgeList {
  const std::int32_t *left, *right;  // cells
  const std::int32_t* edge_class;    // into table
  const EdgeMetric* table;
};

// Order 1: fluxes of the edges [begin, end). Returns the largest speed * length / area, 1 / s; infinity if a
// state is infinite or undefined.
double edge_fluxes(const Physics& physics, const Fields& cells, const EdgeList& edges, std::int64_t begin,
                   std::int64_t end, const Fluxes& fluxes);

// Order 2: the same from the states at the faces.
double face_fluxes(const Physics& physics, const Faces& faces, const EdgeList& edges, std::int64_t begin,
                   std::int64_t end, const Fluxes& fluxes);

// Linear reconstruction of own cells: the plane through the three neighbours' values, cut back
//   - so that at no face a value passes the most distant of the neighbours' by more than half (Barth and
//     Jespersen, AIAA-89-0366; the half is what leaves linear functions alone on every conforming mesh),
//   - and the slopes of surface, bed and momentum together, so that at every face at least half of the mean
//     depth is left. Water at rest has no slope of its surface, whatever becomes of its bed.
// Dry cells, and those at the water's edge or at an open border, are constant.
struct Reconstruction {
  const std::int32_t* slots;            // 3 per cell
  const double *to_face_x, *to_face_y;  // per slot: from the cell's centroid to the edge's mid point, m
  const std::uint8_t* linear;           // per cell: 0 keeps it constant
  double *east, *north;                 // per cell: pressure of the sloping surface inside of the cell
};
void reconstruct(const Physics& physics, const Fields& cells, const EdgeList& edges, const Reconstruction& r,
                 std::int64_t count, const Faces& faces);

// What update_cells() takes beside the fluxes at order 2.
struct Stage {
  const double *east = nullptr, *north = nullptr;             // inner forces
  const double *eta = nullptr, *hu = nullptr, *hv = nullptr;  // state before the step; else null
};

// Adds dt * (sum of a cell's three slots, plus its inner forces if given) / area to the cells [0, count), and
// takes the mean with the state before the step if that is given (the second stage of Heun's method, which
// keeps what Euler's keeps: Shu and Osher, J. Comput. Phys. 77 (1988) 439, eq. 2.15). False if a cell has
// become undefined, or its depth less than minus 1e-12 (1 m + |b|); it keeps that state, to be found. What
// rounding takes below the bed is raised to it.
bool update_cells(const Physics& physics, const Fields& cells, const std::int32_t* slots,
                  const double* inverse_area, double dt, std::int64_t count, const Fluxes& fluxes,
                  const Stage& stage = {});

// Turns momentum by the Coriolis force, (hu)_t = f hv, (hv)_t = -f hu, for dt: Crank and Nicolson's rotation,
// of second order, which keeps its size. f: per cell, 1 / s.
void apply_rotation(const Fields& cells, const double* f, double dt, std::int64_t count);

// A cell with its Manning's n, s / m^(1/3).
struct RoughCell {
  std::int32_t cell;
  double manning;
};

// Implicit Manning friction on the given cells.
void apply_friction(const Physics& physics, const Fields& cells, double dt, std::span<const RoughCell> rough);

}  // namespace swe
