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

// Mean over the leaf of f's values at the centroids of its descendants on `level` (of the leaf itself if it
// is as fine): a parent's mean is exactly the joined mean of its children. Costs 2^(level - leaf.level())
// evaluations.
double cell_average(const Function& f, const Metric& metric, int level, mesh::Leaf leaf,
                    const mesh::Triangle& t);

}  // namespace swe
