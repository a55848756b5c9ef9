// SPDX-License-Identifier: Apache-2.0
// How a job ends: by itself, by a failure, by the user. Terminal states are never left.

#include "operator/decide/pass.hpp"
#include "operator/decide/queueing.hpp"

namespace emj {
namespace {

constexpr Seconds kCleanUpGrace{5};  // agents of a job that succeeded end on their own
constexpr Seconds kLeadFindsOut{2};

bool is_for_the_program(const Action& action) {
  return std::holds_alternative<StartJob>(action) || std::holds_alternative<NameLead>(action) ||
         std::holds_alternative<SendChange>(action) || std::holds_alternative<CancelChange>(action) ||
         std::holds_alternative<GiveNotice>(action);
}

void end(Pass& pass, JobState state, const std::string& reason, const std::string& message) {
  JobStatus& status = pass.status;
  status.state = state;
  status.completion_time = pass.now;
  end_standby(pass);
  status.start.reset();
  status.resize.reset();
  status.awaited.reset();
  status.succession.reset();
  status.blocked.reset();
  status.active_workers = {};
  status.tasks.reset();
  status.forecast.reset();
  drop_allocation(pass);
  const bool good = state == JobState::Succeeded;
  pass.set_condition(good ? condition::kSucceeded : condition::kFailed, true, reason, message);
  pass.act(RecordEvent{!good, reason, message});
}

// Where the next run begins, as far as is known: what is on the volume decides.
std::string beginning(const Pass& pass) {
  const auto& checkpoint = pass.status.checkpoint;
  if (!checkpoint || checkpoint->number == 0) return "from the start of the program";
  return "from checkpoint " + std::to_string(checkpoint->number) + ", iteration " +
         std::to_string(checkpoint->iteration);
}

void restart(Pass& pass, const std::string& reason, const std::string& message) {
  JobStatus& status = pass.status;
  const Seconds pause = back_off_pause(status.restarts);
  ++status.restarts;
  pass.warning(reason, message + "; restart " + std::to_string(status.restarts) + " of " +
                           std::to_string(pass.spec.run_policy.backoff_limit) + ", " + beginning(pass) +
                           ", in " + std::to_string(pause.count()) + " s");
  const auto since = first_start(pass);
  forget_run(status);
  pause_in_queue(pass, pause, reason + ": " + message);
  status.state = JobState::Pending;
  status.blocked = BlockedTarget{
      0,    pass.seen.job.metadata.generation, reason + ": " + message, status.restarts, pass.now + pause,
      since};
  pass.wake_at(pass.now + pause);
}

// A worker of a program that survives its loss: the lead will drop it, or say that the job has failed.
bool left_to_the_lead(const Pass& pass, const PodView* pod) {
  const RuntimeView& runtime = pass.seen.runtime;
  if (!runtime.reachable || !runtime.survives_loss || runtime.program != ProgramState::Running) return false;
  return !pod || (pod->phase == PodPhase::Failed && pod->uid != runtime.lead_uid);
}

// What else is to be known of a worker's loss where others might have gone on without it.
std::string and_who_is_silent(const Pass& pass) {
  if (pass.seen.runtime.reachable || !pass.seen.silent_since || !pass.seen.lead_was_replaceable) return "";
  std::string names;
  for (const int index : pass.members())
    if (const PodView* pod = pass.pod(index); pod && !has_ended(*pod))
      names += (names.empty() ? "" : ", ") + pod->name;
  const auto silence = std::chrono::floor<Seconds>(pass.now - *pass.seen.silent_since);
  return names.empty() ? ""
                       : "; nobody else has answered for " + std::to_string(silence.count()) + " s: " + names;
}

}  // namespace

// Its agents take the end of their pods for a drain otherwise, and go on for as long as that may take. Also
// where nobody answers: a start that was asked for may have arrived, and a lead that is silent is not the
// only one who can be told.
void stop_program(Pass& pass, const std::string& reason) {
  const RuntimeView& runtime = pass.seen.runtime;
  const bool over = runtime.reachable && runtime.epoch > 0 && runtime.program != ProgramState::Running;
  std::vector<MemberAddress> pods = addresses_of(pass.seen.pods);
  if (!asked_to_start(pass.status) || over || pods.empty()) return;
  // What is done before it may fail, and the pass ends with that; what is for the program is void.
  std::erase_if(pass.actions, is_for_the_program);
  pass.actions.insert(pass.actions.begin(),
                      StopJob{pass.status.fence, reason, std::move(pods), !runtime.reachable});
}

// Indices, change ids and the fence go on counting.
void forget_run(JobStatus& status) {
  status.start.reset();
  status.resize.reset();
  status.awaited.reset();
  status.standby.reset();
  status.succession.reset();
  status.lost_nodes.clear();
  status.active_workers = {};
  status.epoch = 0;
  if (status.recoveries) status.recoveries->epoch = 0;
  status.lead_uid.clear();
  status.lead_pod.clear();
  status.runtime_image.clear();
  status.mutual_tls = false;
  status.performance.reset();
  if (status.checkpoint) {  // what there is is what the next run goes on from
    status.checkpoint->restored_from.clear();
    status.checkpoint->restored_iteration = 0;
  }
  status.policy_state.changes.clear();
  status.policy_state.phase_since.reset();
  status.policy_state.task_phase = 0;
  status.tasks.reset();
  status.policy_state.up_since.reset();
  status.policy_state.down_since.reset();
  status.policy_state.wish.reset();
  status.forecast.reset();
}

void delete_all(Pass& pass, DeleteReason reason) {
  for (const PodView& pod : pass.seen.pods)
    if (!pod.terminating) pass.act(DeletePod{pod.name, pod.uid, reason});
}

void fail(Pass& pass, const std::string& reason, const std::string& message, bool may_restart) {
  stop_program(pass, message);
  if (may_restart && pass.status.restarts < pass.spec.run_policy.backoff_limit) {
    restart(pass, reason, message);
    delete_all(pass, DeleteReason::JobEnded);
  } else {
    end(pass, JobState::Failed, reason, message);
    clean_up(pass);
  }
}

bool ended_by_program(Pass& pass) {
  const IndexSet members = pass.members();
  if (members.empty()) return false;
  if (ended_to_restart(pass)) return true;
  const RuntimeView& runtime = pass.seen.runtime;
  if (runtime.reachable && runtime.epoch > 0 && runtime.program == ProgramState::Failed) {
    fail(pass, "ProgramFailed", runtime.message.empty() ? "the program failed" : runtime.message, true);
    return true;
  }
  int succeeded = 0;
  bool saw_success = false;  // whoever else was lost before: the lead had dropped it
  const PodView* failed = nullptr;
  IndexSet gone;
  for (const int index : members) {
    const PodView* pod = pass.pod(index);
    if (left_to_the_lead(pass, pod)) {
      pass.wake_at(pass.now + kLeadFindsOut);
    } else if (!pod) {
      gone.insert(index);
    } else if (pod->phase == PodPhase::Failed) {
      failed = failed ? failed : pod;
    } else if (pod->phase == PodPhase::Succeeded) {
      ++succeeded;
      saw_success = saw_success || pod->program_succeeded;
    }
  }
  const bool program_says_success =
      runtime.reachable && runtime.epoch > 0 && runtime.program == ProgramState::Succeeded;
  if (program_says_success || saw_success || succeeded == members.size()) {
    end(pass, JobState::Succeeded, "ProgramSucceeded", "the program ended with exit code 0");
    clean_up(pass);
    return true;
  }
  if (failed) {
    fail(pass, "WorkerFailed", "worker " + describe_pod(*failed) + and_who_is_silent(pass), true);
    return true;
  }
  if (gone.empty()) return false;
  const std::string names = pass.name + "-w-{" + to_string(gone) + "}";
  if (succeeded + gone.size() == members.size()) {
    const std::string message =
        "pods " + names + " vanished before their outcome was read; the program may have ended well";
    pass.set_condition(condition::kOutcomeUnknown, true, "PodsVanished", message);
    fail(pass, "OutcomeUnknown", message, false);
  } else {
    fail(pass, "WorkerLost",
         "pods " + names + " vanished while the program ran on them" + and_who_is_silent(pass), true);
  }
  return true;
}

void suspend(Pass& pass) {
  if (pass.status.state != JobState::Suspended) {
    if (!pass.status.active_workers.empty() || pass.status.start)
      pass.event("Suspended", "all workers are released; when resumed the program begins " + beginning(pass));
    stop_program(pass, "the job was suspended");
    forget_run(pass.status);
    if (in_queue(pass.spec)) renounce_allocation(pass);
    pass.status.queue.reset();
    pass.status.blocked.reset();
    pass.status.start_time.reset();
    pass.status.state = JobState::Suspended;
  }
  delete_all(pass, DeleteReason::Suspended);
}

void clean_up(Pass& pass) {
  delete_standby(pass);
  const CleanPodPolicy policy = pass.spec.run_policy.clean_pods;
  if (policy == CleanPodPolicy::None) return;
  const Time due = pass.status.state == JobState::Succeeded && pass.status.completion_time
                       ? *pass.status.completion_time + kCleanUpGrace
                       : pass.now;
  for (const PodView& pod : pass.seen.pods) {
    if (pod.terminating || (has_ended(pod) && policy == CleanPodPolicy::Running)) continue;
    if (const auto& idle = pass.status.standby; idle && idle->workers.contains(pod.index)) continue;
    if (!has_ended(pod) && pass.now < due)
      pass.wake_at(due);
    else
      pass.act(DeletePod{pod.name, pod.uid, DeleteReason::JobEnded});
  }
}

void delete_when_due(Pass& pass) {
  const auto& ttl = pass.spec.run_policy.ttl_after_finished;
  if (!ttl || !pass.status.completion_time) return;
  const Time due = *pass.status.completion_time + *ttl;
  if (pass.now < due)
    pass.wake_at(due);
  else
    pass.act(DeleteJob{pass.seen.job.metadata.uid});
}

}  // namespace emj
