// SPDX-License-Identifier: Apache-2.0
// A running job and its changes of size.
//
//   no resize      target or a drained member asks for a change: plan indices and victims -> CreatingPods
//   CreatingPods   newcomers come up; all ready: send the change           -> Requested
//                  newer target: follow it; joinTimeout or a failed pod: give up, block the target
//   Requested,     the lead works on it. Newer target before Ready: cancel -> Cancelling
//   Preparing,     committed                                               -> Draining
//   Building,      rolled back: delete the newcomers, block the target     -> none
//   Ready, Window, ...
//   Draining       delete the pods that the lead has released; all gone    -> none
//
// A pod that was ever sent to the lead is deleted only when the lead says that it has left, or when no
// change is in flight and the committed membership does not have it.

#include <algorithm>

#include "operator/decide/pass.hpp"
#include "runtime/base/backoff.hpp"

namespace emj {
namespace {

constexpr Seconds kFirstBlock{30};
constexpr Seconds kLongestBlock{3600};
// A change's steps on the way to its commit are shown when they take long: each costs a write of the status.
constexpr Seconds kQuickChange{1};
constexpr Seconds kAnswerGrace{10};  // for the lead to report a change that has reached its deadline
constexpr std::size_t kChangesKept = 5;

struct Goal {
  int to = 0;
  int add = 0;
  IndexSet remove;

