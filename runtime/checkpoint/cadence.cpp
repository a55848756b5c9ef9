// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/cadence.hpp"

#include <algorithm>
#include <cmath>

namespace empi::checkpoint {

double interval(const Cadence& cadence, double cost, int nodes) {
  if (cadence.every_seconds > 0) return cadence.every_seconds;
  const double mtbf = cadence.mtbf_hours * 3600 / std::max(nodes, 1);
  const double young = std::sqrt(2 * std::max(cost, 0.0) * mtbf) - std::max(cost, 0.0);
  return std::clamp(young, kShortestInterval, kLongestInterval);
}

std::int64_t next_look(double seconds, std::int64_t iterations, double elapsed, double most) {
  if (iterations <= 0 || elapsed <= 0) return 1;
  const double each = elapsed / static_cast<double>(iterations);
  // Never more than doubled: a first iteration may be far shorter than those that follow.
  const double fit = std::min(std::min(seconds / 2, most) / each, 2.0 * static_cast<double>(iterations));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(fit, 1e9)));
}

}  // namespace empi::checkpoint
