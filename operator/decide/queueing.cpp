// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queueing.hpp"

#include <algorithm>
#include <cmath>

#include "operator/decide/pass.hpp"
#include "operator/decide/pool_move.hpp"
#include "operator/decide/resize.hpp"
#include "runtime/base/backoff.hpp"

namespace emj {
namespace {

constexpr Seconds kFirstRetry{30};
constexpr Seconds kLongestRetry{600};
constexpr Seconds kNewsOfStart{60};  // an expected start that has moved by less is no news

bool runs(const JobStatus& status) { return !status.active_workers.empty(); }

// Less than it was given, by its own decision.
void give_back(Pass& pass, int workers, const std::string& why) {
  AllocationStatus& allocation = next_version(pass);
  const int before = allocation.workers;
  allocation.workers = workers;
  allocation.promised = 0;
  allocation.yields_to.clear();
  allocation.reason = "gives back " + workers_text(before - workers) + ": " + why;
  pass.event("GivenBack", allocation.reason);
}

Time next_attempt(Pass& pass) {
  WaitStatus& wait = *pass.status.queue;
  return pass.now + empi::backoff(kFirstRetry, kLongestRetry, wait.attempts++);
}

// Since when no node has room for this pod, or the cluster does not let it be made. What was refused before
// it had been granted anew says nothing.
std::optional<Time> unplaced_since(const Pass& pass, int index, const IndexSet& created) {
  if (const PodView* pod = pass.pod(index)) return pod->terminating ? std::nullopt : pod->unschedulable_since;
  if (created.contains(index) || !pass.seen.creation_denied_since) return std::nullopt;
  return std::max(*pass.seen.creation_denied_since, pass.status.allocation->time);
}

// Of these, for which that has been so for as long as the queue bears (rules Q29, Q30).
IndexSet unplaced(Pass& pass, const IndexSet& workers, const IndexSet& created) {
  IndexSet found;
  for (const int index : workers) {
    const auto since = unplaced_since(pass, index, created);
    if (!since) continue;
    const Time bound = *since + *pass.seen.pending_bound;
    if (pass.now >= bound)
      found.insert(index);
    else
      pass.wake_at(bound);
  }
  return found;
}

struct TakenOut {
  int workers = 0;
  bool unmade = false;  // one of them is no pod: a rule of the cluster forbids it
  std::string missing;
};

// Takes such workers out of what is planned.
void take_out_unplaced(Pass& pass, IndexSet& planned, IndexSet& created, TakenOut& taken) {
  const IndexSet out = unplaced(pass, planned, created);
  if (out.empty()) return;
  taken.missing = missing_worker(pass, out);
  taken.workers += out.size();
  for (const int index : out) {
    if (!pass.pod(index)) taken.unmade = true;
    planned.erase(index);
    created.erase(index);
  }
}

// Workers that find no node, or may not be made, are given back, and asked for again later. False: too few
// are left to start with.
bool give_back_unplaced(Pass& pass) {
  JobStatus& status = pass.status;
  if (!pass.seen.pending_bound) return true;
  TakenOut out;
  if (status.start && !status.start->requested)
    take_out_unplaced(pass, status.start->workers, status.start->created, out);
  if (status.resize && status.resize->phase == ResizePhase::CreatingPods)
    take_out_unplaced(pass, status.resize->add, status.resize->created, out);
  if (status.awaited) take_out_unplaced(pass, status.awaited->workers, status.awaited->created, out);
  if (out.workers == 0) return true;
  const QueueCause cause = out.unmade ? QueueCause::Quota : QueueCause::Unplaceable;
  const std::string who = workers_text(out.workers);
  const std::string why = (out.unmade ? who + " could not be made" : "no node has had room for " + who) +
                          " for " + std::to_string(pass.seen.pending_bound->count()) +
                          " s; missing: " + out.missing;
  if (stays_in_pool(pass, why)) {
    status.queue->retry_after = next_attempt(pass);
    return true;
  }
  const int left = std::max(0, allocated_workers(status) - out.workers);
  const int size = left > 0 ? feasible_size(pass.spec, left) : 0;
  if (!runs(status) && (size < pass.spec.worker.min_replicas || size > left)) {
    back_to_queue(pass, why, cause);
    delete_all(pass, DeleteReason::NeverJoined);
    return false;
  }
  status.queue->retry_after = next_attempt(pass);
  status.queue->cause = cause;
  status.queue->reason = why;
  give_back(pass, runs(status) ? std::max(size, status.active_workers.size()) : size, why);
  return true;
}

// Workers were given back since there was no place for them.
bool for_want_of_place(QueueCause cause) {
  return cause == QueueCause::Unplaceable || cause == QueueCause::Quota;
}

// For as long as it is not to be asked for again.
bool was_unplaced(const Pass& pass) {
  const WaitStatus& wait = *pass.status.queue;
  return for_want_of_place(wait.cause) && wait.retry_after && pass.now < *wait.retry_after;
}

void forget_wait(WaitStatus& wait) {
  wait.cause = QueueCause::Unknown;
  wait.reason.clear();
  wait.expected_start.reset();
  wait.retry_after.reset();
}

void tell_of(Pass& pass, const AllocationStatus& before, const AllocationStatus& now) {
  if (now.moved_from && !before.moved_from)
    pass.event("Moving", now.reason);
  else if (now.workers > before.workers)
    pass.event("Allocated", now.reason);
  else if (now.workers < before.workers)
    pass.event("Yielding", now.reason);
  else if (now.promised > before.promised)
    pass.event("Promised", now.reason);
  else if (now.promised < before.promised)
    pass.warning("PromiseWithdrawn", now.reason);
}

// A grant is for the version of the allocation that it was made from: whatever the job has given up since, it
// does not get back by an old one.
void take_grant(Pass& pass) {
  const auto& grant = pass.seen.grant;
  const AllocationStatus before = pass.status.allocation.value_or(AllocationStatus{});
  if (!grant || !grant->allocation || grant->allocation->sequence != before.sequence + 1) return;
  pass.status.allocation = grant->allocation;
  pass.status.allocation->moved_from = before.moved_from;
  if (runs(pass.status) && !before.pool.empty() && before.pool != grant->allocation->pool) {
    resizing::call_off_newcomers(pass, grant->allocation->reason);
    leave_pool(pass.status, before);
  }
  tell_of(pass, before, *pass.status.allocation);
}

// The API server tells whole seconds. Of jobs that were made in one, who was seen first is first: a later one
// does not come before one that has been told when it starts.
Time came_at(const Pass& pass) {
  const auto& made = pass.seen.job.metadata.creation_time;
  if (!made) return pass.now;
  if (*made != std::chrono::floor<Seconds>(*made)) return *made;
  return std::clamp<Time>(pass.now, *made, *made + Millis(999));
}

void enter(Pass& pass) {
  if (pass.status.queue) return;
  const bool resumed = pass.seen.job.status.state == JobState::Suspended;
  WaitStatus& wait = pass.status.queue.emplace();
  wait.since = resumed ? pass.now : came_at(pass);
  const auto deadline = deadline_of(pass.seen.job);
  if (deadline && least_seconds(pass) <= std::chrono::duration<double>(*deadline - wait.since).count())
    wait.deadline = deadline;
}

void leave_queue(JobStatus& status) {
  status.allocation.reset();
  status.queue.reset();
  status.policy_state.wish.reset();
  if (status.state == JobState::Queued) status.state = JobState::Pending;
}

// Whether that is news of when a job starts.
bool moved(const std::optional<Time>& before, const std::optional<Time>& start, Time now) {
  if (!before || !start) return before.has_value() != start.has_value();
  return std::chrono::abs(*start - *before) > std::max<Millis>(kNewsOfStart, (*start - now) / 10);
}

// Each write costs the API server one, and positions change all the time: other words for the same cause are
// not written (rule Q7).
void tell_why_it_waits(Pass& pass) {
  WaitStatus& wait = *pass.status.queue;
  const auto& grant = pass.seen.grant;
  const bool retrying = wait.retry_after && pass.now < *wait.retry_after;
  if (retrying) {
    pass.wake_at(*wait.retry_after);
    return;
  }
  const bool promised = pass.status.allocation && pass.status.allocation->promised > 0;
  const bool told = grant && grant->cause != QueueCause::Unknown;
  // What an earlier scheduler has said holds until this one speaks.
  if (!promised && !told && !wait.reason.empty() && wait.cause != QueueCause::Promised) return;
  QueueCause cause = promised ? QueueCause::Promised : QueueCause::Unknown;
  std::string reason = promised ? pass.status.allocation->reason : "its queue has not looked at it yet";
  std::optional<Time> start;
  if (!promised && told) {
    cause = grant->cause;
    reason = grant->reason;
    start = grant->expected_start;
  }
  if (wait.cause != cause || wait.reason.empty()) {
    wait.cause = cause;
    wait.reason = reason;
    wait.expected_start = start;
  } else if (told && moved(wait.expected_start, start, pass.now)) {
    wait.reason = reason;
    wait.expected_start = start;
  }
}

bool wait_in_queue(Pass& pass) {
  JobStatus& status = pass.status;
  status.state = JobState::Queued;
  stop_program(pass, "the job waits in its queue again");
  status.start.reset();
  delete_all(pass, DeleteReason::JobEnded);
  tell_why_it_waits(pass);
  return false;
}

void start_with_what_it_has(Pass& pass) {
  JobStatus& status = pass.status;
  if (status.state == JobState::Queued) status.state = JobState::Pending;
  if (!was_unplaced(pass)) forget_wait(*status.queue);
  // It starts with those that came in time.
  const bool fewer =
      status.start && status.start->requested && status.start->workers.size() < status.allocation->workers;
  if (fewer) give_back(pass, status.start->workers.size(), "the others did not come in time");
}

void keep_only_what_is_used(Pass& pass) {
  JobStatus& status = pass.status;
  if (for_want_of_place(status.queue->cause) && !was_unplaced(pass)) forget_wait(*status.queue);
  if (status.resize || status.awaited) return;
  const int size = status.active_workers.size();
  const auto& blocked = status.blocked;
  const bool elsewhere = status.allocation->workers != size || status.allocation->moved_from;
  if (blocked && pass.now < blocked->retry_after && elsewhere) {
    // A grow or a shrink has come to nothing. The queue asks others, and this one again later.
    status.queue->retry_after = blocked->retry_after;
    if (stays_in_pool(pass, blocked->reason)) return;
    AllocationStatus& allocation = next_version(pass);
    allocation.reason = "stays at " + workers_text(size) + ": " + blocked->reason;
    allocation.workers = size;
    allocation.promised = 0;
    allocation.yields_to.clear();
    return;
  }
  if (size < status.allocation->workers && target_size(pass) <= size)
    give_back(pass, size, "its policy wants no more");
}

}  // namespace

bool in_queue(const JobSpec& spec) { return !spec.scheduling.queue_name.empty(); }

int allocated_workers(const JobStatus& status) { return status.allocation ? status.allocation->workers : 0; }

namespace {

int policy_wish(const JobSpec& spec, const PolicyState& state) {
  const bool sizes = spec.autoscaling.mode == AutoscalingMode::Auto &&
                     spec.autoscaling.policy.name != PolicyName::Manual && state.paused_spec.empty();
  if (!sizes) return spec.worker.replicas.value_or(spec.worker.max_replicas);
  if (state.wish) return *state.wish;
  // These are given what the queue finds right for them until they have measured what they need.
  const PolicyName policy = spec.autoscaling.policy.name;
  const bool as_given =
      policy == PolicyName::Throughput || policy == PolicyName::Deadline || policy == PolicyName::Budget;
  return as_given ? spec.worker.max_replicas : reference_size(spec);
}

}  // namespace

int queue_wish(const JobSpec& spec, const PolicyState& state) {
  return within_program(state, policy_wish(spec, state));
}

bool queue_step(Pass& pass) {
  JobStatus& status = pass.status;
  if (!in_queue(pass.spec)) {
    leave_queue(status);
    return true;
  }
  enter(pass);
  take_grant(pass);
  const int allocated = allocated_workers(status);
  if (runs(status)) {
    // Whoever had it before has started it without the queue: what it has is what it has.
    if (allocated == 0) next_version(pass).workers = status.active_workers.size();
    arrive_in_pool(pass);
    give_back_unplaced(pass);
    keep_only_what_is_used(pass);
    return true;
  }
  if (allocated == 0) return wait_in_queue(pass);
  if (!give_back_unplaced(pass)) return false;
  start_with_what_it_has(pass);
  return true;
}

void drop_allocation(Pass& pass) {
  auto& allocation = pass.status.allocation;
  if (allocation && (allocation->workers > 0 || allocation->promised > 0)) renounce_allocation(pass);
}

void renounce_allocation(Pass& pass) {
  AllocationStatus& next = next_version(pass);
  next.workers = 0;
  next.promised = 0;
  next.reason.clear();
  next.yields_to.clear();
  next.moved_from.reset();
}

void pause_in_queue(Pass& pass, Seconds pause, const std::string& reason, QueueCause cause) {
  if (!pass.status.queue) return;
  WaitStatus& wait = *pass.status.queue;
  wait.retry_after = pass.now + pause;
  wait.cause = cause;
  wait.reason = reason + "; in the queue again, next attempt in " + std::to_string(pause.count()) + " s";
  wait.expected_start.reset();
  drop_allocation(pass);
  pass.wake_at(*wait.retry_after);
}

bool back_to_queue(Pass& pass, const std::string& reason, QueueCause cause) {
  if (!in_queue(pass.spec) || !pass.status.queue) return false;
  const Millis pause = next_attempt(pass) - pass.now;
  pause_in_queue(pass, std::chrono::duration_cast<Seconds>(pause), reason, cause);
  pass.status.start.reset();
  pass.status.state = JobState::Queued;
  pass.warning(for_want_of_place(cause) ? "Unplaceable" : "StartFailed", pass.status.queue->reason);
  return true;
}

}  // namespace emj
