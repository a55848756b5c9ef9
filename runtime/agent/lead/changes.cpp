// SPDX-License-Identifier: Apache-2.0
// Sends out what the driver of a change wants done, and follows what it has decided.
#include <algorithm>
#include <set>
#include <string_view>

#include "runtime/agent/lead/lead.hpp"
#include "runtime/base/log.hpp"

namespace empi::agent {
namespace {

JobOutcome stopped(const std::string& reason) { return {JobResult::Stopped, reason, 0, {}, {}}; }

}  // namespace

void Lead::perform_steps(Moment now) {
  if (verdict_) return;
  for (const DriverStep& next : driver_.take_steps()) issue(next);
  if (driver_.state() == ChangeState::Failed)
    fail_job(driver_.status().reason, 1, state_.last_tail);
  else if (driver_.state() == ChangeState::Stable && driver_.status().outcome != ChangeOutcome::Unfinished &&
           driver_.plan().id != reported_change_)
    change_over(now);
}

void Lead::issue(const DriverStep& s) {
  const ChangePlan& plan = driver_.plan();
  Step m{.kind = s.kind,
         .number = s.number,
         .change = plan.id,
         .iteration = s.iteration,
         .joiners_precede = s.joiners_precede,
         .address = s.address,
         .dead = s.dead,
         .leavers = s.leavers};
  switch (s.kind) {
    case StepKind::Prepare:
      return prepare(std::move(m));
    case StepKind::Launch:
      m.space = plan.joiners.name;
      break;
    case StepKind::Terminate:
    case StepKind::Kill:
      m.reason = driver_.status().reason;
      log::warn("change {}: {}", plan.id, m.reason);
      break;
    case StepKind::GiveUp:
      deliver(rendezvous_.end_change(plan.port, plan.joiners.name));
      log::info("change {} is rolled back: {}", plan.id, driver_.status().reason);
      break;
    case StepKind::Commit:
      // Here at once: what comes next may be of a rank that has joined, the end of the program even.
      membership_ = plan.next_members();
      break;
    case StepKind::Forget:
      if (s.state == ChangeState::Draining) {  // committed
        m.pods = plan.remove;
        // What was answered before this step has arrived when the step is done. A member that takes the next
        // lead for its lead asks that for whatever it waits for; those who were answered do not, so none may
        // be answered in between.
        answers_no_more_ = plan.leaves(self_.uid);
        for (const std::string& uid : plan.remove) spaces_.pod_gone(uid);
        m.spaces = spaces_.empty_spaces();
        // How a member's ranks have ended is asked for at the job's end.
        std::set<std::string_view> in_use;
        for (const Member& member : membership_.members) in_use.insert(member.nspace);
        std::erase_if(m.spaces, [&](const std::string& name) { return in_use.contains(name); });
      } else {
        m.pods = uids_of(plan.add);
        if (!plan.add.empty()) m.spaces.push_back(plan.joiners.name);
      }
      for (const std::string& uid : m.pods) {
        spaces_.pod_gone(uid);
        state_.leave_requests.erase(uid);
      }
      for (const std::string& name : m.spaces) spaces_.remove(name);
      deliver(rendezvous_.recheck());
      break;
    default:
      break;
  }
  log::debug("change {}: {} in state {} to {} agents", plan.id, to_string(s.kind), to_string(s.state),
             s.uids.size());
  send_all({s.uids.begin(), s.uids.end()}, std::move(m));
  if (s.kind != StepKind::GiveUp) return;
  // The joiners' ranks are killed now. The old ones may take their time to drop the attempt: that is nothing
  // for joiners to wait for.
  for (const Member& member : plan.add)
    dismiss(member.uid, stopped("change " + plan.id + " was rolled back: " + driver_.status().reason));
}

// Nobody is told what they know: members who the members are, newcomers who joins with them (of that the plan
// tells).
void Lead::prepare(Step m) {
  const ChangePlan& plan = driver_.plan();
  m.plan = plan;
  m.record = record();
  send_all(uids_of(plan.old.members), m);
  if (plan.add.empty()) return;
  m.record = whole_record();
  std::erase_if(m.record->spaces, [&](const Namespace& space) { return space.name == plan.joiners.name; });
  send_all(uids_of(plan.add), std::move(m));
}

void Lead::on_message(const StepDone& m, const std::string& from, Moment now) {
  if (m.change.empty()) return start_step_done(m, from);
  if (m.change != driver_.plan().id) return;
  driver_.answered(m.number, from, m.answer, now.clock);
  perform_steps(now);
}

// The driver is back at Stable: keep the record, send home who has left.
void Lead::change_over(Moment now) {
  const ChangeStatus status = driver_.status();
  const ChangePlan plan = driver_.plan();
  reported_change_ = plan.id;
  state_.remember(status);
  log::info("change {} {}{}{}: built in {:.0f} ms, pause {:.1f} ms", plan.id, to_string(status.outcome),
            status.reason.empty() ? "" : ", ", status.reason, status.times.build_ms, status.times.pause_ms);
  state_.lost.insert(driver_.lost().begin(), driver_.lost().end());
  if (status.outcome != ChangeOutcome::Committed) return drop_lost_members();
  deliver(rendezvous_.end_change(plan.port, ""));
  std::erase_if(state_.exit_codes, [&](const auto& e) { return !spaces_.find(e.first.nspace); });
  std::erase_if(state_.hello, [&](const ProcId& proc) { return !spaces_.find(proc.nspace); });
  for (const Member& member : plan.add) last_heard_[member.uid] = now.running;
  for (const std::string& uid : plan.remove)
    if (uid != self_.uid) dismiss(uid, stopped("released by change " + plan.id));
  drop_lost_members();  // the next lead may be one of them
  if (plan.leaves(self_.uid) && !verdict_) return hand_over_to(membership_.lead().uid);
  succeed_when_all_done();  // those who have left were the last
}

}  // namespace empi::agent
