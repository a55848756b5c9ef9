// What `kubectl describe` and `empi top` show: counts and conditions derived from the rest of the status.

#include <algorithm>

#include "operator/decide/pass.hpp"

namespace emj {
namespace {

void count_workers(Pass& pass) {
  JobStatus& status = pass.status;
  IndexSet meant = pass.members();
  if (status.start) meant = set_union(meant, status.start->workers);
  if (status.resize) meant = set_union(meant, status.resize->add);
  status.replicas = 0;
  status.ready_replicas = 0;
  for (const PodView& pod : pass.seen.pods) {
    if (!meant.contains(pod.index) || pod.terminating) continue;
    ++status.replicas;
    if (pod.ready) ++status.ready_replicas;
  }
  status.joined_replicas = status.active_workers.size();
}

void set_if_known(Pass& pass, const char* type, bool value, const std::string& reason,
                  const std::string& message) {
  if (value || find_condition(pass.status, type)) pass.set_condition(type, value, reason, message);
}

}  // namespace

void update_conditions(Pass& pass) {
  count_workers(pass);
  const JobStatus& status = pass.status;
  const JobState state = status.state;
  const bool running = state == JobState::Running || state == JobState::Resizing;

  set_if_known(pass, "Suspended", state == JobState::Suspended,
               state == JobState::Suspended ? "Suspended" : "Resumed",
               state == JobState::Suspended ? "spec.suspend is true" : "");
  const bool ready = running && status.ready_replicas >= status.joined_replicas;
  set_if_known(
      pass, "WorkersReady", ready, ready ? "AllReady" : to_string(state),
      std::to_string(status.ready_replicas) + " of " + std::to_string(status.desired_replicas) + " ready");
  set_if_known(pass, "Running", running, to_string(state), "");
  if (status.resize)
    pass.set_condition("Resizing", true, to_string(status.resize->phase),
                       std::to_string(status.resize->from) + " -> " + workers_text(status.resize->to));
  else
    set_if_known(pass, "Resizing", false, "Steady", "");
  set_if_known(pass, "ResizeBlocked", status.blocked.has_value(),
               status.blocked ? "LastAttemptFailed" : "Clear", status.blocked ? status.blocked->reason : "");
  const bool creating = status.start || (status.resize && status.resize->phase == ResizePhase::CreatingPods);
  const bool refused = creating && !pass.seen.creation_problem.empty();
  set_if_known(pass, "PodCreationBlocked", refused, refused ? "CreationFailed" : "Clear",
               refused ? pass.seen.creation_problem : "");
  const bool silent = running && !pass.seen.runtime.reachable;
  set_if_known(pass, "Degraded", silent, silent ? "LeadUnreachable" : "AsExpected",
               silent ? "the lead agent does not answer; nothing is changed until it does" : "");
}

}  // namespace emj
