// SPDX-License-Identifier: Apache-2.0
// When some ranks wait for others: whether sharing the work out anew would help.

#include <algorithm>
#include <cmath>

#include "operator/decide/policies/policies.hpp"

namespace emj {

double balanced_efficiency(double load_balance, double communication_efficiency) {
  const double useful = load_balance * communication_efficiency;
  return useful / (1 - communication_efficiency + useful);
}

const MeasuredSize* computing_as_long(int workers, double load_balance,
                                      const std::vector<MeasuredSize>& measured) {
  for (auto old = measured.rbegin(); old != measured.rend(); ++old) {
    if (old->workers == workers || old->compute_seconds <= 0 || old->useful_seconds <= 0) continue;
    // With the same useful time in all: busiest rank's time = mean time / balance, mean time ~ 1 / workers.
    const double balance_there = std::min(1.0, old->useful_seconds / old->compute_seconds);
    const double more = static_cast<double>(old->workers) / workers;
    const double times_as_long = load_balance / (balance_there * more);
    // Halfway (in logarithms) between 1 / more, what shared work takes there, and 1, what a serial part does.
    const double halfway = 1 / std::sqrt(more);
    return (more > 1 ? times_as_long > halfway : times_as_long < halfway) ? &*old : nullptr;
  }
  return nullptr;
}

Imbalance imbalance_of(int workers, double load_balance, double communication_efficiency,
                       const EfficiencyParameters& wanted, const std::vector<MeasuredSize>& measured) {
  Imbalance found;
  found.matters =
      load_balance * 100 < wanted.min_balance_percent &&
      balanced_efficiency(load_balance, communication_efficiency) * 100 >= wanted.min_efficiency_percent;
  if (found.matters) found.undivided = computing_as_long(workers, load_balance, measured);
  return found;
}

}  // namespace emj
