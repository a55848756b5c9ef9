// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/ledger.hpp"

#include <algorithm>
#include <numeric>

namespace emj::queue {

bool in_order(const std::vector<Demand>& jobs) {
  return std::is_sorted(jobs.begin(), jobs.end(), [](const Demand& a, const Demand& b) {
    return a.since != b.since ? a.since < b.since : a.uid < b.uid;
  });
}

std::vector<Ledger> make_ledgers(const QueueState& state) {
  std::vector<Ledger> ledgers(state.pools.size());
  for (std::size_t p = 0; p < ledgers.size(); ++p)
    ledgers[p].free = state.pools[p].capacity - state.pools[p].unplaceable;
  for (const Departing& pods : state.departing) {
    ledgers[pods.pool].free -= pods.held;
    if (!pods.stays) ledgers[pods.pool].releasing += pods.held;
  }
  for (const Demand& job : state.jobs) {
    for (const Left& other : job.left) {
      ledgers[other.pool].free -= job.of(other.pods);
      ledgers[other.pool].releasing += job.of(other.pods);
    }
    if (job.allocation.pool < 0) continue;
    Ledger& ledger = ledgers[job.allocation.pool];
    const int held = std::max(job.held, job.allocation.workers);
    ledger.free -= job.of(held);
    ledger.releasing += job.of(held - job.allocation.workers);
    ledger.promised += job.of(job.lacking());
  }
  return ledgers;
}

Resources surplus(const QueueState& state, int pool, int priority) {
  Resources sum;
  for (const Demand& job : state.jobs) {
    if (job.queued() || job.allocation.pool != pool) continue;
    sum += job.of(job.allocation.workers - yields_down_to(job, priority));
  }
  return sum;
}

std::vector<int> pools_of(const QueueState& state, const Demand& job) {
  if (!job.pools.empty()) return job.pools;
  std::vector<int> all(state.pools.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace emj::queue
