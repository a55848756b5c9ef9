// SPDX-License-Identifier: Apache-2.0
// For tests: how far counts are from being even, as those of truths ranked among samples have to be.
#pragma once
#include <vector>

namespace mcmc::testing {

/// chi^2 of counts in bins against the same expectation in each of them; one value for each row.
inline std::vector<double> chi_squared(const std::vector<std::vector<int>>& counts, double expected) {
  std::vector<double> result;
  for (const auto& of : counts) {
    double sum = 0;
    for (const int count : of) sum += (count - expected) * (count - expected) / expected;
    result.push_back(sum);
  }
  return result;
}

}  // namespace mcmc::testing
