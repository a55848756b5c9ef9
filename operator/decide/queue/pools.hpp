// SPDX-License-Identifier: Apache-2.0
// In which pool a job with a deadline or a budget runs, and with how many workers (rules Q17 to Q19): for a
// deadline the cheapest that is in time, for a budget the fastest that it pays for.
#pragma once
#include <optional>
#include <vector>

#include "operator/decide/queue/draft.hpp"

namespace emj::queue {

// What a pool has to offer to a job.
struct Offer {
  int workers = 0;
  double seconds = 0;  // until it is over
  double price = 0;    // from now on
  bool meets = false;  // keeps to what the job is to keep to
};

// Of the sizes from `least` on; nothing where nobody knows how long the job takes, or the pool is too small.
// `changes`: of membership, to be paid for before.
std::optional<Offer> best_offer(const Demand& job, const Pool& pool, int least, Time now, int changes = 0);

// Before a plan: sizes of a job that keeps to a deadline or a budget, and of one that waits the order of its
// pools.
void keep_to_goals(Demand& job, const std::vector<Pool>& pools, Time now);

// Step 10': running jobs go to another pool that has room, when that pays for both changes it takes (one that
// keeps the oldest member, who hands the data over, and one without it).
void migrate(Draft& draft);

// Before all others: running jobs whose pool has become too small for their least size (its nodes are
// cordoned, say) go to the first of their other pools that holds it, whatever that costs and whoever waits.
void leave_small_pools(Draft& draft);

}  // namespace emj::queue
