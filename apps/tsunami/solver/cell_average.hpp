// SPDX-License-Identifier: Apache-2.0
// Means of a function over mesh cells that depend on the cell's geometry only and agree between levels.
#pragma once
#include <functional>

#include "apps/tsunami/solver/metric.hpp"

namespace swe {

using Function = std::function<double(double x, double y)>;  // metres, or degrees of longitude and latitude

// Mean of two siblings' values, weighted by area; equal values are kept to the bit.
inline double join(double area0, double value0, double area1, double value1) {
  return value0 + (value1 - value0) * (area1 / (area0 + area1));
}

// A function that rasters have told: between their points it is interpolated, and finer cells find nothing
// new in it. A Function that is made of one is asked less often. `spacing`: least distance of the points, in
// x or y, of the rasters that touch a box; infinite where there are none.
struct Interpolated {
  Function value;
  std::function<double(double west, double east, double south, double north)> spacing;
  double operator()(double x, double y) const { return value(x, y); }
};

// Mean over the leaf of f's values at the centroids of its descendants on `level` (of the leaf itself if it
// is as fine): a parent's mean is exactly the joined mean of its children. Costs 2^(level - leaf.level())
// evaluations.
//
// Of an Interpolated function only down to descendants of half its spacing or less, whatever `level` is.
// Finer ones have what they stand in, and differ as much as f does between their centroids: still a parent's
// mean is that of its children, to rounding. Costs two evaluations for each level below.
double cell_average(const Function& f, const Metric& metric, int level, mesh::Leaf leaf,
                    const mesh::Triangle& t);

// Whether f is below `height` in some descendants on `level` of the leaf, by their centroids, and not in
// others. Of an Interpolated function down to half its spacing: there the corners count, too; what cuts an
// edge twice may be missed.
bool lies_on_both_sides(const Function& f, const Metric& metric, int level, double height, mesh::Leaf leaf,
                        const mesh::Triangle& t);

}  // namespace swe
