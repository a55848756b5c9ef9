// SPDX-License-Identifier: Apache-2.0
// The status of a queue: what it says to people, and what the next scheduler goes on from. Pure.
#pragma once
#include <vector>

#include "operator/controller/capacity.hpp"
#include "operator/decide/queue/state.hpp"

namespace emj {

// Use and busyness go on from `status`, with what is held now for the time since it was counted.
void count_use(QueueStatus& status, const queue::QueueState& state, Time now);

// Pools, counts, the head of the queue and conditions. Of equal statuses the same is written.
void describe_queue(QueueStatus& status, const ElasticQueue& queue, const queue::QueueState& state,
                    const std::vector<PoolRoom>& rooms, const queue::Plan& plan, Time now);

// What a shrink took from the decision until its pods were gone, into the average over about twenty. By a
// clock that may have been set meanwhile: nothing at least, and five minutes at most.
void count_release(QueueStatus& status, double seconds);
// That average, whoever has written it.
double release_seconds(const QueueStatus& status);

// Whether they differ in nothing but how much was used, by the same namespaces, and how long things took.
bool same_but_for_use(const QueueStatus& one, QueueStatus other);

// Whether `now` says something that should not wait: another capacity, another first job.
bool urgent(const QueueStatus& before, const QueueStatus& now);

}  // namespace emj
