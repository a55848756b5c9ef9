// SPDX-License-Identifier: Apache-2.0
// Who gets what is spare: the water level at which marginal gains per CPU are cut off, by bisection over the
// marginal tables (rule Q6). Optimal for concave gains and one resource; steps between corners of the
// envelope are taken whole.
#pragma once
#include <span>
#include <vector>

#include "operator/decide/queue/curve.hpp"
#include "operator/decide/queue/resources.hpp"

namespace emj::queue {

// A job that could use more workers.
struct Claim {
  const Curve* curve = nullptr;
  double factor = 1;  // what the curve's marginal is multiplied by: the objective's, over a worker's CPU
  Resources worker;   // of one
  int from = 0;       // places in the curve: present size,
  int to = 0;         // and the largest
};

// The place that each claim reaches. Ties go to whom stands first.
std::vector<int> level(std::span<const Claim> claims, Resources spare);

// Objective Workload of seed 001: workers in proportion to `work`, rounded by the largest remainder, within
// the claims. The total is what the claims have and what is spare.
std::vector<int> level_by_work(std::span<const Claim> claims, std::span<const double> work, Resources spare);

}  // namespace emj::queue
