// SPDX-License-Identifier: Apache-2.0
// What a policy remembers of the sizes that a job has had (status.policyState): it outlives the operator.
#pragma once
#include <vector>

#include "operator/decide/policies/phase.hpp"
#include "operator/decide/policy.hpp"

namespace emj {

// The present size as `windows` show it; nothing when that is known, or was written a moment ago.
void remember(const PolicyInput& input, const std::vector<Sample>& windows, PolicyState& state);
// Of a size that is left before its iteration time is known: how well and how evenly it was used.
void remember_shares(const PolicyInput& input, const std::vector<Sample>& windows, PolicyState& state);
// Seconds per task of the whole job and the share of the time spent in tasks, while the queue was not empty.
void remember_tasks(const PolicyInput& input, const std::vector<Sample>& windows, PolicyState& state);

// Windows from before `since` belong to another phase of the program, and so does what is remembered of
// sizes.
void start_phase(PolicyState& state, Time since);
// The program has become faster or slower at the same size, because it does something else or because of a
// neighbour on its nodes: what is remembered of other sizes changes with it. A change too large for that
// starts a phase.
void change_phase(const PolicyInput& input, PolicyState& state, const PhaseChange& change);

}  // namespace emj
