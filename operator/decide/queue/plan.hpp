// SPDX-License-Identifier: Apache-2.0
// The scheduler of a queue: one pure function of values and a time.
//
//   ledger (who has what) -> order (who waits, in which order) -> backfill, reserve (who is let in) ->
//   promise (who starts now, who when others have let go) -> donors (who lets go) -> growth, moves (who gets
//   what is left)
//
// All that it remembers stands in the jobs' statuses, as Demand::allocation: a grant that was not written
// never happened (rules Q25, Q26). A promise frees nothing in the plan that makes it: plan again when it has
// been written. The same values give the same plan.
#pragma once
#include "operator/decide/queue/state.hpp"

namespace emj::queue {

// `state.jobs` must be in_order().
Plan schedule(const QueueState& state, Time now);

}  // namespace emj::queue
