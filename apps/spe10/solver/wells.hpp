// SPDX-License-Identifier: Apache-2.0
// Wells in the mesh: which prisms they are open in, and how strongly.
#pragma once
#include <map>
#include <span>
#include <tuple>
#include <utility>
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

// Equivalent radii by well, leaf and ky / kx. Each takes a system of equations: who has looked whether a well
// has room in its cells hands them on.
class EquivalentRadii {
 public:
  // equivalent_radius() of the leaf with the triangle `at`, solved for when it is asked for first.
  double find(const Frame& frame, WellPoint well, mesh::Leaf leaf, const mesh::Triangle& at, bool in_block,
              double kx, double ky);
  std::size_t solved() const { return known_.size(); }

 private:
  std::map<std::tuple<std::int64_t, std::int64_t, std::uint64_t, bool, double>, double> known_;
};

// All completions in this rank's columns. The well may lie inside of a triangle, on an edge or on a vertex:
// each triangle around it takes its angle's share. `deck`'s wells in `points`, all layers open. Local.
class WellModel {
 public:
  // `radii`: those that are known already, of this frame.
  WellModel(const Deck& deck, std::vector<WellPoint> points, EquivalentRadii radii = {})
      : deck_(deck), points_(std::move(points)), radii_(std::move(radii)) {}
  std::vector<Completion> completions(const Columns& columns);
  const std::vector<WellPoint>& points() const { return points_; }
  const EquivalentRadii& radii() const { return radii_; }

 private:
  const Deck& deck_;
  std::vector<WellPoint> points_;
  EquivalentRadii radii_;
};

}  // namespace spe10
