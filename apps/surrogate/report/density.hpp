// SPDX-License-Identifier: Apache-2.0
// Densities of samples on a raster, smoothed, with the levels of their credible regions.
#pragma once
#include <span>
#include <vector>

namespace surrogate {

struct Range {
  double low = 0, high = 1;
};

/// size x size cells over x and y; values add up to 1. [row of y][column of x].
struct Density {
  int size = 0;
  Range x, y;
  std::vector<double> values;
  double level50 = 0, level90 = 0;  ///< cells above it hold 50, 90 % (highest density regions)

  double at(int column, int row) const {
    return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(size) +
                  static_cast<std::size_t>(column)];
  }
};

/// Samples outside of the ranges count for the cell nearest to them.
Density density_of(std::span<const double> xs, std::span<const double> ys, Range x, Range y, int size);

/// Shares of the samples in `bins` equal parts of the range.
std::vector<double> histogram(std::span<const double> values, Range range, int bins);

}  // namespace surrogate
