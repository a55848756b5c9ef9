// SPDX-License-Identifier: Apache-2.0
// Two-point flow out of the prisms of blocks: a block is two triangles that make a rectangle of one
// permeability along its axes, with one pressure in its middle, which is also the middle of the triangles'
// hypotenuse. From there to each other face f of a triangle's prism
//   u_f = flow_f (p - p_beyond + drive_f),
// where beyond is the next block, or the face itself if what lies there is no block or the border. It is the
// mixed-hybrid scheme with other places for what a prism stores, gains and passes up or down: eliminating the
// triangle's own pressure from its matrix (prism.hpp) without these leaves just the two-point flows.
#pragma once
#include <span>
#include <vector>

#include "apps/spe10/solver/unknowns.hpp"

namespace spe10 {

class BlockFlow {
 public:
  // The references must outlive the object. Local.
  BlockFlow(const Columns& columns, const Borders& borders, const Unknowns& unknowns)
      : columns_(columns), borders_(borders), unknowns_(unknowns) {}

  // Flows between blocks, for one step. Collective with the neighbours.
  void prepare(std::span<const double> mobility);

  struct Star {
    std::int32_t row;             // of the block's prism
    std::int32_t beyond[kFaces];  // rows, or Unknowns::closed or known; nothing for the hypotenuse
    double flow[kFaces];          // ft3/day/psi
    double drive[kFaces];         // psi: gravity
  };
  // Of a prism of a block. Wants prepare() with the same mobility (total, 1/cP); weight in psi/ft.
  Star star(std::size_t column, std::size_t z, std::span<const double> mobility,
            std::span<const double> weight) const;

 private:
  double vertical(std::size_t column, std::size_t z, double mobility) const;

  const Columns& columns_;
  const Borders& borders_;
  const Unknowns& unknowns_;
  std::vector<double> between_;  // per edge and layer, of joined edges
};

}  // namespace spe10
