// SPDX-License-Identifier: Apache-2.0
// Rock of the mesh's prisms, averaged from the field's blocks.
#pragma once
#include <functional>
#include <span>

#include "apps/mesh/leaf.hpp"
#include "apps/spe10/field/field.hpp"

namespace spe10 {

// Symmetric permeability in mD, z pointing down, and porosity. All is 0 where nothing flows.
struct Rock {
  float kxx = 0, kyy = 0, kzz = 0, kxy = 0, kxz = 0, kyz = 0;
  double phi = 0;                          // its mean over two children must be their parent's to rounding
  bool active() const { return phi > 0; }  // else nothing flows through it
};

// Fills one column from the top down. Pure: the same leaf always has the same rock.
using RockOfColumn = std::function<void(mesh::Leaf leaf, std::span<Rock> column)>;

// Root squares of 4 x 4, 2 x 2 or 1 x 1 blocks, whatever divides the field.
int blocks_per_root(const Field& field);
mesh::Domain domain_of(const Field& field);
// From this level on a triangle lies inside of one block.
int aligned_level(const Field& field);

// Geometric mean of the horizontal permeability of the active blocks times their share, arithmetic mean of
// the vertical one (the blocks of a layer lie side by side for what flows up or down) and of the porosity
// over the part of each block that the triangle covers. `split` prisms per layer of the field. `field` must
// outlive the result.
RockOfColumn rock_of(const Field& field, const mesh::Domain& domain, int split);

}  // namespace spe10
