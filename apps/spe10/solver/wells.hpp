// SPDX-License-Identifier: Apache-2.0
// Wells in the mesh: which prisms they are open in, and how strongly.
#pragma once
#include <span>
#include <vector>

#include "apps/spe10/model/deck.hpp"
#include "apps/spe10/solver/columns.hpp"
#include "apps/spe10/solver/pressure.hpp"

namespace spe10 {

// A point in quarters of the mesh's integer units, as mesh::Domain::locate wants it.
struct WellPoint {
  std::int64_t x4 = 0, y4 = 0;
};
// The centre of block (i, j), counted from 1.
WellPoint block_centre(const Field& field, int i, int j);

// Whether the triangle holds the point, on its border too.
bool touches(const mesh::Triangle& t, WellPoint point);

// The angle of the triangle at the point that it holds, as a fraction of the full circle, in coordinates in
// which the permeability kx, ky is isotropic.
double angle_fraction(const mesh::Triangle& t, WellPoint point, const Frame& frame, double kx, double ky);

// The radius (ft, in isotropic coordinates) at which the exact pressure around a well equals the pressure
// that the discretisation has in the triangle `at` beside the well, when all triangles around are of the same
// level and, or not, in blocks: Peaceman's equivalent radius (SPE 6893), found as he did, by solving the
// discrete equations on a patch of the mesh with the logarithm as boundary values.
double equivalent_radius(const Frame& frame, WellPoint well, const mesh::Triangle& at, int level,
                         bool in_block, double kx, double ky);

// All completions in this rank's columns. The well may lie inside of a triangle, on an edge or on a vertex:
// each triangle around it takes its angle's share. `deck`'s wells in `points`, all layers open. Local.
class WellModel {
 public:
  WellModel(const Deck& deck, std::vector<WellPoint> points) : deck_(deck), points_(std::move(points)) {}
  std::vector<Completion> completions(const Columns& columns);
  const std::vector<WellPoint>& points() const { return points_; }

 private:
  struct Known {
    WellPoint well;
    mesh::Leaf leaf;
    bool in_block;
    double ratio, radius;
  };
  double radius(const Columns& columns, WellPoint well, std::size_t column, double kx, double ky);

  const Deck& deck_;
  std::vector<WellPoint> points_;
  std::vector<Known> known_;  // radii found before
};

}  // namespace spe10
