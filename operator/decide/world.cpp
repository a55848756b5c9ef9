// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/world.hpp"

#include <algorithm>
#include <stdexcept>

namespace emj::simulate {

std::string World::last_lines(std::size_t count) const {
  std::string text;
  for (std::size_t i = log.size() > count ? log.size() - count : 0; i < log.size(); ++i)
    text += log[i] + "\n";
  return text;
}

Observed World::observe() const {
  Observed observed;
  observed.job = job;
  observed.pods = pods;
  observed.samples = samples;
  observed.grant = grant;
  observed.pending_bound = pending_bound;
  observed.provisioning = provisioning;
  observed.fence = fence;
  observed.cancel_requested = cancel_requested;
  observed.resume_autoscaling = resume_autoscaling;
  observed.invalid_template = invalid_template;
  observed.creation_problem = creation_problem_;
  observed.creation_denied_since = creation_denied_since_;
  observed.scale_problem = scale_problem;
  observed.silent_since = silent_since_;
  observed.unmeasured_since = unmeasured_since_;
  observed.runtime.problem = lead_problem;
  observed.runtime.unmeasured = sidecar_problem;
  RuntimeView& view = observed.runtime;
  view.reachable = lead.reachable && lead.epoch > 0;
  if (!view.reachable) return observed;
  view.epoch = lead.epoch;
  view.members = lead.members;
  view.notice = lead.notice;
  view.exit_code = lead.exit_code;
  view.lead_uid = lead.members.front();
  view.program = lead.program;
  view.message = lead.message;
  view.ending = lead.ending;
  view.checkpoint = lead.checkpoint;
  view.checkpoint_trouble = lead.checkpoint_trouble;
  view.lead_silent = lead.silent;
  view.survives_lead_loss = lead.survives_lead_loss;
  view.lead_silence = lead.silence;
  view.fence = lead.fence;
  view.silent = lead.unheard;
  if (lead.silent) return observed;
  if (lead.busy()) view.change = ChangeView{lead.change, lead.state};
  view.ended = lead.ended;
  view.released = lead.released;
  view.survives_loss = lead.survives_loss;
  view.recovering = lead.recovering;
  view.losses = lead.losses;
  return observed;
}

void World::reconcile(bool status_written, std::size_t actions_done) {
  const bool silent = lead.epoch > 0 && (!lead.reachable || lead.silent);
  silent_since_ = !silent ? std::nullopt : silent_since_ ? silent_since_ : std::optional(now);
  unmeasured_since_ = sidecar_problem.empty() ? std::nullopt
                      : unmeasured_since_     ? unmeasured_since_
                                              : std::optional(now);
  Observed observed = observe();
  if (lead.epoch > 0) was_replaceable_ = is_replaceable(observed.runtime, was_replaceable_);
  observed.lead_was_replaceable = was_replaceable_;
  Decision decision = decide(observed, now);
  check_decision(observed, decision);
  actions = decision.actions;
  autoscaling = decision.autoscaling;
  if (!status_written) return;
  for (const PodView& view : pods) seen_.insert(view.index);
  job.status = decision.status;
  fence = std::max(fence, job.status.fence);  // that of a name is ours
  for (const Action& action : actions) {
    if (actions_done-- == 0) break;
    if (keeps_log)
      log.push_back(to_string(now) + " " + to_string(job.status.state) + ": " + to_string(action));
    std::visit([&](const auto& a) { apply(a); }, action);
  }
}

PodView* World::pod(int index) {
  for (PodView& view : pods)
    if (view.index == index) return &view;
  return nullptr;
}

void World::make_ready(int index) {
  PodView* view = pod(index);
  if (!view) throw std::logic_error("no pod " + std::to_string(index));
  view->phase = PodPhase::Running;
  view->ready = true;
  view->message.clear();
  view->ip = "10.0.0." + std::to_string(index + 1);
}

bool World::has_room() const {
  return static_cast<std::size_t>(std::ranges::count(pods, PodPhase::Running, &PodView::phase)) < room;
}

void World::make_all_ready() {
  for (PodView& view : pods) {
    if (view.phase != PodPhase::Pending || view.terminating) continue;
    if (has_room())
      make_ready(view.index);
    else
      view.message = "Unschedulable: no node has room";
  }
}

void World::end_pod(int index, int exit_code, const std::string& message) {
  PodView* view = pod(index);
  if (!view) throw std::logic_error("no pod " + std::to_string(index));
  view->phase = exit_code == 0 ? PodPhase::Succeeded : PodPhase::Failed;
  view->exit_code = exit_code;
  view->message = message;
  view->ready = false;
}

void World::exit_program(int exit_code) {
  lead.program = exit_code == 0 ? ProgramState::Succeeded : ProgramState::Failed;
  lead.exit_code = exit_code;
  for (const int index : status().active_workers) end_pod(index, exit_code);
}

void World::remove_terminating() {
  std::erase_if(pods, [](const PodView& view) { return view.terminating; });
}

void World::vanish(int index) {
  std::erase_if(pods, [&](const PodView& view) { return view.index == index; });
}

void World::ask_for(int replicas) {
  job.spec.worker.replicas = replicas;
  ++job.metadata.generation;
}

void World::advance_change() {
  if (!lead.busy()) return;
  switch (lead.state) {
    case ChangeState::Preparing:
      lead.state = ChangeState::Building;
      return;
    case ChangeState::Building:
      lead.state = ChangeState::Ready;
      return;
    case ChangeState::Ready:
      lead.state = ChangeState::Window;
      return;
    case ChangeState::Window:
      return commit_change();
    case ChangeState::Committed:
    case ChangeState::Draining:
      lead.released.insert(lead.released.end(), lead.remove.begin(), lead.remove.end());
      return end_change(true, "");
    case ChangeState::RollingBack:
      return end_change(false, "rolled back");
    case ChangeState::Stable:
    case ChangeState::Failed:
      throw std::logic_error("the lead's change " + lead.change + " is in hand and not in flight");
  }
}

void World::roll_back_change(const std::string& reason, bool timed_out) {
  if (!lead.busy() || lead.state == ChangeState::Draining) return;
  end_change(false, reason, timed_out);
}

void World::foreign_change() {
  if (lead.busy() || lead.epoch == 0 || job.status.resize) return;
  lead.change = "foreign-" + std::to_string(next_foreign_++);
  lead.state = ChangeState::Preparing;
  lead.add.clear();
  lead.remove.clear();
}

void World::finish_change() {
  while (lead.busy()) advance_change();
}

void World::settle(int turns) {
  for (int i = 0; i < turns; ++i) {
    reconcile();
    make_all_ready();
    remove_terminating();
    advance_change();
    now += Seconds(1);
  }
}

bool World::had_event(const std::string& reason) const {
  return std::any_of(events.begin(), events.end(), [&](const RecordEvent& e) { return e.reason == reason; });
}

void World::commit_change() {
  std::vector<std::string> next;
  for (const std::string& uid : lead.members)
    if (std::find(lead.remove.begin(), lead.remove.end(), uid) == lead.remove.end()) next.push_back(uid);
  next.insert(next.end(), lead.add.begin(), lead.add.end());
  lead.members = next;
  ++lead.epoch;
  lead.state = ChangeState::Draining;
}

void World::end_change(bool committed, const std::string& reason, bool timed_out) {
  lead.ended = EndedChange{lead.change, committed, timed_out, reason, paused_millis, lost_millis};
  lead.tombstones.insert(lead.change);
  lead.change.clear();
}

void World::require(bool kept, const std::string& promise) {
  if (!kept) broken.push_back(promise);
}

PodView* World::by_uid(const std::string& uid) {
  for (PodView& view : pods)
    if (view.uid == uid) return &view;
  return nullptr;
}

void World::check_decision(const Observed& observed, const Decision& decision) {
  for (const Condition& condition : decision.status.conditions)
    require(!condition.reason.empty(),
            "condition " + condition.type + " has no reason, the API server wants one");
  const auto for_program = [](const Action& action) {
    return std::holds_alternative<StartJob>(action) || std::holds_alternative<StopJob>(action) ||
           std::holds_alternative<NameLead>(action) || std::holds_alternative<SendChange>(action) ||
           std::holds_alternative<CancelChange>(action) || std::holds_alternative<GiveNotice>(action);
  };
  const auto stop = std::ranges::find_if(
      decision.actions, [](const Action& action) { return std::holds_alternative<StopJob>(action); });
  require(stop == decision.actions.end() ||
              (stop == decision.actions.begin() && std::ranges::count_if(decision.actions, for_program) == 1),
          "a program is told to end after something else that may fail, or is told more");
  if (!is_terminal(observed.job.status.state)) return;
  require(decision.status.state == observed.job.status.state, "a terminal state was left");
  for (const Action& action : decision.actions)
    require(std::holds_alternative<DeletePod>(action) || std::holds_alternative<Requeue>(action),
            "an ended job still does: " + to_string(action));
}

void World::apply(const CreatePod& action) {
  if (pod(action.index)) return;
  creation_problem_ = pods.size() < quota ? "" : "exceeded quota of " + std::to_string(quota) + " pods";
  if (creation_problem_.empty())
    creation_denied_since_.reset();
  else if (!creation_denied_since_)
    creation_denied_since_ = now;
  if (!creation_problem_.empty()) return;
  // A pod that came and went without ever being seen cannot be told from one that was never created.
  require(!seen_.contains(action.index), "index " + std::to_string(action.index) + " was used twice");
  PodView view;
  view.index = action.index;
  view.name = worker_name(job.metadata.name, action.index);
  view.uid = "uid-" + std::to_string(next_uid_++);
  if (job.status.allocation) {
    view.queue = job.spec.scheduling.queue_name;
    view.pool = job.status.allocation->pool;
  }
  pods.push_back(view);
}

void World::apply(const DeletePod& action) {
  PodView* view = by_uid(action.uid);
  if (!view) return;
  require(view->name == action.name, "delete names another pod than its uid");
  const bool over = action.reason == DeleteReason::JobEnded || action.reason == DeleteReason::Suspended;
  const bool in_change =
      lead.busy() && (std::find(lead.add.begin(), lead.add.end(), view->uid) != lead.add.end() ||
                      std::find(lead.remove.begin(), lead.remove.end(), view->uid) != lead.remove.end());
  const bool let_go = std::find(lead.released.begin(), lead.released.end(), view->uid) != lead.released.end();
  const bool running = lead.program == ProgramState::Running && !stopped_;
  require(over || !running || !lead.has(view->uid), "member " + view->name + " was deleted, not released");
  require(over || !running || !in_change || let_go,
          view->name + " was deleted while a change had it in hand");
  view->terminating = true;
  view->ready = false;
  if (over && lead.has(view->uid)) end_program();
}

void World::apply(const StartJob& action) {
  if (lead.has(action.lead_uid)) return;  // the agents know this start already; older ones are gone
  const int count = static_cast<int>(action.members.size());
  require(is_feasible(job.spec, count), "started with " + std::to_string(count) + " workers");
  lead = Lead{};
  for (const MemberAddress& member : action.members) {
    const PodView* view = by_uid(member.uid);
    require(view && view->ready, "started on " + member.name + ", which is not ready");
    lead.members.push_back(member.uid);
  }
  lead.epoch = 1;
  lead.program = ProgramState::Running;
  stopped_ = false;
}

void World::end_program() {
  lead = Lead{};
  stopped_ = true;
}

void World::apply(const NameLead& action) {
  require(action.fence > lead.fence || action.lead.uid == lead.members.front(),
          "a second lead was named by a fence that was used");
  require(std::ranges::find(action.dead, action.lead.uid) == action.dead.end(), "one of the dead is to lead");
  const PodView* view = by_uid(action.lead.uid);
  if (!view || !view->ready) return;
  lead.fence = std::max(lead.fence, action.fence);
  const std::size_t before = lead.members.size();
  std::erase_if(lead.members, [&](const std::string& uid) {
    return std::ranges::find(action.dead, uid) != action.dead.end();
  });
  if (lead.members.size() == before) return;
  require(lead.members.front() == action.lead.uid, "the first of those that are left does not lead");
  ++lead.epoch;
  lead.silent = false;
  lead.unheard.clear();
}

void World::apply(const SendChange& action) {
  causes.insert(action.cause);
  if (lead.tombstones.contains(action.id) || !lead.reachable || lead.silent) return;
  require(!lead.busy() || lead.change == action.id, "a second change was sent while one is in hand");
  if (lead.busy() || lead.epoch == 0) return;
  require(action.epoch == lead.epoch, "a change was sent from another epoch");
  require(!action.add.empty() || !action.remove.empty(), "an empty change was sent");
  const int after = size() + static_cast<int>(action.add.size()) - static_cast<int>(action.remove.size());
  require(is_feasible(job.spec, after), "a change to " + std::to_string(after) + " workers was sent");
  require(action.remove.size() < lead.members.size(), "a change was sent that nobody survives");
  for (const std::string& uid : action.remove) require(lead.has(uid), "a pod was to leave that is no member");
  lead.change = action.id;
  lead.state = ChangeState::Preparing;
  lead.add.clear();
  for (const MemberAddress& member : action.add) {
    const PodView* view = by_uid(member.uid);
    require(view && view->ready, "newcomer " + member.name + " is not ready");
    lead.add.push_back(member.uid);
  }
  lead.remove = action.remove;
}

void World::apply(const GiveNotice& action) {
  require(!action.members.empty() && action.members.back().uid == lead.members.front(),
          "a notice was given without the lead");
  lead.notice = action.id;
}

void World::apply(const CancelChange& action) {
  if (!lead.reachable || lead.silent) return;
  if (lead.change != action.id) {
    lead.tombstones.insert(action.id);
  } else if (lead.state == ChangeState::Preparing || lead.state == ChangeState::Building) {
    lead.state = ChangeState::RollingBack;
  }
}

void World::apply(const DeleteJob& action) {
  if (action.uid != job.metadata.uid) broken.push_back("another job was to be deleted: " + action.uid);
  deleted = true;
}

}  // namespace emj::simulate
