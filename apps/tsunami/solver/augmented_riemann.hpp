// SPDX-License-Identifier: Apache-2.0
// The augmented Riemann solver: D. L. George, "Augmented Riemann solvers for the shallow water equations over
// variable topography with steady states and inundation", J. Comput. Phys. 227 (2008) 3089-3113, as GeoClaw
// has it (without its middle entropy correction and with one iteration). The bed's step is part of the
// Riemann problem, so that it may be higher than the water is deep; steady flow over it is kept as rest is.
#pragma once

namespace swe {

struct EdgeState {
  double eta, b;  // surface and bed, m
  double normal;  // velocity from left to right, m / s; 0 where it is dry
};

// Per second and metre of edge: the mass that goes from left to right, and the momentum along the normal that
// leaves the left and that enters the right cell, less the cells' own pressure g h^2 / 2.
struct EdgeFlux {
  double mass, left, right;
  double speed;  // of the fastest wave, m / s
};

// Water thinner than `dry` does not move, but is a shore that the other side's may reach.
EdgeFlux augmented_flux(double gravity, double dry, EdgeState left, EdgeState right);

}  // namespace swe
