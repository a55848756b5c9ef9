#include "runtime/agent/change_driver.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace empi::agent {
namespace {

using Kind = DriverStep::Kind;
using State = ChangeState;
using Event = ChangeEvent;

// How long a rolled back change waits for ranks to report that they have dropped the attempt. A rank whose
// helper thread never comes back reports too (it parks the helper), so this is a last resort.
constexpr auto kRollbackPatience = std::chrono::seconds(30);

bool subset(const std::set<ProcId>& of, const std::set<ProcId>& a, const std::set<ProcId>& b) {
  return std::ranges::all_of(of, [&](const ProcId& p) { return a.contains(p) || b.contains(p); });
}

std::string name_of(const ProcId& proc) { return proc.nspace + "/" + std::to_string(proc.rank); }

}  // namespace

bool ChangeDriver::fire(ChangeEvent event) {
  const auto next = next_state(state_, event);
  if (!next) return false;
  state_ = *next;
  status_.state = state_;
  return true;
}

double ChangeDriver::milliseconds_since(TimePoint start, TimePoint now) const {
  return std::chrono::duration<double, std::milli>(now - start).count();
}

ChangeDriver::Role ChangeDriver::role(const ProcId& proc) const {
  if (joiner_ranks_.contains(proc)) return Role::Joiner;
  if (leaver_ranks_.contains(proc)) return Role::Leaver;
  return old_ranks_.contains(proc) ? Role::Stayer : Role::None;
}

std::set<std::string> ChangeDriver::old_uids() const {
  std::set<std::string> uids;
  for (const Member& m : plan_.old.members) uids.insert(m.uid);
  return uids;
}

std::set<std::string> ChangeDriver::new_uids() const {
  std::set<std::string> uids;
  for (const Member& m : plan_.add) uids.insert(m.uid);
  return uids;
}

std::set<std::string> ChangeDriver::union_uids() const {
  std::set<std::string> uids = old_uids();
  uids.merge(new_uids());
  return uids;
}

std::set<std::string> ChangeDriver::next_uids() const {
  std::set<std::string> uids = union_uids();
  for (const std::string& uid : plan_.remove) uids.erase(uid);
  return uids;
}

bool ChangeDriver::is_union_member(const std::string& uid) const {
  return active() && union_uids().contains(uid);
}

void ChangeDriver::begin(const ChangeRequest& request, const Membership& membership, const std::string& space,
                         const std::set<ProcId>& hello, TimePoint now) {
  if (state_ != State::Stable || !fire(Event::Requested)) return;
  plan_ = {};
  plan_.id = request.id;
  plan_.next = Epoch{membership.epoch.value + 1};
  plan_.old = membership;
  plan_.add = request.add;
  plan_.remove = request.remove;
  plan_.tasks = !queue_address_.empty();
  plan_.joiners.name = space;
  if (!plan_.add.empty()) {
    plan_.joiners = lay_out(space, plan_.add);
    // The dots keep one change's name from being part of another's.
    plan_.port = "empi." + std::to_string(plan_.next.value) + "." + space + "." + plan_.id + ".";
  }
  status_ = {};
  status_.request = request;
  status_.state = state_;
  status_.from_ranks = membership.ranks();
  status_.to_ranks = plan_.next_members().ranks();
  for (auto* set : {&old_ranks_, &leaver_ranks_, &joiner_ranks_, &hello_, &built_, &at_begin_, &dropped_,
                    &past_, &gone_, &left_})
    set->clear();
  lost_.clear();
  attach_ordered_ = depart_ordered_ = false;
  std::ranges::copy(ranks_of(membership.members), std::inserter(old_ranks_, old_ranks_.end()));
  std::ranges::copy(ranks_of(plan_.add), std::inserter(joiner_ranks_, joiner_ranks_.end()));
  for (const Member& m : membership.members)
    if (plan_.leaves(m.uid))
      std::ranges::copy(ranks_of(m), std::inserter(leaver_ranks_, leaver_ranks_.end()));
  hello_ = hello;
  build_ordered_ = released_ = forgotten_ = refused_ = have_rate_ = false;
  margin_ = 1;
  highest_ = 0;
  requested_ = entered_ = now;
  deadline_ = now + std::chrono::milliseconds(request.deadline_ms);
  issue(Kind::Prepare, union_uids(), now);
}

