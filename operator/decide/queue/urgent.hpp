// SPDX-License-Identifier: Apache-2.0
// Jobs that have a deadline and keep to it by their own policy (rule Q17). What one needs for it is its floor
// and its wish: it gets that, and no more; nobody takes it below. That holds for deadlines that count
// (Demand::deadline_counts), the others are wishes.
#pragma once
#include "operator/decide/queue/draft.hpp"

namespace emj::queue {

// Floor and wish of a job with a deadline, as they are now: the least feasible size that is over in time, the
// fastest where none is. Of a running job whose own policy has judged that, its wish.
void keep_to_deadline(Demand& job, Time now);

// It waits, can be in time still, and not for long: who is so is first among those of its priority (step 2).
bool is_urgent(const QueueState& state, const Demand& job, Time now);

// Step 8: running jobs that have less than they need get it, or a promise of it, before anybody starts. The
// plan wakes when a waiting job gets urgent.
void serve_urgent(Draft& draft);

}  // namespace emj::queue
