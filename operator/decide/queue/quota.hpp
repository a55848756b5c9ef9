// SPDX-License-Identifier: Apache-2.0
// Rule Q30: what quotas of namespaces leave for workers that are not made yet. All jobs of a namespace share
// it, whichever queue they are in. A quota bounds starts and growth and takes nothing back; nobody is shrunk
// for a job that its namespace has no room for.
#pragma once
#include <vector>

#include "operator/decide/queue/state.hpp"

namespace emj::queue {

// As the state says, less workers that were granted and are no pods yet, and less what promises have still to
// bring.
std::vector<Quota> quotas_left(const QueueState& state);
// Without taking off what is promised.
std::vector<Quota> quotas_before_promises(const QueueState& state);

// How many workers of this job fit into all that count them; none where one is overdrawn.
int quota_room(const std::vector<Quota>& quotas, const Demand& job);
void take(std::vector<Quota>& quotas, const Demand& job, int workers);

}  // namespace emj::queue
