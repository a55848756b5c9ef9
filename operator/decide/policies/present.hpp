// SPDX-License-Identifier: Apache-2.0
// A job at its present size, as its steady windows measure it.
#pragma once
#include <optional>

#include "operator/decide/policies/model.hpp"
#include "operator/decide/policy.hpp"

namespace emj {

// How many standard deviations of a measurement count as more than noise.
inline constexpr double kSignificance = 2;

struct Present {
  SizePoint point;
  double load_balance = 1;
  double work_per_iteration = 0;
  double noise = 0;  // standard deviation of the mean iteration time over that mean
  std::int64_t epoch = 0;
  std::optional<double> seconds_left;  // of the program, where it reports its progress
};

// Of input.steady, which is not empty.
Present measure(const PolicyInput& input);

}  // namespace emj