void ChangeDriver::issue(Kind kind, std::set<std::string> uids, TimePoint now) {
  DriverStep step{kind, ++number_, std::move(uids), 0, {}};
  if (kind == Kind::Arm || kind == Kind::Confirm) step.iteration = highest_ + margin_;
  // Of a master-worker program nobody shares MPI with the joiners: they are nothing to MPI's fault tolerance.
  if (kind == Kind::GiveUp && !plan_.tasks) step.dead.assign(joiner_ranks_.begin(), joiner_ranks_.end());
  if (kind == Kind::Attach) step.address = queue_address_;
  unanswered_ = kind == Kind::GiveUp ? old_uids() : step.uids;  // newcomers may not be there at all
  step_ = step;
  step_issued_ = now;
  out_.push_back(std::move(step));
  const std::size_t asked = unanswered_.size();
  for (const auto& [uid, what] : lost_) unanswered_.erase(uid);
  if (asked > 0 && unanswered_.empty()) step_complete(now);
}

std::vector<DriverStep> ChangeDriver::take_steps() { return std::exchange(out_, {}); }

void ChangeDriver::answered(std::uint64_t number, const std::string& uid, const StepAnswer& answer,
                            TimePoint now) {
  if (!active() || !step_ || number != step_->number || !unanswered_.erase(uid)) return;
  highest_ = std::max(highest_, answer.probes);
  if (!answer.ok && step_->kind == Kind::Arm) refused_ = true;
  const bool may_refuse =
      step_->kind == Kind::Prepare || step_->kind == Kind::Launch || step_->kind == Kind::Fetch;
  if (!answer.ok && may_refuse)
    return give_up(plan_.joins(uid) ? Event::JoinerLost : Event::Cancel, "pod " + uid + ": " + answer.error,
                   now);
  if (unanswered_.empty()) step_complete(now);
}

void ChangeDriver::step_complete(TimePoint now) {
  const DriverStep done = *std::exchange(step_, std::nullopt);
  switch (done.kind) {
    case Kind::Prepare:
      if (!plan_.add.empty()) issue(Kind::Launch, new_uids(), now);
      break;
    case Kind::Fetch:
      // Building begins with a collective call of all old ranks that cannot be interrupted. So all are told,
      // by a message that reaches every one of them before any GiveUp.
      build_ordered_ = true;
      issue(Kind::Build, union_uids(), now);
      break;
    case Kind::Build:
      earlier_probes_ = highest_;
      earlier_reading_ = now;
      break;
    case Kind::ReadProbes: {
      const double seconds = milliseconds_since(earlier_reading_, now) * 1e-3;
      const double round_trip = milliseconds_since(step_issued_, now) * 1e-3;
      const double rate = seconds > 0 ? static_cast<double>(highest_ - earlier_probes_) / seconds : 0;
      // Proposal and confirmation each take about a round trip; ranks that come later need not wait at all.
      margin_ = 1 + static_cast<std::uint64_t>(std::ceil(rate * 2 * round_trip));
      refused_ = false;
      issue(Kind::Arm, old_uids(), now);
      break;
    }
    case Kind::Arm:
      if (refused_) {
        refused_ = false;
        margin_ *= 2;
        issue(Kind::Arm, old_uids(), now);
      } else if (state_ == State::Ready) {
        const std::uint64_t agreed = done.iteration;
        fire(Event::Confirmed);
        status_.times.arm_ms = milliseconds_since(entered_, now);
        entered_ = now;
        issue(Kind::Confirm, union_uids(), now);
        step_->iteration = out_.back().iteration = agreed;
      }
      break;
    case Kind::Commit:
      fire(Event::RecordSpread);
      break;
    default:
      break;
  }
  advance(now);
}

void ChangeDriver::enter_building(TimePoint now) {
  status_.times.prepare_ms = milliseconds_since(requested_, now);
  entered_ = now;
  if (!plan_.tasks) issue(Kind::Fetch, union_uids(), now);
}

