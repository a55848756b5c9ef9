// SPDX-License-Identifier: Apache-2.0
// What `kubectl describe` and `empi top` show: counts and conditions derived from the rest of the status.

#include <algorithm>

#include "operator/decide/pass.hpp"

namespace emj {
namespace {

constexpr Seconds kLongWait{10};  // from then on a change says what it waits for, and a size what is missing

void count_workers(Pass& pass) {
  JobStatus& status = pass.status;
  IndexSet meant = pass.members();
  if (status.start) meant = set_union(meant, status.start->workers);
  if (status.resize) meant = set_union(meant, status.resize->add);
  if (status.awaited) meant = set_union(meant, status.awaited->workers);
  status.replicas = 0;
  status.ready_replicas = 0;
  for (const PodView& pod : pass.seen.pods) {
    if (!meant.contains(pod.index) || pod.terminating) continue;
    ++status.replicas;
    if (pod.ready) ++status.ready_replicas;
  }
  status.joined_replicas = status.active_workers.size();
}

// What runs, by the lead's word. While ranks come up or go, each look would find another number, and each
// would cost a write: then only the full number counts.
void count_ranks(Pass& pass) {
  JobStatus& status = pass.status;
  const RuntimeView& runtime = pass.seen.runtime;
  if (status.active_workers.empty() || is_terminal(status.state)) return status.ranks.reset();
  if (!runtime.reachable || runtime.lead_silent || runtime.epoch != status.epoch || !runtime.ranks) return;
  if (*runtime.ranks != status.active_workers.size() * pass.spec.slots_per_worker) {
    if (runtime.ending || status.start || status.resize) return;
    Time settled = status.start_time.value_or(pass.now);
    if (status.last_resize) settled = std::max(settled, status.last_resize->completion_time);
    settled += kLongWait;
    if (pass.now < settled) return pass.wake_at(settled);
  }
  status.ranks = runtime.ranks;
}

void set_if_known(Pass& pass, const char* type, bool value, const std::string& reason,
                  const std::string& message) {
  if (value || find_condition(pass.status, type)) pass.set_condition(type, value, reason, message);
}

// With the reason where one is known.
std::string because(const std::string& what, const std::string& problem) {
  return problem.empty() ? what : what + ": " + problem;
}

// Why nothing is being done about a size that is not the one asked for; no reason: it will be, at once.
struct Standstill {
  std::string reason, message;
};

std::optional<Standstill> standstill(const Pass& pass) {
  const JobStatus& status = pass.status;
  const RuntimeView& runtime = pass.seen.runtime;
  const bool blocked = status.blocked && pass.now < status.blocked->retry_after;
  if (status.state != JobState::Running || status.resize || blocked) return std::nullopt;
  if (status.desired_replicas == status.active_workers.size()) return std::nullopt;
  const std::string wish = std::to_string(status.active_workers.size()) + " -> " +
                           workers_text(status.desired_replicas) + " waits: ";
  if (!runtime.reachable || runtime.lead_silent)
    return Standstill{"LeadUnreachable", because(wish + "the lead agent does not answer", runtime.problem)};
  if (runtime.epoch != status.epoch)
    return Standstill{"MembershipUnknown", wish + "the lead shows epoch " + std::to_string(runtime.epoch) +
                                               ", the job has been at " + std::to_string(status.epoch)};
  if (runtime.ending) return Standstill{"ProgramEnding", wish + "the program is ending"};
  if (!runtime.recovering.empty()) return Standstill{"Recovering", wish + runtime.recovering};
  if (runtime.change)
    return Standstill{"OtherChange",
                      wish + "the lead has " + runtime.change->id + " of an earlier controller in hand"};
  if (!status.awaited) return std::nullopt;
  const std::string missing = missing_worker(pass, status.awaited->workers);
  return Standstill{"WorkersMissing",
                    wish + (missing.empty() ? "the rest is there and joins next" : "missing: " + missing)};
}

std::string start_text(Pass& pass, std::string text) {
  const Time requested = pass.status.start->deadline - pass.spec.resize.join_timeout;
  if (pass.now < requested + kLongWait) {
    pass.wake_at(requested + kLongWait);
    return text;
  }
  return text + "; " + because("the lead does not confirm the start", start_problem(pass));
}

std::string ready_text(Pass& pass) {
  const JobStatus& status = pass.status;
  std::string text =
      std::to_string(status.ready_replicas) + " of " + std::to_string(status.desired_replicas) + " ready";
  if (!status.start) return text;
  if (status.start->requested) return start_text(pass, std::move(text));
  const Time from_then_on = status.start->start_time + kLongWait;
  if (pass.now < from_then_on) {
    pass.wake_at(from_then_on);
    return text;
  }
  const std::string missing = missing_worker(pass, status.start->workers);
  return missing.empty() ? text : text + "; missing: " + missing;
}

std::string resizing_text(Pass& pass) {
  const ResizeStatus& resize = *pass.status.resize;
  std::string text = std::to_string(resize.from) + " -> " + workers_text(resize.to);
  const bool creating = resize.phase == ResizePhase::CreatingPods;
  const bool stopping = resize.phase == ResizePhase::Stopping;
  if (stopping && pass.seen.runtime.notice == resize.id)
    return text + "; the program was told, and runs on until it has written what it goes on from";
  if (!creating && !stopping && resize.phase != ResizePhase::Requested) return text;
  const Time from_then_on = (creating ? resize.start_time : *resize.requested_time) + kLongWait;
  if (pass.now < from_then_on) {
    pass.wake_at(from_then_on);
    return text;
  }
  const std::string missing = creating ? missing_worker(pass, resize.add) : "";
  if (!missing.empty()) return text + "; missing: " + missing;
  const char* what = stopping ? "the program cannot be told" : "the lead does not take it";
  return text + "; " + because(what, pass.seen.command_problem);
}

// Of the conditions that a user should know of, the one to be looked at first: by its type, of a failure and
// of a wait in a queue by its reason. What may cost the job its end comes before why it waits, and that
// before what somebody has chosen. "" while all is well.
std::string gravest(const JobStatus& status) {
  for (const char* type :
       {condition::kFailed, condition::kInternalError, condition::kPodCreationBlocked, condition::kDegraded,
        condition::kResizeBlocked, condition::kResizePending, condition::kCheckpointFailing,
        condition::kDeadlineAtRisk, condition::kBudgetAtRisk, condition::kQueued,
        condition::kAutoscalingPaused, condition::kSizeAdjusted}) {
    const Condition* holds = find_condition(status, type);
    if (!holds || holds->status != "True") continue;
    const bool in_its_word = holds->type == condition::kFailed || holds->type == condition::kQueued;
    return in_its_word ? holds->reason : holds->type;
  }
  return "";
}

// Why the job is looked at with one eye at most. No reason: it is not.
struct Trouble {
  std::string reason, message;
  std::optional<Time> since;
};

std::optional<Trouble> trouble(const Pass& pass) {
  const JobState state = pass.status.state;
  const RuntimeView& runtime = pass.seen.runtime;
  if (state != JobState::Running && state != JobState::Resizing) return std::nullopt;
  if (const auto& succession = pass.status.succession)
    return Trouble{"MembersLost",
                   succession->reason + "; " + succession->lead_pod + " leads, and has not said so",
                   succession->time};
  if (!runtime.reachable || runtime.lead_silent)
    return Trouble{"LeadUnreachable",
                   because("nothing is changed until the lead agent answers", runtime.problem),
                   pass.seen.silent_since};
  const int workers = pass.status.active_workers.size(), least = pass.spec.worker.min_replicas;
  const auto& lost = pass.status.recoveries;
  if (runtime.survives_lead_loss && workers < least && lost && lost->epoch > 0)
    return Trouble{"BelowMinimum",
                   lost->reason + "; " + std::to_string(workers) + " of at least " + std::to_string(least) +
                       " workers (minReplicas) are left: nothing is computed until others have come, and the "
                       "run ends when none do",
                   pass.now - kSilence};
  if (!runtime.unmeasured.empty())
    return Trouble{
        "SidecarSilent",
        because("its efficiency is not known and policies see nothing new until the sidecar of the "
                "lead's pod answers; the program goes on, and its size may be set",
                runtime.unmeasured),
        pass.seen.unmeasured_since};
  return std::nullopt;
}

void set_degraded(Pass& pass) {
  const std::optional<Trouble> found = trouble(pass);
  if (!found) return set_if_known(pass, condition::kDegraded, false, "AsExpected", "");
  const Condition* before = find_condition(pass.status, condition::kDegraded);
  // The words of its beginning do.
  if (before && before->status == "True" && before->reason == found->reason) return;
  const Time from_then_on = found->since.value_or(pass.now) + kSilence;
  if (pass.now < from_then_on) return pass.wake_at(from_then_on);
  pass.set_condition(condition::kDegraded, true, found->reason, found->message);
}

}  // namespace

std::string start_problem(const Pass& pass) {
  return pass.seen.command_problem.empty() ? pass.seen.runtime.problem : pass.seen.command_problem;
}

void update_conditions(Pass& pass) {
  count_workers(pass);
  count_ranks(pass);
  const JobStatus& status = pass.status;
  const JobState state = status.state;
  const bool running = state == JobState::Running || state == JobState::Resizing;

  const auto& wait = status.queue;
  const bool queued = state == JobState::Queued;
  const bool looked_at = wait && wait->cause != QueueCause::Unknown;
  const QueueCause cause = looked_at ? wait->cause : QueueCause::Waiting;
  set_if_known(pass, condition::kQueued, queued, queued ? to_string(cause) : "Allocated",
               queued && wait ? wait->reason : "");
  set_if_known(pass, condition::kSuspended, state == JobState::Suspended,
               state == JobState::Suspended ? "Suspended" : "Resumed",
               state == JobState::Suspended ? "spec.suspend is true" : "");
  const bool ready = running && status.ready_replicas >= status.joined_replicas;
  const std::string how_many = ready_text(pass);
  if (status.start || ready || find_condition(status, condition::kWorkersReady))
    pass.set_condition(condition::kWorkersReady, ready, ready ? "AllReady" : to_string(state), how_many);
  set_if_known(pass, condition::kRunning, running, to_string(state), "");
  if (status.resize)
    pass.set_condition(condition::kResizing, true, to_string(status.resize->phase), resizing_text(pass));
  else
    set_if_known(pass, condition::kResizing, false, "Steady", "");
  set_if_known(pass, condition::kResizeBlocked, status.blocked.has_value(),
               status.blocked ? "LastAttemptFailed" : "Clear", status.blocked ? status.blocked->reason : "");
  const bool creating = status.start || status.awaited ||
                        (status.resize && status.resize->phase == ResizePhase::CreatingPods) ||
                        (status.standby && status.standby->created != status.standby->workers);
  const bool refused = creating && !pass.seen.creation_problem.empty();
  set_if_known(pass, condition::kPodCreationBlocked, refused, refused ? "CreationFailed" : "Clear",
               refused ? pass.seen.creation_problem : "");
  const auto still = standstill(pass);
  set_if_known(pass, condition::kResizePending, still.has_value(), still ? still->reason : "Clear",
               still ? still->message : "");
  set_degraded(pass);
  if (find_condition(status, condition::kReadable))
    pass.set_condition(condition::kReadable, true, "Readable", "");
  const std::string& defect = pass.seen.internal_error;
  set_if_known(pass, condition::kInternalError, !defect.empty(),
               defect.empty() ? "Clear" : condition::kInternalError, defect);
  pass.status.reason = gravest(status);
}

JobStatus with_internal_error(const ElasticMPIJob& job, const std::string& what, Time now) {
  JobStatus status = job.status;
  set_condition(
      status.conditions,
      {condition::kInternalError, "True", condition::kInternalError, what, {}, job.metadata.generation}, now);
  status.reason = gravest(status);
  return status;
}

}  // namespace emj
