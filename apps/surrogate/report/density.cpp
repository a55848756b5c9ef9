// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/report/density.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace surrogate {
namespace {

int cell(double value, Range range, int count) {
  const double share = (value - range.low) / (range.high - range.low);
  return std::clamp(static_cast<int>(share * count), 0, count - 1);
}

// Normal of one cell's deviation, along both directions; at the border it is cut off.
void smooth(std::vector<double>& values, int size) {
  constexpr int kReach = 3;
  const auto at = [size](int i, int j) {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(size) + static_cast<std::size_t>(i);
  };
  for (int direction = 0; direction < 2; ++direction) {
    const std::vector<double> before = values;
    for (int j = 0; j < size; ++j)
      for (int i = 0; i < size; ++i) {
        double sum = 0, weights = 0;
        for (int s = -kReach; s <= kReach; ++s) {
          const int a = direction == 0 ? i + s : i, b = direction == 0 ? j : j + s;
          if (a < 0 || a >= size || b < 0 || b >= size) continue;
          const double weight = std::exp(-0.5 * s * s);
          sum += weight * before[at(a, b)];
          weights += weight;
        }
        values[at(i, j)] = sum / weights;
      }
  }
}

}  // namespace

Density density_of(std::span<const double> xs, std::span<const double> ys, Range x, Range y, int size) {
  Density d{size, x, y, std::vector<double>(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)),
            0,    0};
  for (std::size_t k = 0; k < xs.size(); ++k)
    d.values[static_cast<std::size_t>(cell(ys[k], y, size)) * static_cast<std::size_t>(size) +
             static_cast<std::size_t>(cell(xs[k], x, size))] += 1;
  smooth(d.values, size);
  double total = 0;
  for (const double v : d.values) total += v;
  for (double& v : d.values) v /= total > 0 ? total : 1;
  std::vector<double> sorted = d.values;
  std::ranges::sort(sorted, std::greater<>());
  double sum = 0;
  for (const double v : sorted) {
    if (sum < 0.5) d.level50 = v;
    if (sum < 0.9) d.level90 = v;
    sum += v;
  }
  return d;
}

std::vector<double> histogram(std::span<const double> values, Range range, int bins) {
  std::vector<double> shares(static_cast<std::size_t>(bins));
  for (const double v : values)
    shares[static_cast<std::size_t>(cell(v, range, bins))] += 1 / static_cast<double>(values.size());
  return shares;
}

}  // namespace surrogate
