// SPDX-License-Identifier: Apache-2.0
// A warm pool, spec.worker.standby: workers that run and belong to no program yet. A grow takes them first
// and then costs the join only.
//
//   nothing in hand   too few: plan indices, make pods. Too many (the job is near its maximum): the newest go
//   a change begins   its newcomers are those that are ready, then those that are on their way, then new ones
//   ... and is given up before it was sent: what it had taken comes back
//   one ends by itself, or its node is drained: replaced, after ends by itself ever later
//   the job ends      they go, whatever cleanPodPolicy says: nobody would ever tell them
//
// The pool is filled up between changes: pods that start would take the processors of those that join.

#include <algorithm>

#include "operator/decide/resize.hpp"
#include "runtime/base/backoff.hpp"

namespace emj {
namespace {

constexpr Seconds kFirstPause{30};
constexpr Seconds kLongestPause{3600};

bool usable(const PodView* pod) {
  return pod && !pod->terminating && !pod->disruption_target && !has_ended(*pod);
}

// No more than could still join.
int wanted(const Pass& pass) {
  const JobStatus& status = pass.status;
  int size = status.active_workers.size();
  if (status.resize)
    size = std::max(size, resizing::aim(pass));
  else if (status.awaited)
    size += status.awaited->workers.size();
  const int most =
      feasible_size(pass.spec, within_program(status.policy_state, pass.spec.worker.max_replicas));
  return std::clamp(most - size, 0, pass.spec.worker.standby);
}

bool nothing_in_hand(const Pass& pass) {
  const JobStatus& status = pass.status;
  return (!status.resize || status.resize->phase == ResizePhase::Draining) && !status.awaited &&
         !pass.seen.runtime.ending;
}

// Newcomers of the pass before that no change wants any more, and that the lead was never told of.
IndexSet let_go(const Pass& pass) {
  const JobStatus& before = pass.seen.job.status;
  const JobStatus& status = pass.status;
  IndexSet free;
  if (before.resize && before.resize->phase == ResizePhase::CreatingPods) free = before.resize->add;
  if (before.awaited) free = set_union(free, before.awaited->workers);
  if (status.resize) free = set_difference(free, status.resize->add);
  if (status.awaited) free = set_difference(free, status.awaited->workers);
  return set_difference(free, status.active_workers);
}

void strike_out_lost(Pass& pass, StandbyStatus& pool) {
  for (const int index : IndexSet(pool.workers)) {
    const PodView* pod = pass.pod(index);
    if (usable(pod) && !made_too_narrow(pass, *pod)) {
      pool.created.insert(index);
      continue;
    }
    if (!pod && !pool.created.contains(index)) continue;  // not made yet
    pool.workers.erase(index);
    pool.created.erase(index);
    if (!pod || !has_ended(*pod) || pod->terminating) continue;
    const Seconds pause = empi::backoff(kFirstPause, kLongestPause, pool.attempts++);
    pool.retry_after = pass.now + pause;
    pool.reason = describe_pod(*pod);
    pass.warning("StandbyFailed", "a worker in reserve ended: " + pool.reason + "; replaced in " +
                                      std::to_string(pause.count()) + " s");
  }
}

bool may_fill(Pass& pass, const StandbyStatus& pool) {
  if (!nothing_in_hand(pass)) return false;
  if (!pool.retry_after || pass.now >= *pool.retry_after) return true;
  pass.wake_at(*pool.retry_after);
  return false;
}

}  // namespace

IndexSet take_newcomers(Pass& pass, int count) {
  IndexSet taken;
  auto& pool = pass.status.standby;
  const auto take = [&](bool ready) {
    for (const int index : IndexSet(pool->workers)) {
      const PodView* pod = pass.pod(index);
      if (taken.size() == count || !usable(pod) || pod->ready != ready) continue;
      taken.insert(index);
      pool->workers.erase(index);
      pool->created.erase(index);
    }
  };
  if (pool) {
    take(true);
    take(false);
  }
  return set_union(taken, pass.take_indices(count - taken.size()));
}

void plan_standby(Pass& pass) {
  auto& status = pass.status.standby;
  if (pass.spec.worker.standby == 0) return status.reset();
  StandbyStatus pool = status.value_or(StandbyStatus{});
  const int count = wanted(pass);
  strike_out_lost(pass, pool);
  for (const int index : let_go(pass))
    if (pool.workers.size() < count && usable(pass.pod(index))) pool.workers.insert(index);
  resizing::keep_at_most(pass, count, pool.workers, pool.created);
  if (pool.workers.size() < count && may_fill(pass, pool))
    pool.workers = set_union(pool.workers, pass.take_indices(count - pool.workers.size()));
  pool.ready = resizing::ready_of(pass, pool.workers).size();
  if (pool.ready == pass.spec.worker.standby && pool.retry_after && pass.now >= *pool.retry_after) {
    pool.attempts = 0;
    pool.retry_after.reset();
    pool.reason.clear();
  }
  status = std::move(pool);
}

// Last of all: where a quota has no room for them, nothing else waits for it.
void create_standby(Pass& pass) {
  if (!pass.status.standby || !nothing_in_hand(pass)) return;
  create_missing(pass, pass.status.standby->workers);
}

void end_standby(Pass& pass) {
  JobStatus& status = pass.status;
  StandbyStatus idle;
  if (status.standby) idle.workers = status.standby->workers;
  if (status.awaited) idle.workers = set_union(idle.workers, status.awaited->workers);
  if (status.resize && status.resize->phase == ResizePhase::CreatingPods)
    idle.workers = set_union(idle.workers, status.resize->add);
  status.standby = std::move(idle);
}

void delete_standby(Pass& pass) {
  auto& idle = pass.status.standby;
  if (!idle) return;
  for (const int index : IndexSet(idle->workers)) {
    const PodView* pod = pass.pod(index);
    if (pod && !pod->terminating)
      pass.act(DeletePod{pod->name, pod->uid, DeleteReason::NeverJoined});
    else
      idle->workers.erase(index);
  }
  if (idle->workers.empty()) idle.reset();
}

}  // namespace emj
