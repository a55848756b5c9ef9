// SPDX-License-Identifier: Apache-2.0
// A change of size from when it was sent to the lead until the pods of its leavers are deleted. The whole is
// described in resize.cpp.

#include <algorithm>

#include "operator/decide/resize.hpp"

namespace emj::resizing {
namespace {

// A change's steps on the way to its commit are shown when they take long: each costs a write of the status.
constexpr Seconds kQuickChange{1};
constexpr Seconds kAnswerGrace{10};  // for the lead to report a change that has reached its deadline

double work_per_iteration(const std::vector<Sample>& samples, int workers) {
  constexpr int enough_windows = 10;
  double work = 0, iterations = 0;
  int windows = 0;
  for (auto sample = samples.rbegin(); sample != samples.rend() && windows < enough_windows; ++sample) {
    if (sample->workers != workers) continue;
    work += sample->work_units;
    iterations += static_cast<double>(sample->iterations);
    ++windows;
  }
  return iterations > 0 ? work / iterations : 0;
}

ResizePhase phase_of(ChangeState state) {
  switch (state) {
    case ChangeState::Preparing:
      return ResizePhase::Preparing;
    case ChangeState::Building:
      return ResizePhase::Building;
    case ChangeState::Ready:
      return ResizePhase::Ready;
    case ChangeState::Window:
      return ResizePhase::Window;
    case ChangeState::RollingBack:
      return ResizePhase::RollingBack;
    case ChangeState::Committed:
    case ChangeState::Draining:
    case ChangeState::Stable:  // not in flight
    case ChangeState::Failed:
      break;
  }
  return ResizePhase::Draining;
}

void commit(Pass& pass) {
  ResizeStatus& resize = *pass.status.resize;
  resize.phase = ResizePhase::Draining;
  record_end(pass, ResizeResult::Committed, "");
  pass.status.blocked.reset();
  const auto& ended = pass.seen.runtime.ended;
  const double cost = ended && ended->id == resize.id ? static_cast<double>(ended->lost_millis) / 1000 : 0;
  remember_change(pass, cost, work_per_iteration(pass.seen.samples, resize.from));
}

bool wants_another(const Pass& pass, int target) {
  if (target == aim(pass)) return false;
  const Goal goal = goal_for(pass, target, !blocked_now(pass, target));
  // One that goes on without some newcomers is a step towards any larger size.
  if (pass.status.awaited && goal.to >= pass.status.resize->to) return false;
  return goal.to != aim(pass);
}

void cancel(Pass& pass, int target) {
  ResizeStatus& resize = *pass.status.resize;
  if (resize.phase != ResizePhase::Cancelling)
    pass.event("ResizeCancelled",
               "newer size " + std::to_string(target) + " replaces " + std::to_string(resize.to));
  resize.phase = ResizePhase::Cancelling;
  pass.act(CancelChange{resize.id, pass.status.fence});
}

void rolled_back(Pass& pass, const EndedChange& ended) {
  if (pass.status.resize->phase == ResizePhase::Cancelling)
    return supersede(pass, "cancelled for a newer size");
  const bool timed_out = ended.timed_out || pass.now >= pass.status.resize->deadline;
  give_up(pass, ended.reason.empty() ? "the change was rolled back" : ended.reason, timed_out);
}

// The lead answers, has the old membership, and knows nothing of the change: it never got it.
void unknown_to_lead(Pass& pass, int target) {
  ResizeStatus& resize = *pass.status.resize;
  if (resize.phase == ResizePhase::Cancelling) return supersede(pass, "cancelled for a newer size");
  for (const int index : resize.add) {
    const PodView* pod = pass.pod(index);
    if (!pod || pod->terminating || pod->phase == PodPhase::Failed)
      return give_up(pass, "new worker lost: " + (pod ? describe_pod(*pod) : worker_name(pass.name, index)),
                     false);
  }
  if (pass.now >= resize.deadline)
    return give_up(pass,
                   "the lead did not take the change within prepareTimeoutSeconds, " +
                       std::to_string(pass.spec.resize.prepare_timeout.count()) + " s" +
                       (pass.seen.command_problem.empty() ? "" : ": " + pass.seen.command_problem),
                   true);
  if (pass.seen.runtime.ending) return supersede(pass, "the program is ending");
  if (pass.seen.runtime.change) return;               // another one, of an earlier controller: it ends first
  if (!pass.seen.runtime.recovering.empty()) return;  // refused until the ranks have a world again
  pass.wake_at(resize.deadline);
  if (wants_another(pass, target)) return cancel(pass, target);
  send(pass);
}

// The lead also drops members by itself: a new epoch alone does not say that the change was done.
bool took_effect(const Pass& pass) {
  const ResizeStatus& resize = *pass.status.resize;
  const IndexSet& members = pass.status.active_workers;
  const auto is_member = [&](int index) { return members.contains(index); };
  return std::none_of(resize.remove.begin(), resize.remove.end(), is_member) &&
         (resize.add.empty() || std::any_of(resize.add.begin(), resize.add.end(), is_member));
}

}  // namespace

void follow_change(Pass& pass, int target) {
  ResizeStatus& resize = *pass.status.resize;
  const RuntimeView& runtime = pass.seen.runtime;
  // Of another member only the commit is believed: it does not know what the lead has in hand.
  const bool told =
      runtime.reachable && (!runtime.lead_silent || (runtime.epoch > resize.epoch && took_effect(pass)));
  if (!told) return pass.wake_at(std::max(pass.now, resize.deadline) + kAnswerGrace);
  const bool ours = runtime.change && runtime.change->id == resize.id;
  if (runtime.survives_loss && runtime.epoch > resize.epoch && !ours && !took_effect(pass)) {
    if (runtime.ended && runtime.ended->id == resize.id) return rolled_back(pass, *runtime.ended);
    if (resize.phase == ResizePhase::Cancelling || resize.add.empty())
      return supersede(pass, "the lead has dropped a lost worker meanwhile");
    return begin_again(pass, target);
  }
  if (runtime.epoch > resize.epoch ||
      (runtime.ended && runtime.ended->id == resize.id && runtime.ended->committed)) {
    if (runtime.epoch > resize.epoch) commit(pass);  // otherwise the view is torn: look again
    return;
  }
  if (runtime.ended && runtime.ended->id == resize.id && !ours) return rolled_back(pass, *runtime.ended);
  if (!ours) return unknown_to_lead(pass, target);
  const bool before_ready =
      runtime.change->state == ChangeState::Preparing || runtime.change->state == ChangeState::Building;
  if (before_ready && (resize.phase == ResizePhase::Cancelling || wants_another(pass, target)))
    return cancel(pass, target);
  const bool quick = resize.requested_time && pass.now - *resize.requested_time < kQuickChange;
  if (quick) pass.wake_at(*resize.requested_time + kQuickChange);
  if (resize.phase != ResizePhase::Cancelling && !quick) {
    const ResizePhase phase = phase_of(runtime.change->state);
    // Committed without the new epoch in the same view: the next view has it.
    if (phase != ResizePhase::Draining) resize.phase = phase;
  }
  pass.wake_at(std::max(pass.now, resize.deadline) + kAnswerGrace);
}

void drain(Pass& pass) {
  const ResizeStatus& resize = *pass.status.resize;
  const bool gone = std::all_of(resize.remove.begin(), resize.remove.end(), [&](int index) {
    const PodView* pod = pass.pod(index);
    return !pod || pod->terminating;
  });
  if (!gone || pass.seen.runtime.change || !pass.lead_known()) return;
  // The pause is final only now that the lead has closed its books.
  const auto& ended = pass.seen.runtime.ended;
  if (ended && ended->id == resize.id) {
    if (pass.status.last_resize) pass.status.last_resize->paused_millis = ended->paused_millis;
    auto& changes = pass.status.policy_state.changes;
    if (!changes.empty()) changes.back().cost_seconds = static_cast<double>(ended->lost_millis) / 1000;
  }
  if (const auto& last = pass.status.last_resize)
    pass.event("Resized", std::to_string(last->from) + " -> " + workers_text(last->to) + " in " +
                              std::to_string((last->completion_time - resize.start_time).count()) +
                              " ms, paused " + std::to_string(last->paused_millis) + " ms");
  set_idle(pass);
}

}  // namespace emj::resizing
