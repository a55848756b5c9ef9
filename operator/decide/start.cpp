// SPDX-License-Identifier: Apache-2.0
// Pending -> Starting -> Running.
//
//   Pending    nothing exists. Plan worker indices, create pods.            -> Starting
//   Starting   pods come up. All ready, or joinTimeout with at least
//              minReplicas ready: start the program on the ready ones       -> (start requested)
//              joinTimeout with fewer: delete all, back off                 -> Pending
//   requested  the lead confirms the membership                             -> Running

#include <algorithm>

#include "operator/decide/pass.hpp"
#include "operator/decide/queueing.hpp"

namespace emj {
namespace {

void plan(Pass& pass) {
  const int target = target_size(pass);
  pass.status.runtime_image = pass.seen.runtime_image;
  pass.status.mutual_tls = pass.seen.mutual_tls;
  StartStatus& start = pass.status.start.emplace();
  start.workers = pass.take_indices(target);
  start.start_time = pass.now;
  start.deadline = pass.now + join_timeout(pass);
  pass.status.state = JobState::Starting;
  if (!in_queue(pass.spec))  // else the grant has said it
    pass.event("Starting", "creating " + workers_text(target));
}

// A newer size is taken at once as long as nothing was started.
void follow_target(Pass& pass) {
  StartStatus& start = *pass.status.start;
  const int target = target_size(pass);
  while (start.workers.size() > target) {
    const int newest = start.workers.ascending().back();
    start.workers.erase(newest);
    start.created.erase(newest);
  }
  if (start.workers.size() < target)
    start.workers = set_union(start.workers, pass.take_indices(target - start.workers.size()));
}

// Replaces what vanished or is being evicted. False when a worker failed.
bool replace_lost_workers(Pass& pass) {
  StartStatus& start = *pass.status.start;
  const IndexSet planned = start.workers;
  for (const int index : planned) {
    const PodView* pod = pass.pod(index);
    const bool gone = pod ? pod->terminating : start.created.contains(index);
    if (gone) {
      start.workers.erase(index);
      start.created.erase(index);
      start.workers.insert(*pass.take_indices(1).begin());
    } else if (pod && has_ended(*pod)) {
      fail(pass, "WorkerFailed", "a worker ended before the program was started: " + describe_pod(*pod),
           true);
      return false;
    } else if (pod) {
      start.created.insert(index);
    }
  }
  return true;
}

IndexSet ready_workers(const Pass& pass) {
  IndexSet ready;
  for (const int index : pass.status.start->workers)
    if (const PodView* pod = pass.pod(index); pod && pod->ready && !pod->terminating) ready.insert(index);
  return ready;
}

void back_off(Pass& pass, const std::string& reason) {
  // Once the start was requested the program may be running, silent as the lead is.
  const DeleteReason deletion =
      pass.status.start->requested ? DeleteReason::JobEnded : DeleteReason::NeverJoined;
  stop_program(pass, reason);
  if (back_to_queue(pass, reason)) return delete_all(pass, deletion);
  const int attempts = pass.status.blocked ? pass.status.blocked->attempts + 1 : 1;
  const Seconds pause = back_off_pause(attempts - 1);
  const auto since = first_start(pass);
  pass.status.blocked = BlockedTarget{pass.status.start->workers.size(),
                                      pass.seen.job.metadata.generation,
                                      reason,
                                      attempts,
                                      pass.now + pause,
                                      since};
  pass.status.start.reset();
  pass.status.state = JobState::Pending;
  pass.warning("StartFailed", reason + "; next attempt in " + std::to_string(pause.count()) + " s");
  delete_all(pass, deletion);
  pass.wake_at(pass.now + pause);
}

void request(Pass& pass, const IndexSet& workers) {
  StartStatus& start = *pass.status.start;
  if (workers.size() < start.workers.size())
    pass.warning("StartingSmaller",
                 "only " + workers_text(workers.size()) + " of " + std::to_string(start.workers.size()) +
                     " were ready in time; missing: " + missing_worker(pass, start.workers));
  start.workers = workers;
  start.created = workers;
  start.requested = true;
  start.deadline = pass.now + pass.spec.resize.join_timeout;
}

void wait_for_pods(Pass& pass) {
  StartStatus& start = *pass.status.start;
  const IndexSet ready = ready_workers(pass);
  if (ready == start.workers) return request(pass, ready);
  if (pass.now < start.deadline) return pass.wake_at(start.deadline);
  const std::string waited = std::to_string(join_timeout(pass).count()) + " s";
  const int size = ready.empty() ? 0 : feasible_size(pass.spec, ready.size());
  if (size < pass.spec.worker.min_replicas || size > ready.size())
    return back_off(pass, "after " + waited + " only " + workers_text(ready.size()) + " ready, at least " +
                              std::to_string(pass.spec.worker.min_replicas) +
                              " needed; missing: " + missing_worker(pass, start.workers));
  const std::vector<int>& oldest = ready.ascending();
  request(pass, IndexSet(std::vector<int>(oldest.begin(), oldest.begin() + size)));
}

// True once the lead has confirmed a membership of exactly our pods.
bool confirmed(const Pass& pass) {
  const RuntimeView& runtime = pass.seen.runtime;
  if (!runtime.reachable || runtime.epoch < 1 || runtime.members.empty()) return false;
  return std::all_of(runtime.members.begin(), runtime.members.end(), [&](const std::string& uid) {
    const PodView* pod = pass.pod(uid);
    return pod && pass.status.start->workers.contains(pod->index);
  });
}

void become_running(Pass& pass) {
  const RuntimeView& runtime = pass.seen.runtime;
  JobStatus& status = pass.status;
  status.active_workers = status.start->workers;
  status.epoch = runtime.epoch;
  status.lead_uid = runtime.lead_uid.empty() ? runtime.members.front() : runtime.lead_uid;
  status.start.reset();
  status.blocked.reset();
  status.state = JobState::Running;
  if (!status.start_time) status.start_time = pass.now;  // a restart does not begin the job anew
  if (status.resize) return restarted(pass);
  status.policy_state.changes.push_back({pass.now, 0, status.active_workers.size(), 0, 0, 0});
  pass.event("Started", "the program runs on " + workers_text(status.active_workers.size()));
}

void wait_for_lead(Pass& pass) {
  StartStatus& start = *pass.status.start;
  if (confirmed(pass)) return become_running(pass);
  if (pass.now >= start.deadline) {
    const std::string problem = start_problem(pass);
    return back_off(pass, "the lead " + worker_name(pass.name, *start.workers.begin()) +
                              " did not confirm the start in time" + (problem.empty() ? "" : ": " + problem));
  }
  const std::vector<MemberAddress> members = pass.addresses(start.workers);
  pass.act(StartJob{members.front().uid, members, pass.status.fence});
  pass.wake_at(start.deadline);
}

}  // namespace

std::optional<Time> first_start(const Pass& pass) {
  const JobStatus& status = pass.status;
  if (status.start_time) return std::nullopt;
  if (!in_queue(pass.spec) && status.blocked && status.blocked->since) return status.blocked->since;
  return status.start ? std::optional(status.start->start_time) : std::nullopt;
}

void start_step(Pass& pass) {
  JobStatus& status = pass.status;
  if (status.state == JobState::Pending) {
    // Whatever is left of an earlier run must be on its way out first; a corpse that cannot be deleted
    // does not hold the job up, its index is never used again.
    delete_all(pass, DeleteReason::JobEnded);
    const bool leftovers = std::any_of(pass.seen.pods.begin(), pass.seen.pods.end(),
                                       [](const PodView& pod) { return !pod.terminating; });
    if (leftovers) return;
    if (status.blocked && pass.now < status.blocked->retry_after &&
        status.blocked->generation == pass.seen.job.metadata.generation)
      return pass.wake_at(status.blocked->retry_after);
    plan(pass);
  }
  if (!status.start) {  // a status written by other hands: begin again
    status.state = JobState::Pending;
    return pass.wake_at(pass.now);
  }
  if (!status.start->requested) {
    follow_target(pass);
    if (!replace_lost_workers(pass)) return;
    wait_for_pods(pass);
    if (status.start && !status.start->requested) create_missing(pass, status.start->workers);
  }
  if (status.state == JobState::Starting && status.start && status.start->requested) wait_for_lead(pass);
  if (status.state == JobState::Starting) delete_leftovers(pass);
}

}  // namespace emj
