// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/kajiura.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "apps/tsunami/io/degrees.hpp"

namespace io {
namespace {

constexpr double kReach = 6;  // depths; beyond lies less than a thousandth

// kajiura_kernel() by the square of the distance, linear in between; 0 beyond kReach.
class Kernel {
 public:
  Kernel() {
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = kajiura_kernel(std::sqrt(static_cast<double>(i) / kPerUnit));
  }
  double at(double square) const {
    const double place = square * kPerUnit;
    const auto i = static_cast<std::size_t>(place);
    if (i + 1 >= values_.size()) return 0;
    const double part = place - static_cast<double>(i);
    return (1 - part) * values_[i] + part * values_[i + 1];
  }

 private:
  static constexpr int kPerUnit = 100;
  std::array<double, static_cast<std::size_t>(kReach* kReach) * kPerUnit + 1> values_{};
};

// No domain reaches beyond 85 degrees. A raster may, and to a pole, where no number of nodes makes a metre.
constexpr double kNorthernmost = 85;

double metres_east(const Raster& nodes, int row) {
  const double latitude = std::clamp(nodes.y0 + row * nodes.dy, -kNorthernmost, kNorthernmost);
  return nodes.dx * kMetresPerDegree * std::cos(latitude * kDegree);
}
double metres_north(const Raster& nodes) { return nodes.dy * kMetresPerDegree; }

int nodes_within(double metres, double spacing) { return static_cast<int>(std::ceil(metres / spacing)); }

// m, 0 on land.
Raster depths(Raster nodes, const std::function<double(double, double)>& floor) {
  for (int j = 0; j < nodes.ny; ++j)
    for (int i = 0; i < nodes.nx; ++i)
      nodes.node(i, j) = std::max(0.0, -floor(nodes.x0 + i * nodes.dx, nodes.y0 + j * nodes.dy));
  return nodes;
}

// With so many nodes more on each side, of value 0.
Raster padded(const Raster& inner, int columns, int rows) {
  Raster outer{inner.nx + 2 * columns,
               inner.ny + 2 * rows,
               inner.x0 - columns * inner.dx,
               inner.y0 - rows * inner.dy,
               inner.dx,
               inner.dy,
               {}};
  outer.z.assign(static_cast<std::size_t>(outer.nx) * outer.ny, 0);
  for (int j = 0; j < inner.ny; ++j)
    for (int i = 0; i < inner.nx; ++i) outer.node(i + columns, j + rows) = inner.node(i, j);
  return outer;
}

// The nodes that a column of water of `depth` at (column, row) gives to.
struct Around {
  Around(const Raster& nodes, int column, int row, double depth) {
    const int east = nodes_within(kReach * depth, metres_east(nodes, row));
    const int north = nodes_within(kReach * depth, metres_north(nodes));
    first_column = std::max(column - east, 0), last_column = std::min(column + east, nodes.nx - 1);
    first_row = std::max(row - north, 0), last_row = std::min(row + north, nodes.ny - 1);
  }
  int first_column, last_column, first_row, last_row;
};

}  // namespace

// The series of (-1)^n (2n + 1) / ((2n + 1)^2 + r^2)^(3/2) converges slowly: means of means of its last
// partial sums (Euler).
double kajiura_kernel(double r) {
  constexpr int terms = 40;
  std::array<double, 16> sums{};
  double sum = 0;
  for (int n = 0; n < terms + static_cast<int>(sums.size()); ++n) {
    const double odd = 2 * n + 1;
    sum += (n % 2 == 0 ? 1 : -1) * odd / std::pow(odd * odd + r * r, 1.5);
    if (n >= terms) sums[static_cast<std::size_t>(n - terms)] = sum;
  }
  for (std::size_t left = sums.size() - 1; left > 0; --left)
    for (std::size_t i = 0; i < left; ++i) sums[i] = .5 * (sums[i] + sums[i + 1]);
  return sums[0] / std::numbers::pi;
}

Raster kajiura(const Raster& uplift, const std::function<double(double, double)>& floor) {
  const double farthest = kReach * std::ranges::max(depths(uplift, floor).z);
  const double narrowest = std::min(metres_east(uplift, 0), metres_east(uplift, uplift.ny - 1));
  const Raster moved =
      padded(uplift, nodes_within(farthest, narrowest), nodes_within(farthest, metres_north(uplift)));
  const Raster depth = depths(moved, floor);
  const Kernel kernel;
  Raster surface = padded(moved, 0, 0);
  std::ranges::fill(surface.z, 0);
  std::vector<double> shares;  // of one node's volume, for each node around it
  for (int row = 0; row < moved.ny; ++row)
    for (int column = 0; column < moved.nx; ++column) {
      const double lift = moved.node(column, row), h = depth.node(column, row);
      if (lift == 0) continue;
      if (h == 0) {
        surface.node(column, row) += lift;
        continue;
      }
      const Around around(moved, column, row, h);
      const double x = metres_east(moved, row) / h, y = metres_north(moved) / h;
      shares.clear();
      double all = 0;
      for (int j = around.first_row; j <= around.last_row; ++j) {
        double of_row = 0;
        for (int i = around.first_column; i <= around.last_column; ++i) {
          const double dx = (i - column) * x, dy = (j - row) * y;
          shares.push_back(depth.node(i, j) > 0 ? kernel.at(dx * dx + dy * dy) : 0);
          of_row += shares.back();
        }
        all += of_row * metres_east(moved, j);
      }
      const double height = lift * metres_east(moved, row) / all;
      std::size_t next = 0;
      for (int j = around.first_row; j <= around.last_row; ++j)
        for (int i = around.first_column; i <= around.last_column; ++i)
          surface.node(i, j) += height * shares[next++];
    }
  return surface;
}

}  // namespace io
