// SPDX-License-Identifier: Apache-2.0
// What a change of size costs, from the changes measured so far.
#pragma once
#include <vector>

#include "operator/api/job.hpp"

namespace emj {

// A policy that is driven by efficiency rests after a change for as many times what the change has cost.
inline constexpr int kCooldownCosts = 10;

struct ChangeCost {
  double lost_seconds = 0;   // of the whole job: waits, the window, slower iterations around it (decision R7)
  double delay_seconds = 0;  // from the decision until the new size computes
};

// lost = alpha + beta * joining + gamma * moved, with the joining workers and the share of the data that
// changes owner, |n' - n| / max(n, n'); nonnegative least squares over the last changes. Before any was
// measured: 1 s + 0.1 s a worker. The delay is the mean one of earlier changes of this direction, 5 s before.
ChangeCost change_cost(const std::vector<SizeChange>& history, int from, int to);

}  // namespace emj