  bool nothing() const { return add == 0 && remove.empty(); }
};

bool blocked_now(const Pass& pass, int target) {
  const auto& blocked = pass.status.blocked;
  return blocked && blocked->target == target && blocked->generation == pass.seen.job.metadata.generation &&
         pass.now < blocked->retry_after;
}

// Workers that the change in hand takes out and that have gone without waiting for it: the lead has yet to
// drop them, and their replacements are on their way.
IndexSet lost_leavers(const Pass& pass) {
  IndexSet lost;
  if (!pass.status.resize) return lost;
  for (const int index : pass.status.resize->remove) {
    const PodView* pod = pass.pod(index);
    if (pass.status.active_workers.contains(index) && (!pod || pod->phase == PodPhase::Failed))
      lost.insert(index);
  }
  return lost;
}

// Which workers come and go so that the job has `target` members, none of them on its way out.
Goal goal_for(const Pass& pass, int target, bool may_add) {
  IndexSet disrupted = set_union(pass.disrupted(), lost_leavers(pass));
  int to = target;
  if (disrupted.size() == pass.status.active_workers.size() && !disrupted.empty()) {
    // Somebody must stay to hand the data over: the oldest leaves with the next change, once others are
    // there.
    disrupted.erase(*disrupted.begin());
    if (is_feasible(pass.spec, target + 1)) to = target + 1;
  }
  IndexSet rest = set_difference(pass.status.active_workers, disrupted);
  Goal goal{to, 0, disrupted};
  if (!may_add && rest.size() < to) {
    // No room for a replacement: shrink, if there is a smaller size that the job may have.
    goal.to = disrupted.empty() ? pass.status.active_workers.size() : feasible_size(pass.spec, rest.size());
    if (goal.to > rest.size()) return {pass.status.active_workers.size(), 0, {}};
  }
  while (rest.size() > goal.to) {
    const int newest = rest.ascending().back();
    rest.erase(newest);
    goal.remove.insert(newest);
  }
  goal.add = goal.to - rest.size();
  return goal;
}

void block(Pass& pass, int target, const std::string& reason) {
  const auto& before = pass.status.blocked;
  const bool again = before && before->target == target;
  const int attempts = again ? before->attempts + 1 : 1;
  const Seconds pause = empi::backoff(kFirstBlock, kLongestBlock, attempts - 1);
  pass.status.blocked =
      BlockedTarget{target, pass.seen.job.metadata.generation, reason, attempts, pass.now + pause};
  pass.wake_at(pass.now + pause);
}

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

void record_end(Pass& pass, ResizeResult result, const std::string& reason) {
  const ResizeStatus& resize = *pass.status.resize;
  LastResize last;
  last.from = resize.from;
  last.to = resize.to;
  last.result = result;
  last.reason = reason;
  last.prepared_millis = (resize.requested_time.value_or(pass.now) - resize.start_time).count();
  if (resize.requested_time) last.joined_millis = (pass.now - *resize.requested_time).count();
  const auto& ended = pass.seen.runtime.ended;
  if (ended && ended->id == resize.id) last.paused_millis = ended->paused_millis;
  last.completion_time = pass.now;
  pass.status.last_resize = last;
}

void set_idle(Pass& pass) {
  pass.status.resize.reset();
  pass.status.state = JobState::Running;
}

// The change did not happen and will not: by our own decision before it was sent, or by the lead's.
void give_up(Pass& pass, const std::string& reason, bool timed_out) {
  const ResizeStatus resize = *pass.status.resize;
  record_end(pass, ResizeResult::RolledBack, reason);
  if (timed_out && pass.spec.resize.on_timeout == OnTimeout::Fail)
    return fail(pass, "ResizeTimeout", reason + "; spec.resize.onTimeout is Fail", true);
  block(pass, resize.to, reason);
  set_idle(pass);
  pass.warning("ResizeRolledBack", "the job stays at " + workers_text(resize.from) + ", not " +
                                       std::to_string(resize.to) + ": " + reason);
}

void supersede(Pass& pass, const std::string& reason) {
  record_end(pass, ResizeResult::Superseded, reason);
  pass.event("ResizeSuperseded", reason);
  set_idle(pass);
}

std::string goal_text(int from, const Goal& goal) {
  std::string text = std::to_string(from) + " -> " + workers_text(goal.to);
  if (goal.add > 0) text += ", " + std::to_string(goal.add) + " join";
  if (goal.remove.size() == 1) text += ", worker " + to_string(goal.remove) + " leaves";
  if (goal.remove.size() > 1) text += ", workers " + to_string(goal.remove) + " leave";
  return text;
}

void begin(Pass& pass, const Goal& goal) {
  ResizeStatus resize;
  resize.id = "change-" + std::to_string(pass.status.next_change++);
  resize.from = pass.status.active_workers.size();
  resize.to = goal.to;
  resize.epoch = pass.status.epoch;
  resize.add = pass.take_indices(goal.add);
  resize.remove = goal.remove;
  resize.start_time = pass.now;
  resize.deadline = pass.now + pass.spec.resize.join_timeout;
  pass.status.resize = resize;
  pass.status.state = JobState::Resizing;
  pass.event("Resizing", goal_text(resize.from, goal));
}

// Workers that are to go whatever the size is make a change that ends elsewhere than at the size asked for,
// or where it began.
std::string cause_of(const Pass& pass) {
  const ResizeStatus& resize = *pass.status.resize;
  if (resize.to == resize.from || resize.to != pass.status.desired_replicas) return "drain";
  const auto& written = pass.status.policy_state.written_replicas;
  return written && written == pass.spec.worker.replicas ? "autoscaling" : "manual";
}

void send(Pass& pass) {
  const ResizeStatus& resize = *pass.status.resize;
  SendChange change{resize.id, pass.status.fence, resize.epoch,  pass.addresses(resize.add),
                    {},        resize.deadline,   cause_of(pass)};
  for (const int index : resize.remove)
    if (const PodView* pod = pass.pod(index)) change.remove.push_back(pod->uid);
  pass.act(std::move(change));
}

// --- CreatingPods -----------------------------------------------------------------------------------

// Newcomers that exist are kept when the new goal has a use for them.
void follow(Pass& pass, const Goal& goal) {
  ResizeStatus& resize = *pass.status.resize;
  for (const int index : IndexSet(resize.remove))  // those that the lead has dropped are out already
    if (!pass.status.active_workers.contains(index)) resize.remove.erase(index);
  if (goal.nothing()) return supersede(pass, "the size asked for is the present one again");
  if (goal.to == resize.to && goal.add == resize.add.size() && goal.remove == resize.remove) return;
  while (resize.add.size() > goal.add) {
    const int newest = resize.add.ascending().back();
    resize.add.erase(newest);
    resize.created.erase(newest);
  }
  resize.add = set_union(resize.add, pass.take_indices(goal.add - resize.add.size()));
  resize.to = goal.to;
  resize.remove = goal.remove;
  resize.deadline = pass.now + pass.spec.resize.join_timeout;
  pass.event("ResizeFollows", "newer size: " + goal_text(resize.from, goal));
}

// Newcomers that were evicted before they joined are replaced. A failed one: its description.
std::optional<std::string> replace_evicted_newcomers(Pass& pass) {
  ResizeStatus& resize = *pass.status.resize;
  const IndexSet planned = resize.add;
  for (const int index : planned) {
    const PodView* pod = pass.pod(index);
    if (pod ? pod->terminating : resize.created.contains(index)) {
      resize.add.erase(index);
      resize.created.erase(index);
      resize.add.insert(*pass.take_indices(1).begin());
    } else if (pod && (pod->phase == PodPhase::Failed || pod->phase == PodPhase::Succeeded)) {
      return describe_pod(*pod);
    } else if (pod) {
      resize.created.insert(index);
    }
  }
  return std::nullopt;
}

void create_pods(Pass& pass, int target) {
  if (pass.seen.runtime.reachable && pass.seen.runtime.ending)
    return supersede(pass, "the program is ending");
  follow(pass, goal_for(pass, target, !blocked_now(pass, target)));
  if (!pass.status.resize) return;
  if (const auto failed = replace_evicted_newcomers(pass))
    return give_up(pass, "a new worker failed: " + *failed, false);
  ResizeStatus& resize = *pass.status.resize;
  const auto unready = std::find_if(resize.add.begin(), resize.add.end(), [&](int index) {
    const PodView* pod = pass.pod(index);
    return !pod || !pod->ready;
  });
  const bool lead_ready = pass.lead_known() && !pass.seen.runtime.change && lost_leavers(pass).empty();
  if (unready == resize.add.end() && lead_ready) {
    resize.phase = ResizePhase::Requested;
    resize.requested_time = pass.now;
    resize.epoch = pass.status.epoch;  // a lost worker may have been dropped since
    resize.deadline = pass.now + pass.spec.resize.prepare_timeout;
    return send(pass);
  }
  if (pass.now < resize.deadline) {
    for (const int index : resize.add)
      if (!pass.pod(index)) pass.act(CreatePod{index});
    return pass.wake_at(resize.deadline);
  }
  std::string why = lost_leavers(pass).empty() ? "the lead does not answer"
                                               : "the lead has not dropped a worker that is lost";
  if (unready != resize.add.end()) why = "missing: " + missing_worker(pass, resize.add);
  give_up(pass,
          "new workers were not ready within joinTimeoutSeconds, " +
              std::to_string(pass.spec.resize.join_timeout.count()) + " s; " + why,
          true);
}

// The change was sent and came to nothing, because a member was lost meanwhile: the newcomers are as good for
// the next one. Its id is new, because the lead may know the old one.
void begin_again(Pass& pass, int target) {
  ResizeStatus& resize = *pass.status.resize;
  resize.id = "change-" + std::to_string(pass.status.next_change++);
  resize.phase = ResizePhase::CreatingPods;
  resize.requested_time.reset();
  resize.deadline = pass.now + pass.spec.resize.join_timeout;
  create_pods(pass, target);
}

// --- sent -------------------------------------------------------------------------------------------

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
  auto& changes = pass.status.policy_state.changes;
  changes.push_back({pass.now, resize.from, resize.to, cost,
                     work_per_iteration(pass.seen.samples, resize.from),
                     std::chrono::duration<double>(pass.now - resize.start_time).count()});
  if (changes.size() > kChangesKept) changes.erase(changes.begin());
}

bool wants_another(const Pass& pass, int target) {
  const ResizeStatus& resize = *pass.status.resize;
  if (target == resize.to) return false;
  const Goal goal = goal_for(pass, target, !blocked_now(pass, target));
  return goal.to != resize.to;
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
  if (pass.seen.runtime.change) return;  // another one, of an earlier controller: it ends first
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

void maybe_begin(Pass& pass, int target) {
  const RuntimeView& runtime = pass.seen.runtime;
  const bool blocked = blocked_now(pass, target);
  if (blocked)
    pass.wake_at(pass.status.blocked->retry_after);
  else if (pass.status.blocked &&
           (pass.status.blocked->target != target || target == pass.status.active_workers.size()))
    pass.status.blocked.reset();
  if (pass.spec.runtime.mode == RuntimeMode::Rigid) return;
  if (!pass.lead_known() || runtime.change || runtime.ending) return;
  const Goal goal = goal_for(pass, target, !blocked);
  if (!goal.nothing()) begin(pass, goal);
}

}  // namespace

void delete_leftovers(Pass& pass) {
  const JobStatus& status = pass.status;
  const RuntimeView& runtime = pass.seen.runtime;
  IndexSet needed = pass.members();
  if (status.start) needed = set_union(needed, status.start->workers);
  if (status.resize && status.resize->phase != ResizePhase::Draining)
    needed = set_union(needed, status.resize->add);
  const bool started = !status.active_workers.empty();
  const bool settled = pass.lead_known() && !runtime.change;
  for (const PodView& pod : pass.seen.pods) {
    if (pod.terminating || needed.contains(pod.index)) continue;
    const bool member =
        std::find(runtime.members.begin(), runtime.members.end(), pod.uid) != runtime.members.end();
    if (runtime.reachable && member) continue;
    const bool leaver = status.resize && status.resize->remove.contains(pod.index);
    if (pass.released(pod))
      pass.act(DeletePod{pod.name, pod.uid, DeleteReason::Released});
    else if (!started || settled)
      pass.act(DeletePod{pod.name, pod.uid, leaver ? DeleteReason::Released : DeleteReason::NeverJoined});
  }
}

void resize_step(Pass& pass, int target) {
  if (!pass.status.resize) {
    pass.status.state = JobState::Running;
    maybe_begin(pass, target);
  }
  if (pass.status.resize && pass.status.resize->phase == ResizePhase::CreatingPods) {
    create_pods(pass, target);
  } else if (pass.status.resize && pass.status.resize->phase != ResizePhase::Draining) {
    follow_change(pass, target);
  }
  if (is_terminal(pass.status.state) || pass.status.state == JobState::Pending) return;
  delete_leftovers(pass);
  if (pass.status.resize && pass.status.resize->phase == ResizePhase::Draining) drain(pass);
  // A change has ended in this pass and another size is wanted already: the next pass begins it.
  const bool ended = pass.seen.job.status.resize && !pass.status.resize;
  if (ended && target != pass.status.active_workers.size()) pass.wake_at(pass.now);
}

}  // namespace emj
