// SPDX-License-Identifier: Apache-2.0
// Which values an axis or a scale of colours is marked at, and how they are written there.
#pragma once
#include <string>
#include <vector>

namespace io::draw {

/// The values 1, 2 or 5 times a power of ten inside [low, high], about `wanted` of them.
std::vector<double> nice_ticks(double low, double high, int wanted);

/// The same inside [10^low, 10^high], as logarithms: all decades, and multiples of them in short ranges.
std::vector<double> log_ticks(double low, double high, int wanted);

/// [low, high] widened to nice values; a range without extent becomes one around it.
struct NiceRange {
  double low = 0, high = 1;
};
NiceRange nice_range(double low, double high, int wanted);

/// Labels with the same number of decimals; from 10000 on in thousands (k), from 2 million on in millions
/// (M). With more than 6 decimals, or 6 digits before them, they have as many digits as tell them apart, and
/// exponents.
std::vector<std::string> tick_labels(const std::vector<double>& ticks);
std::vector<std::string> log_tick_labels(const std::vector<double>& ticks);

}  // namespace io::draw
