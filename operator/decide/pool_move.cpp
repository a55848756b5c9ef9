// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/pool_move.hpp"

#include <algorithm>

namespace emj {
namespace {

bool in_pool(const Pass& pass, int index, const std::string& pool) {
  const PodView* view = pass.pod(index);
  return view && view->pool == pool;
}

// What was measured and foretold in one pool, in terms of another with cores that are `factor` times as fast:
// what is computed takes as much less time, what is sent does not.
void carry_to_pool(JobStatus& status, double factor) {
  for (MeasuredSize& point : status.policy_state.measured) {
    if (point.iteration_seconds <= 0) continue;
    point.iteration_seconds -= std::min(point.compute_seconds, point.iteration_seconds) * (1 - 1 / factor);
    point.compute_seconds /= factor;
    point.useful_seconds /= factor;
  }
  if (!status.forecast) return;
  status.forecast->seconds_left /= factor;
  if (auto& finish = status.forecast->finish)
    finish = status.forecast->time +
             std::chrono::ceil<Seconds>(std::chrono::duration<double>(status.forecast->seconds_left));
}

}  // namespace

AllocationStatus& next_version(Pass& pass) {
  AllocationStatus& allocation =
      pass.status.allocation ? *pass.status.allocation : pass.status.allocation.emplace();
  ++allocation.sequence;
  allocation.time = pass.now;
  return allocation;
}

// Its members go to another pool, two changes in all. What it wished for was for the one that it leaves.
void leave_pool(JobStatus& status, const AllocationStatus& before) {
  AllocationStatus& now = *status.allocation;
  now.moved_from = PoolTerms{before.pool, before.price_per_worker_hour, before.speed_percent};
  status.policy_state.wish.reset();
  carry_to_pool(status, double(now.speed_percent.value_or(100)) / before.speed_percent.value_or(100));
}

// Nobody has arrived in the pool that it was to go to, and it does not try on.
bool stays_in_pool(Pass& pass, const std::string& why) {
  JobStatus& status = pass.status;
  if (!status.allocation || !status.allocation->moved_from) return false;
  const PoolTerms from = *status.allocation->moved_from;
  for (const int index : status.active_workers)
    if (in_pool(pass, index, status.allocation->pool)) return false;
  AllocationStatus& allocation = next_version(pass);
  const AllocationStatus there = allocation;
  allocation.pool = from.pool;
  allocation.price_per_worker_hour = from.price_per_worker_hour;
  allocation.speed_percent = from.speed_percent;
  allocation.moved_from.reset();
  allocation.workers = status.active_workers.size();
  allocation.promised = 0;
  allocation.reason = "stays in pool " + from.pool + ": " + why;
  status.policy_state.wish.reset();
  carry_to_pool(status, double(from.speed_percent.value_or(100)) / there.speed_percent.value_or(100));
  pass.warning("MoveFailed", allocation.reason);
  return true;
}

// Who was left behind has gone.
void arrive_in_pool(Pass& pass) {
  auto& allocation = pass.status.allocation;
  if (!allocation || !allocation->moved_from || pass.status.resize) return;
  const bool behind = std::ranges::any_of(
      pass.seen.pods, [&](const PodView& pod) { return pod.pool == allocation->moved_from->pool; });
  if (!behind) allocation->moved_from.reset();
}

}  // namespace emj
