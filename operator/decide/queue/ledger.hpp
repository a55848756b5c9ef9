// SPDX-License-Identifier: Apache-2.0
// Step 1 of a pass: who has what of a pool.
#pragma once
#include <vector>

#include "operator/decide/queue/state.hpp"

namespace emj::queue {

struct Ledger {
  Resources free;       // capacity less what jobs hold; negative when nodes have gone
  Resources releasing;  // held by jobs that are on their way to fewer workers, or by none any more
  Resources promised;   // what standing promises have still to bring
};

// Free, now or when those have gone that are on their way: of what nodes that have gone have left behind
// nothing is.
inline Resources to_come(const Ledger& ledger) { return positive(ledger.free + ledger.releasing); }

// One for each pool.
std::vector<Ledger> make_ledgers(const QueueState& state);

// What running jobs of a pool can be taken down by for a job of this priority, without ending any.
Resources surplus(const QueueState& state, int pool, int priority);

// Pools that a job may use, in its order of preference.
std::vector<int> pools_of(const QueueState& state, const Demand& job);

}  // namespace emj::queue
