// SPDX-License-Identifier: Apache-2.0
// Flow out of one triangular prism: a discretisation that is exact for linear pressures with any symmetric
// permeability on any prism (mixed-hybrid, lowest order).
//
// Flux through face f for pressure p in the cell and pi_g on its faces:  u_f = sum_g T_fg (p - pi_g).
// Horizontally T is the inverse of the Raviart-Thomas mass matrix of the triangle, which for a constant
// tensor has a closed form: with outward edge normals n_f (times length), area A and K the 2 x 2 tensor,
//   T_fg = n_f K n_g / A + 16 A det K / sum_e (n_e K n_e),
// because the functions' sum is 3 (x - x_centroid) / 2A and orthogonal to constants. Vertically it is the
// two-point transmissibility. Mixed terms of a full tensor come from N K N^T / V alone; the consistency
// condition T C = N K of mimetic methods holds for the sum (Brezzi, Lipnikov, Simoncini 2005).
#pragma once
#include "apps/mesh/leaf.hpp"
#include "apps/spe10/model/rock.hpp"

namespace spe10 {

// Places the mesh: feet per integer unit, depth of the top, thickness of one prism.
struct Frame {
  double unit_x = 1, unit_y = 1;  // ft
  double top = 0, dz = 1;         // ft
  int nz = 1;
  double depth(int z) const { return top + (z + 0.5) * dz; }
};

// Faces of a prism: 0, 1, 2 the triangle's edges ab, bc, ac; then top and bottom.
inline constexpr int kFaces = 5, kHypotenuse = 2, kTopFace = 3, kBottomFace = 4;

struct TriangleShape {
  double nx[3], ny[3];  // outward normal times length, ft
  double area;          // ft2
};

TriangleShape shape_of(const mesh::Triangle& t, const Frame& frame);

// Symmetric positive definite on the open faces; rows and columns of `closed` faces (a bit mask; no flow) are
// zero, their pressures eliminated. In mD ft.
using FaceMatrix = double[kFaces][kFaces];
void transmissibility(const TriangleShape& shape, double dz, const Rock& rock, unsigned closed,
                      FaceMatrix& t);

// Two-point, in mD ft: from the middle of the hypotenuse to the middle of leg k, where the legs and the
// rock's principal axes are parallel; from the middle of a prism to its top or bottom.
double leg_transmissibility(const TriangleShape& shape, int k, double dz, const Rock& rock);
double vertical_transmissibility(const TriangleShape& shape, double dz, const Rock& rock);

}  // namespace spe10