void ChangeDriver::advance(TimePoint now) {
  if (!active() || step_) return;
  if (plan_.tasks && (state_ == State::Building || state_ == State::Window)) return advance_tasks(now);
  switch (state_) {
    case State::Preparing:
      if (subset(joiner_ranks_, hello_, {}) && subset(old_ranks_, hello_, gone_) && fire(Event::JoinersUp)) {
        enter_building(now);
        if (plan_.tasks) advance_tasks(now);
      }
      break;
    case State::Building:
      if (subset(old_ranks_, built_, {}) && subset(joiner_ranks_, built_, {}) &&
          subset(joiner_ranks_, at_begin_, {}) && fire(Event::WorldBuilt)) {
        status_.times.build_ms = milliseconds_since(entered_, now);
        entered_ = now;
        issue(Kind::ReadProbes, old_uids(), now);
      }
      break;
    case State::Draining: {
      if (!plan_.tasks && (!subset(old_ranks_, past_, gone_) || !subset(joiner_ranks_, past_, gone_))) break;
      if (!released_ && !leaver_ranks_.empty()) {
        released_ = true;
        return issue(Kind::Release, {plan_.remove.begin(), plan_.remove.end()}, now);
      }
      if (!subset(leaver_ranks_, gone_, {})) break;
      if (!forgotten_) {
        forgotten_ = true;
        return issue(Kind::Forget, next_uids(), now);
      }
      fire(Event::LeaversGone);
      status_.times.drain_ms = milliseconds_since(entered_, now);
      status_.outcome = "committed";
      status_.released = plan_.remove;
      break;
    }
    case State::RollingBack: {
      const bool dropped = !build_ordered_ || subset(old_ranks_, dropped_, gone_);
      if (!dropped && !forgotten_ && now < rollback_until_) break;
      if (!forgotten_) {
        forgotten_ = true;
        return issue(Kind::Forget, old_uids(), now);
      }
      fire(Event::RolledBack);
      status_.outcome = "rolled back";
      break;
    }
    default:
      break;
  }
}

// Whom a change that is late waits for, in words.
std::string ChangeDriver::missing() const {
  const auto first_without = [](const std::set<ProcId>& all, const std::set<ProcId>& done) -> std::string {
    for (const ProcId& proc : all)
      if (!done.contains(proc)) return name_of(proc);
    return "";
  };
  if (state_ == State::Preparing) {
    if (step_ && !unanswered_.empty()) return ": pod " + *unanswered_.begin() + " has not answered";
    if (const auto rank = first_without(old_ranks_, hello_); !rank.empty())
      return ": rank " + rank + " has not called MPI_Init_adapt (was it linked with libelastic_mpi?)";
    if (const auto rank = first_without(joiner_ranks_, hello_); !rank.empty())
      return ": joining rank " + rank + " is not past MPI_Init";
  }
  if (state_ == State::Building) {
    std::set<ProcId> all = old_ranks_;
    all.insert(joiner_ranks_.begin(), joiner_ranks_.end());
    if (const auto rank = first_without(all, built_); !rank.empty())
      return ": rank " + rank + " has not built the next world";
    if (const auto rank = first_without(joiner_ranks_, at_begin_); !rank.empty())
      return ": joining rank " + rank + " is not in MPI_Comm_adapt_begin";
  }
  return "";
}

void ChangeDriver::give_up(ChangeEvent event, const std::string& reason, TimePoint now) {
  const State before = state_;
  if (!fire(event) || state_ != State::RollingBack || before == State::RollingBack) return;
  status_.reason = reason;
  rollback_until_ = now + kRollbackPatience;
  issue(Kind::GiveUp, union_uids(), now);
}

void ChangeDriver::fail(ChangeEvent event, const std::string& reason) {
  const State before = state_;
  if (!fire(event) || state_ != State::Failed || before == State::Failed) return;
  status_.outcome = "failed";
  status_.reason = reason;
}

void ChangeDriver::enter_committed(TimePoint now) {
  entered_ = now;
  issue(Kind::Commit, union_uids(), now);
}

void ChangeDriver::on_built(const RankReport& report, TimePoint now) {
  if (report.ok) {
    built_.insert(report.proc);
  } else {
    dropped_.insert(report.proc);
    if (state_ == State::Building || state_ == State::Ready || state_ == State::Preparing)
      give_up(role(report.proc) == Role::Joiner ? Event::JoinerLost : Event::Cancel,
              "rank " + name_of(report.proc) + " could not build the next world: " + report.error, now);
  }
}

void ChangeDriver::on_agreed(const RankReport& report, TimePoint now) {
  ChangeTimes& t = status_.times;
  t.wait_ms = std::max(t.wait_ms, report.wait_ms);
  t.pause_ms = std::max(t.pause_ms, report.pause_ms);
  t.redistribute_ms = std::max(t.redistribute_ms, report.redistribute_ms);
  if (!report.ok) {
    dropped_.insert(report.proc);
    // Old ranks disagree when all of them have voted. A joiner may say so while others are still on their way
    // to the window, where its vote is counted: they must not be called back.
    if (state_ == State::Window && role(report.proc) != Role::Joiner)
      give_up(Event::Disagreed, "rank " + name_of(report.proc) + " did not agree: " + report.error, now);
  } else if (state_ == State::Window && fire(Event::Agreed)) {
    enter_committed(now);
  }
}

