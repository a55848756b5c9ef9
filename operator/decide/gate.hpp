// SPDX-License-Identifier: Apache-2.0
// Which measured windows a decision may use, and whether they suffice.
#pragma once
#include <string>
#include <vector>

#include "operator/decide/policy.hpp"

namespace emj {

struct GateResult {
  std::vector<Sample> windows;  // those to judge, oldest first
  std::vector<Sample> steady;   // all that count
  // From the end of an iteration on (or the first report of progress), at least one whole one; empty when
  // there are not enough such windows.
  std::vector<Sample> whole;
  std::string missing;  // why they do not suffice, "" when they do
  std::int64_t iterations = 0;
  double relative_error = 0;      // 95 % confidence half-width of the iteration time
  double work_per_iteration = 0;  // 0 when the application reports none
  bool stale = false;             // no recent sample at all
};

// Windows count when they were measured at the current size, started at least two window lengths after the
// last change (warm-up: caches, first exchanges, the change itself) and after `since`, and are not stale.
// Tasks as evidence are those of the running phase at any size: how long they take does not depend on it.
GateResult gate(const AutoscalingSpec& spec, const PolicyInput& input,
                Evidence evidence = Evidence::Iterations, std::optional<Time> since = {});

// 95 % half-width of the mean iteration time over that mean, pooled over windows; 1 when unknown.
double pooled_relative_error(const std::vector<Sample>& windows);

// The same of the time per unit of work, as a ratio of sums over windows (Cochran, Sampling Techniques,
// eq. 2.39); 1 when fewer than two windows hold iterations or one of them reports no work. Where iterations
// differ because their work does, this is known long before the iteration time is.
double relative_error_per_work(const std::vector<Sample>& windows);

}  // namespace emj
