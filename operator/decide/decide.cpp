// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/decide.hpp"

#include <algorithm>

#include "operator/decide/pass.hpp"

namespace emj {
namespace {

// Takes over what the lead has committed. Only the lead knows the membership; status is its copy.
void adopt_membership(Pass& pass) {
  const RuntimeView& runtime = pass.seen.runtime;
  JobStatus& status = pass.status;
  if (status.active_workers.empty() || !runtime.reachable || runtime.epoch <= status.epoch) return;
  IndexSet members;
  for (const std::string& uid : runtime.members)
    if (const PodView* pod = pass.pod(uid)) members.insert(pod->index);
  if (members.size() != static_cast<int>(runtime.members.size()) && status.resize) {
    // A member's pod is gone already, so its index cannot be looked up: it is the one that was planned.
    const IndexSet planned =
        set_union(set_difference(status.active_workers, status.resize->remove), status.resize->add);
    if (planned.size() == static_cast<int>(runtime.members.size())) members = planned;
  }
  status.active_workers = members;
  status.epoch = runtime.epoch;
}

// Only the lead knows of whom it has dropped; a later look tells how long that took.
void count_recoveries(Pass& pass) {
  const RuntimeView& runtime = pass.seen.runtime;
  JobStatus& status = pass.status;
  if (status.active_workers.empty() || !runtime.reachable || runtime.lead_silent) return;
  const int before = status.recoveries ? status.recoveries->count : 0;
  for (const LossView& loss : runtime.losses) {
    if (!status.recoveries) status.recoveries.emplace();
    RecoveriesStatus& last = *status.recoveries;
    if (loss.epoch < last.epoch) continue;
    if (loss.epoch > last.epoch)
      last = {last.count + 1, loss.epoch, pass.now, loss.reason, loss.ranks / pass.spec.slots_per_worker};
    last.repeated_iterations = loss.repeated_iterations;
    last.lost_millis = loss.lost_millis;
  }
  if (status.recoveries && status.recoveries->count > before)
    pass.warning("Recovered", status.recoveries->reason + "; the job goes on with " +
                                  workers_text(status.recoveries->workers));
}

// A run that an operator without this field has begun has the image of its pods.
void adopt_runtime_image(Pass& pass) {
  JobStatus& status = pass.status;
  const IndexSet workers = status.start ? status.start->workers : status.active_workers;
  for (const int index : workers) {
    if (!status.runtime_image.empty()) return;
    if (const PodView* pod = pass.pod(index)) status.runtime_image = pod->runtime_image;
  }
}

bool past_deadline(Pass& pass) {
  const auto& limit = pass.spec.run_policy.active_deadline;
  const JobStatus& status = pass.status;
  const std::optional<Time> since = status.start_time ? status.start_time : first_start(pass);
  if (!limit || !since) return false;
  const Time deadline = *since + *limit;
  if (pass.now >= deadline) return true;
  pass.wake_at(deadline);
  return false;
}

// Reasons that end a job from outside, whatever it is doing. True when it has ended or rests.
bool ended_from_outside(Pass& pass) {
  if (pass.seen.cancel_requested) {
    fail(pass, condition::kReasonCancelled, "cancelled by the user", false);
  } else if (pass.seen.namespace_ends) {
    fail(pass, "NamespaceTerminating", "the namespace is being deleted: no pod is made in it any more",
         false);
  } else if (!pass.seen.invalid_template.empty() && pass.status.active_workers.empty()) {
    fail(pass, "InvalidTemplate", pass.seen.invalid_template, false);
  } else if (past_deadline(pass)) {
    fail(pass, "DeadlineExceeded",
         "activeDeadlineSeconds, " + std::to_string(pass.spec.run_policy.active_deadline->count()) +
             " s, is over",
         false);
  } else if (pass.spec.suspend) {
    suspend(pass);
  } else {
    return false;
  }
  return true;
}

void run_step(Pass& pass) {
  const int target = target_size(pass);
  run_autoscaling(pass, target);
  if (pass.spec.runtime.mode == RuntimeMode::Restartable)
    restart_step(pass, target);
  else
    resize_step(pass, target);
}

// Written when the number of members changes, which is a write anyhow.
void count_usage(Pass& pass) {
  JobStatus& status = pass.status;
  const int workers = status.active_workers.size();
  if (workers == (status.usage ? status.usage->workers : 0)) return;
  if (!status.usage) status.usage = UsageStatus{pass.now, 0, 0, pass.now};
  status.usage->worker_seconds = worker_seconds(*status.usage, pass.now);
  status.usage->workers = workers;
  status.usage->time = pass.now;
}

void step(Pass& pass) {
  JobStatus& status = pass.status;
  if (ended_from_outside(pass)) return;
  if (status.state == JobState::Suspended) status.state = JobState::Pending;
  adopt_runtime_image(pass);
  adopt_membership(pass);
  count_recoveries(pass);
  forget_lost_nodes(pass);
  if (succession_step(pass) || ended_by_program(pass)) return;
  adopt_program_range(pass);
  if (!queue_step(pass)) return;
  if (status.state == JobState::Pending || status.state == JobState::Starting) {
    // A size that stands before the first start is no foreign write, whoever wrote it.
    status.policy_state.accepted_replicas = pass.spec.worker.replicas;
    start_step(pass);
  }
  if (status.state == JobState::Running || status.state == JobState::Resizing) run_step(pass);
}

}  // namespace

bool asked_to_start(const JobStatus& status) {
  return status.epoch > 0 || (status.start && status.start->requested);
}

std::vector<MemberAddress> addresses_of(const std::vector<PodView>& pods) {
  std::vector<MemberAddress> addresses;
  for (const PodView& pod : pods)
    if (!pod.ip.empty() && !has_ended(pod)) addresses.push_back({pod.name, pod.uid, pod.ip, pod.index});
  return addresses;
}

Decision decide(const Observed& observed, Time now) {
  Pass pass(observed, now);
  const ElasticMPIJob& job = observed.job;
  const bool ours = !job.spec.managed_by || *job.spec.managed_by == kManagerName;
  // Somebody with a newer fence has taken the job: whatever we would do, the agents would refuse.
  const bool fenced = observed.fence < job.status.fence ||
                      (observed.runtime.reachable && observed.fence < observed.runtime.fence);
  if (!ours || fenced || job.metadata.deletion_time) return {{}, job.status, {}};
  pass.status.fence = observed.fence;
  pass.status.observed_generation = job.metadata.generation;
  pass.status.selector = worker_selector(job.metadata.name);

  if (is_terminal(pass.status.state)) {
    clean_up(pass);
    delete_when_due(pass);
    update_cost(pass);
    return pass.finish();
  }
  const RuntimeView& runtime = observed.runtime;
  update_checkpoint(pass);
  step(pass);
  if (runtime.reachable && !pass.status.active_workers.empty() && !runtime.lead_uid.empty())
    pass.status.lead_uid = runtime.lead_uid;
  if (const PodView* lead = pass.pod(pass.status.lead_uid)) pass.status.lead_pod = lead->name;
  update_performance(pass);
  update_tasks(pass);
  update_forecast(pass);
  update_cost(pass);
  update_risks(pass);
  update_conditions(pass);
  count_usage(pass);
  return pass.finish();
}

}  // namespace emj
