// SPDX-License-Identifier: Apache-2.0
// Step 2 of a pass: in which order jobs wait.
#pragma once
#include <vector>

#include "operator/decide/queue/state.hpp"

namespace emj::queue {

// Waiting jobs without a promise: by priority; then who has waited longer than maxWait; then by since +
// penalty; ties by since, then uid.
std::vector<int> waiting_order(const QueueState& state, Time now);

bool overdue(const QueueState& state, const Demand& job, Time now);

// Seconds by which the jobs of a namespace stand back: penalty x clamp(u - 1, 0, 1), u its share of the usage
// over its share of the weights, in steps of a tenth so that the order does not change all the time (rule
// Q35).
double share_penalty(const QueueState& state, const std::string& namespace_name);

}  // namespace emj::queue
