// SPDX-License-Identifier: Apache-2.0
// A change of a master-worker program (decision R8). The same states, but nobody stops: joiners become
// workers of the queue (Building), leavers go when their task in hand is done (Window), and that is all.
// Members that are lost meanwhile are dropped when the change is over.
#include <algorithm>

#include "runtime/agent/lead/change_driver.hpp"

namespace empi::agent {

using Kind = DriverStep::Kind;
using State = ChangeState;
using Event = ChangeEvent;

void ChangeDriver::queue_is_at(const std::string& address, TimePoint now) {
  queue_address_ = address;
  if (!active()) return;
  plan_.tasks = true;
  advance(now);
}

void ChangeDriver::remember_pods() {
  pods_.clear();
  for (const auto* members : {&plan_.old.members, &plan_.add})
    for (const Member& member : *members)
      pods_[{member.nspace, member.first_rank}] = {member.uid, static_cast<std::uint32_t>(member.slots)};
}

std::string ChangeDriver::pod_of(const ProcId& proc) const {
  const auto after = pods_.upper_bound(proc);
  if (after == pods_.begin()) return "";
  const auto& [first, host] = *std::prev(after);
  return first.nspace == proc.nspace && proc.rank - first.rank < host.count ? host.uid : "";
}

void ChangeDriver::advance_tasks(TimePoint now) {
  const auto all = [&](Awaited& awaited, const std::set<ProcId>& ranks, const std::set<ProcId>& are) {
    return awaited.all(ranks, [&](const ProcId& p) { return are.contains(p) || gone_.contains(p); });
  };
  if (state_ == State::Building) {
    if (queue_address_.empty() || step_) return;
    if (!joiner_ranks_.empty() && !attach_ordered_) {
      attach_ordered_ = true;
      return issue(Kind::Attach, new_uids(), now);
    }
    if (!all(progress_.joiners_attached, joiner_ranks_, built_) ||
        !try_move(Event::WorldBuilt, State::Ready) || !try_move(Event::Confirmed, State::Window))
      return;
    status_.times.build_ms = milliseconds_since(entered_, now);
    entered_ = now;
  }
  if (state_ != State::Window || step_) return;
  if (!plan_.remove.empty() && !depart_ordered_) {
    depart_ordered_ = true;
    return issue(Kind::Depart, {plan_.remove.begin(), plan_.remove.end()}, now);
  }
  if (all(progress_.leavers_left, leaver_ranks_, left_) && try_move(Event::Agreed, State::Committed))
    enter_committed(now);
}

bool ChangeDriver::awaits_an_end() const { return active() && !std::ranges::includes(gone_, ended_); }

// A leaver that dies has left. Any other member is lost, and the job goes on.
void ChangeDriver::tasks_rank_exited(const ProcId& proc, bool clean, const std::string& what, TimePoint now) {
  const Role who = role(proc);
  if (who == Role::Joiner) {
    give_up(Event::JoinerLost, what, now);
  } else if (who == Role::Leaver && joined()) {
    left_.insert(proc);
  } else if (!clean) {
    lost_.try_emplace(pod_of(proc), what);
  } else if (!joined() && state_ != State::RollingBack) {
    give_up(Event::JobEnding, what, now);
  }
  advance(now);
}

}  // namespace empi::agent
