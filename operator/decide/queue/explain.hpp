// SPDX-License-Identifier: Apache-2.0
// What was decided and why, in words and numbers (rule Q43). For people: nothing reads it.
#pragma once
#include <string>

#include "operator/decide/queue/state.hpp"

namespace emj::queue {

// "yields 3 workers to reservoir-b, which has waited 40 s (8 -> 5)"
std::string explain(const QueueState& state, const Grant& grant, Time now);

// Of a job in Plan::waiting: how many are before it, what it needs, what is free of the pool it is most
// likely to start in, and what others could let go of. No time: what is said is kept, and read later.
std::string explain_waiting(const QueueState& state, const Plan& plan, int job);

}  // namespace emj::queue
