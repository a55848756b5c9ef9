// SPDX-License-Identifier: Apache-2.0
// A running job and its changes of size.
//
//   no resize      target or a drained member asks for a change: plan indices and victims -> CreatingPods
//                  the rest of an earlier grow is awaited: it comes        -> CreatingPods, then at once
//                  Requested
//   CreatingPods   newcomers come up; all ready, or some for patienceSeconds: send the change -> Requested
//                  (without the others: they are awaited, resize_rest.cpp)
//                  newer target: follow it; joinTimeout or a failed pod: give up, block the target
//   Requested,     the lead works on it. Newer target before Ready: cancel -> Cancelling
//   Preparing,     committed                                               -> Draining
//   Building,      rolled back: delete the newcomers, block the target     -> none
//   Ready, Window, ...
//   Draining       delete the pods that the lead has released; all gone    -> none
//
// A pod that was ever sent to the lead is deleted only when the lead says that it has left, or when no
// change is in flight and the committed membership does not have it.

#include "operator/decide/resize.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/backoff.hpp"

namespace emj {
namespace resizing {
namespace {

constexpr Seconds kFirstBlock{30};
constexpr Seconds kLongestBlock{3600};

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

void block(Pass& pass, int target, const std::string& reason) {
  const auto& before = pass.status.blocked;
  const bool again = before && before->target == target;
  const int attempts = again ? before->attempts + 1 : 1;
  const Seconds pause = empi::backoff(kFirstBlock, kLongestBlock, attempts - 1);
  pass.status.blocked =
      BlockedTarget{target, pass.seen.job.metadata.generation, reason, attempts, pass.now + pause};
  pass.wake_at(pass.now + pause);
}

std::string goal_text(int from, const Goal& goal) {
  std::string text = std::to_string(from) + " -> " + workers_text(goal.to);
  if (goal.add > 0) text += ", " + std::to_string(goal.add) + " join";
  if (goal.remove.size() == 1) text += ", worker " + to_string(goal.remove) + " leaves";
  if (goal.remove.size() > 1) text += ", workers " + to_string(goal.remove) + " leave";
  return text;
}

// The first change to a new allocation, in which nobody is replaced: `Allocated` or `Yielding` has said from
// how many to how many, and why.
bool told_by_queue(const Pass& pass, int from, const Goal& goal) {
  const auto& allocation = pass.status.allocation;
  if (!allocation || goal.to != allocation->workers || goal.to == from || pass.status.blocked) return false;
  const auto& changes = pass.status.policy_state.changes;
  const bool first = changes.empty() || changes.back().time < allocation->time;
  return first && goal.add == std::max(0, goal.to - from) &&
         goal.remove.size() == std::max(0, from - goal.to);
}

void begin(Pass& pass, const Goal& goal) {
  ResizeStatus resize;
  resize.id = "change-" + std::to_string(pass.status.next_change++);
  resize.from = pass.status.active_workers.size();
  resize.to = goal.to;
  resize.epoch = pass.status.epoch;
  resize.remove = goal.remove;
  resize.start_time = pass.now;
  resize.deadline = pass.now + join_timeout(pass);
  if (const auto rest = std::exchange(pass.status.awaited, std::nullopt)) {
    resize.add = rest->workers;
    resize.created = rest->created;
    resize.ready_time = rest->ready_time;
    keep_at_most(pass, goal.add, resize.add, resize.created);
    const bool nothing_new = resize.add.size() == goal.add && goal.remove.empty();
    if (nothing_new) resize.deadline = rest->deadline;
  }
  resize.add = set_union(resize.add, take_newcomers(pass, goal.add - resize.add.size()));
  pass.status.resize = resize;
  pass.status.state = JobState::Resizing;
  if (!told_by_queue(pass, resize.from, goal)) pass.event("Resizing", goal_text(resize.from, goal));
}

// Workers that are to go whatever the size is make a change that ends elsewhere than at the size asked for,
// or where it began.
std::string cause_of(const Pass& pass) {
  const ResizeStatus& resize = *pass.status.resize;
  if (resize.to == resize.from || aim(pass) != pass.status.desired_replicas) return "drain";
  const auto& written = pass.status.policy_state.written_replicas;
  return written && written == pass.spec.worker.replicas ? "autoscaling" : "manual";
}

// Newcomers that exist are kept when the new goal has a use for them.
void follow(Pass& pass, const Goal& goal) {
  ResizeStatus& resize = *pass.status.resize;
  for (const int index : IndexSet(resize.remove))  // those that the lead has dropped are out already
    if (!pass.status.active_workers.contains(index)) resize.remove.erase(index);
  if (goal.nothing()) return supersede(pass, "the size asked for is the present one again");
  if (goal.to == resize.to && goal.add == resize.add.size() && goal.remove == resize.remove) return;
  keep_at_most(pass, goal.add, resize.add, resize.created);
  resize.add = set_union(resize.add, take_newcomers(pass, goal.add - resize.add.size()));
  resize.to = goal.to;
  resize.remove = goal.remove;
  resize.deadline = pass.now + join_timeout(pass);
  pass.event("ResizeFollows", "newer size: " + goal_text(resize.from, goal));
}

// Of the newcomers of a change that is not sent yet. At the end of joinTimeoutSeconds what is there joins,
// unless so much patience is asked for that it means all or none.
int some_may_join(Pass& pass) {
  ResizeStatus& resize = *pass.status.resize;
  int leaving = 0;
  for (const int index : resize.remove)
    if (pass.status.active_workers.contains(index)) ++leaving;
  const ResizeSpec& spec = pass.spec.resize;
  return may_join(pass, resize.add, leaving, resize.ready_time,
                  spec.patience < spec.join_timeout ? resize.deadline : Time::max());
}

void create_pods(Pass& pass, int target) {
  if (pass.seen.runtime.reachable && pass.seen.runtime.ending)
    return supersede(pass, "the program is ending");
  follow(pass, goal_for(pass, target, !blocked_now(pass, target)));
  if (!pass.status.resize) return;
  ResizeStatus& resize = *pass.status.resize;
  if (const auto failed = replace_evicted(pass, resize.add, resize.created))
    return give_up(pass, "a new worker failed: " + *failed, false);
  const bool all_ready = ready_of(pass, resize.add) == resize.add;
  const int joining = all_ready ? 0 : some_may_join(pass);
  const bool lead_ready = pass.lead_known() && !pass.seen.runtime.change &&
                          pass.seen.runtime.recovering.empty() && lost_leavers(pass).empty();
  if ((all_ready || joining > 0) && lead_ready) {
    if (!all_ready) go_on_without_the_rest(pass, joining);
    resize.phase = ResizePhase::Requested;
    resize.requested_time = pass.now;
    resize.epoch = pass.status.epoch;  // a lost worker may have been dropped since
    resize.deadline = pass.now + pass.spec.resize.prepare_timeout;
    return send(pass);
  }
  if (pass.now < resize.deadline) {
    create_missing(pass, resize.add);
    return pass.wake_at(resize.deadline);
  }
  std::string why = lost_leavers(pass).empty() ? "the lead does not answer"
                                               : "the lead has not dropped a worker that is lost";
  if (!all_ready) why = "missing: " + missing_worker(pass, resize.add);
  give_up(pass,
          "new workers were not ready within joinTimeoutSeconds, " +
              std::to_string(join_timeout(pass).count()) + " s; " + why,
          true);
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
  if (!pass.lead_known() || runtime.change) return;
  if (runtime.ending) return forget_rest(pass, "the program is ending");
  const Goal goal = goal_for(pass, target, !blocked);
  if (goal.nothing()) return forget_rest(pass, "the size asked for is the present one again");
  if (!wait_for_rest(pass, goal)) begin(pass, goal);
}

}  // namespace

void forget_rest(Pass& pass, const std::string& reason) {
  if (!pass.status.awaited) return;
  pass.status.awaited.reset();
  pass.event("ResizeSuperseded", reason);
}

void call_off_newcomers(Pass& pass, const std::string& reason) {
  const auto& resize = pass.status.resize;
  if (resize && resize->phase == ResizePhase::CreatingPods) supersede(pass, reason);
  forget_rest(pass, reason);
}

bool blocked_now(const Pass& pass, int target) {
  const auto& blocked = pass.status.blocked;
  return blocked && blocked->target == target && blocked->generation == pass.seen.job.metadata.generation &&
         pass.now < blocked->retry_after;
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

void remember_change(Pass& pass, double cost_seconds, double work_per_iteration) {
  constexpr std::size_t kept = 5;
  const ResizeStatus& resize = *pass.status.resize;
  auto& changes = pass.status.policy_state.changes;
  changes.push_back({pass.now, resize.from, resize.to, cost_seconds, work_per_iteration,
                     std::chrono::duration<double>(pass.now - resize.start_time).count()});
  if (changes.size() > kept) changes.erase(changes.begin());
}

void set_idle(Pass& pass) {
  pass.status.resize.reset();
  pass.status.state = JobState::Running;
}

// The change did not happen and will not: by our own decision before it was sent, or by the lead's.
void give_up(Pass& pass, const std::string& reason, bool timed_out) {
  const ResizeStatus resize = *pass.status.resize;
  const int wanted = aim(pass);
  record_end(pass, ResizeResult::RolledBack, reason);
  if (timed_out && pass.spec.resize.on_timeout == OnTimeout::Fail)
    return fail(pass, "ResizeTimeout", reason + "; spec.resize.onTimeout is Fail", true);
  block(pass, wanted, reason);
  pass.status.awaited.reset();
  set_idle(pass);
  pass.warning("ResizeRolledBack", "the job stays at " + workers_text(resize.from) + ", not " +
                                       std::to_string(wanted) + ": " + reason);
}

void supersede(Pass& pass, const std::string& reason) {
  record_end(pass, ResizeResult::Superseded, reason);
  pass.event("ResizeSuperseded", reason);
  set_idle(pass);
}

void send(Pass& pass) {
  const ResizeStatus& resize = *pass.status.resize;
  SendChange change{resize.id, pass.status.fence, resize.epoch,  pass.addresses(resize.add),
                    {},        resize.deadline,   cause_of(pass)};
  for (const int index : resize.remove)
    if (const PodView* pod = pass.pod(index)) change.remove.push_back(pod->uid);
  pass.act(std::move(change));
}

// The change was sent and came to nothing, because a member was lost meanwhile: the newcomers are as good for
// the next one. Its id is new, because the lead may know the old one.
void begin_again(Pass& pass, int target) {
  ResizeStatus& resize = *pass.status.resize;
  if (const auto rest = std::exchange(pass.status.awaited, std::nullopt)) {
    resize.to += rest->workers.size();
    resize.add = set_union(resize.add, rest->workers);
    resize.created = set_union(resize.created, rest->created);
  }
  resize.id = "change-" + std::to_string(pass.status.next_change++);
  resize.phase = ResizePhase::CreatingPods;
  resize.requested_time.reset();
  resize.deadline = pass.now + join_timeout(pass);
  create_pods(pass, target);
}

}  // namespace resizing

void delete_leftovers(Pass& pass) {
  const JobStatus& status = pass.status;
  const RuntimeView& runtime = pass.seen.runtime;
  IndexSet needed = pass.members();
  if (status.start) needed = set_union(needed, status.start->workers);
  if (status.resize && status.resize->phase != ResizePhase::Draining)
    needed = set_union(needed, status.resize->add);
  if (status.awaited) needed = set_union(needed, status.awaited->workers);
  if (status.standby) needed = set_union(needed, status.standby->workers);
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
    resizing::maybe_begin(pass, target);
  }
  if (pass.status.resize && pass.status.resize->phase == ResizePhase::CreatingPods) {
    resizing::create_pods(pass, target);
  } else if (pass.status.resize && pass.status.resize->phase != ResizePhase::Draining) {
    resizing::follow_change(pass, target);
  }
  if (is_terminal(pass.status.state) || pass.status.state == JobState::Pending) return;
  plan_standby(pass);
  delete_leftovers(pass);
  if (pass.status.resize && pass.status.resize->phase == ResizePhase::Draining) resizing::drain(pass);
  create_standby(pass);
  // A change has ended in this pass and another size is wanted already: the next pass begins it.
  const bool ended = pass.seen.job.status.resize && !pass.status.resize;
  if (ended && target != pass.status.active_workers.size()) pass.wake_at(pass.now);
}

}  // namespace emj