void ChangeDriver::rank_finalizes(const RankReport& report, TimePoint now) {
  const std::string rank = "rank " + name_of(report.proc);
  if (plan_.tasks && state_ == State::Window) {
    left_.insert(report.proc);  // the program ends before it was asked to leave
  } else if (role(report.proc) == Role::Joiner) {
    give_up(Event::JoinerLost, rank + " finalised instead of joining", now);
  } else if (state_ == State::Window) {
    give_up(Event::Disagreed, rank + " left its loop before the agreed iteration", now);
  } else {
    give_up(Event::JobEnding, "the job is ending: " + rank + " finalises", now);
  }
}

void ChangeDriver::reported(const RankReport& report, TimePoint now) {
  const Role who = role(report.proc);
  if (!active() || who == Role::None) return;
  const bool ours = report.change == plan_.id;
  switch (report.kind) {
    case RankReport::Kind::Hello:
      hello_.insert(report.proc);
      plan_.tasks = plan_.tasks || report.tasks;
      break;
    case RankReport::Kind::Queue:
    case RankReport::Kind::WorldDropped:
      break;
    case RankReport::Kind::Built:
      if (ours) on_built(report, now);
      break;
    case RankReport::Kind::AtBegin:
      if (ours) at_begin_.insert(report.proc);
      break;
    case RankReport::Kind::Agreed:
      if (ours && plan_.tasks)
        left_.insert(report.proc);
      else if (ours)
        on_agreed(report, now);
      break;
    case RankReport::Kind::Past:
      if (ours) past_.insert(report.proc);
      break;
    case RankReport::Kind::Finalizing:
      rank_finalizes(report, now);
      break;
    case RankReport::Kind::Finalized:
      dropped_.insert(report.proc);
      past_.insert(report.proc);
      break;
    case RankReport::Kind::Adapted:  // after the end it goes to the history
      if (ours) status_.times.lost_ms = std::max(status_.times.lost_ms, report.lost_ms);
      break;
  }
  advance(now);
}

void ChangeDriver::rank_exited(const ProcId& proc, bool clean, const std::string& what, TimePoint now) {
  const Role who = role(proc);
  if (!active() || who == Role::None) return;
  gone_.insert(proc);
  if (plan_.tasks) return tasks_rank_exited(proc, clean, what, now);
  const bool committed = state_ == State::Committed || state_ == State::Draining;
  const bool may_go = clean || (who == Role::Leaver && released_);
  if (committed && may_go) return advance(now);
  if (who == Role::Joiner) {
    if (state_ == State::Window) {
      DriverStep interrupt{Kind::Interrupt, ++number_, union_uids(), 0, {proc}};
      out_.push_back(std::move(interrupt));
    } else if (committed) {
      fail(Event::JoinerLost, what);
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
  const bool all_gone = std::ranges::all_of(ranks, [&](const ProcId& p) { return gone_.contains(p); });
  if (plan_.tasks) {
    for (const ProcId& proc : ranks)
      if (!gone_.contains(proc)) rank_exited(proc, false, what, now);
    lost_.try_emplace(uid, what);
  } else if (!(plan_.leaves(uid) && released_ && all_gone)) {
    return fail(Event::MemberLost, what);
  }
  answered_by_nobody(uid, now);
}

void ChangeDriver::answered_by_nobody(const std::string& uid, TimePoint now) {
  unanswered_.erase(uid);
  if (step_ && unanswered_.empty()) step_complete(now);
}

void ChangeDriver::cancel(const std::string& reason, TimePoint now) {
  if (active()) give_up(Event::Cancel, reason, now);
}

void ChangeDriver::tick(TimePoint now) {
  if (!active()) return;
  if (now >= deadline_)
    give_up(Event::Deadline,
            "not ready after " + std::to_string(status_.request.deadline_ms) + " ms, in state " +
                std::string(to_string(state_)) + missing(),
            now);
  if (state_ == State::RollingBack && now >= rollback_until_ && step_) step_complete(now);
  advance(now);
}

}  // namespace empi::agent
