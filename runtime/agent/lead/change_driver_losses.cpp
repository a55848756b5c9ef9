// SPDX-License-Identifier: Apache-2.0
// What ends a change before its time: ranks and pods that go, a controller that changes its mind.
#include <algorithm>

#include "runtime/agent/lead/change_driver.hpp"
#include "runtime/agent/lead/history_hooks.hpp"

namespace empi::agent {
namespace {

using Kind = DriverStep::Kind;
using State = ChangeState;
using Event = ChangeEvent;

}  // namespace

void ChangeDriver::give_up(ChangeEvent event, const std::string& reason, TimePoint now) {
  if (put_back(OldFault::B2) && next_state(state_, event) == State::Failed)
    status_.state = state_ = State::Failed;
  if (!try_move(event, State::RollingBack)) return;
  status_.ended_by = event;
  roll_back(reason, now);
}

void ChangeDriver::roll_back(const std::string& reason, TimePoint now) {
  status_.reason = reason;
  rollback_until_ = now + kRollbackPatience;
  issue(Kind::GiveUp, union_uids(), now);
}

void ChangeDriver::fail(ChangeEvent event, const std::string& reason) {
  if (!try_move(event, State::Failed)) return;
  status_.outcome = ChangeOutcome::Failed;
  status_.reason = reason;
  status_.ended_by = event;
}

void ChangeDriver::interrupt(Event by, const std::string& reason, std::vector<ProcId> dead) {
  if (!interrupted_) interrupted_ = Interruption{by, reason};
  out_.push_back(DriverStep{.kind = Kind::Interrupt,
                            .number = ++number_,
                            .uids = union_uids(),
                            .dead = std::move(dead),
                            .state = state_});
}

void ChangeDriver::rank_finalizes(const RankReport& report, TimePoint now) {
  const std::string rank = "rank " + name_of(report.proc);
  finalising_.insert(report.proc);
  if (plan_.tasks && state_ == State::Window) {
    if (left_.insert(report.proc).second) ended_.insert(report.proc);  // before it was asked to leave
  } else if (role(report.proc) == Role::Joiner) {
    const std::string reason = rank + " finalised instead of joining";
    if (state_ == State::Window) return interrupt(Event::JoinerLost, reason, {});  // it has not voted
    give_up(Event::JoinerLost, reason, now);
  } else if (state_ == State::Window) {
    give_up(Event::Disagreed, rank + " left its loop before the agreed iteration", now);
  } else {
    give_up(Event::JobEnding, "the job is ending: " + rank + " finalises", now);
  }
}

void ChangeDriver::rank_exited(const ProcId& proc, bool clean, const std::string& what, TimePoint now) {
  const Role who = role(proc);
  if (!active() || who == Role::None) return;
  gone_.insert(proc);
  if (plan_.tasks) return tasks_rank_exited(proc, clean, what, now);
  if (lost_.contains(pod_of(proc))) return advance(now);  // its pod is dropped, whatever becomes of it
  const bool may_go = clean || (who == Role::Leaver && released_);
  if (committed() && may_go) return advance(now);
  if (who == Role::Joiner) {
    if (state_ == State::Window) {
      if (joiner_lost_.empty()) joiner_lost_ = what;
      interrupt(Event::JoinerLost, what, {proc});
    } else {
      give_up(Event::JoinerLost, what, now);
    }
  } else if (!may_go) {
    fail(Event::MemberLost, what);
  } else if (state_ != State::RollingBack) {
    give_up(state_ == State::Window ? Event::Disagreed : Event::JobEnding, what, now);
  }
  advance(now);
}

void ChangeDriver::pod_lost(const std::string& uid, const std::string& what, TimePoint now) {
  if (!active()) return;
  for (const Member& member : plan_.add)
    if (member.uid == uid) {
      for (const ProcId& proc : ranks_of(member)) rank_exited(proc, false, what, now);
      if (plan_.tasks && lost_.contains(uid)) return answered_by_nobody(uid, now);
      // It may not have had a rank yet.
      return give_up(Event::JoinerLost, what, now);
    }
  const Member* member = plan_.old.find(uid);
  if (!member) return;
  const std::vector<ProcId> ranks = ranks_of(*member);
  if (plan_.tasks) {
    for (const ProcId& proc : ranks)
      if (!gone_.contains(proc)) rank_exited(proc, false, what, now);
    lost_.try_emplace(uid, what);
  } else if (plan_.leaves(uid) && released_ && !put_back(OldFault::B7)) {
    gone_.insert(ranks.begin(), ranks.end());  // that nothing depends on it any more is what a release means
  } else {
    return fail(Event::MemberLost, what);
  }
  answered_by_nobody(uid, now);
}

bool ChangeDriver::counts_as_member(const ProcId& proc) const {
  const Role who = role(proc);
  return active() && (who == Role::Stayer || (who == Role::Leaver && !released_));
}

void ChangeDriver::member_down(const std::string& uid, const std::string& what, TimePoint now) {
  const Member* member = plan_.old.find(uid);
  const auto joiner = std::ranges::find(plan_.add, uid, &Member::uid);
  if (!member && joiner != plan_.add.end()) member = &*joiner;
  if (!active() || !member || !lost_.try_emplace(uid, what).second) return;
  const std::vector<ProcId> ranks = ranks_of(*member);
  gone_.insert(ranks.begin(), ranks.end());
  if (state_ == State::Window &&
      std::ranges::all_of(old_ranks_, [this](const ProcId& proc) { return gone_.contains(proc); }))
    return fail(Event::MemberLost, what + ", and nobody is left to vote");
  if (state_ == State::Window)
    interrupt(plan_.joins(uid) ? Event::JoinerLost : Event::MemberDown, what, ranks);
  else
    give_up(Event::MemberDown, what, now);
  answered_by_nobody(uid, now);
}

void ChangeDriver::answered_by_nobody(const std::string& uid, TimePoint now) {
  gone_pods_.insert(uid);
  unanswered_.erase(uid);
  if (step_ && unanswered_.empty()) step_complete(now);
  advance(now);
}

void ChangeDriver::cancel(const std::string& reason, TimePoint now) {
  if (active()) give_up(Event::Cancel, reason, now);
}

}  // namespace empi::agent
