// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/change_driver.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "runtime/agent/lead/history_hooks.hpp"

namespace empi::agent {
namespace {

using Kind = DriverStep::Kind;
using State = ChangeState;
using Event = ChangeEvent;

// From then on a change whose first deadline nobody knows is late.
constexpr std::chrono::seconds kResumed{60};

auto in(const std::set<ProcId>& ranks) {
  return [&](const ProcId& p) { return ranks.contains(p); };
}
auto in_one_of(const std::set<ProcId>& a, const std::set<ProcId>& b) {
  return [&](const ProcId& p) { return a.contains(p) || b.contains(p); };
}

}  // namespace

bool ChangeDriver::try_move(Event event, State to) {
  note_met(state_, event);
  if (state_ == to || next_state(state_, event) != to) return false;
  status_.state = state_ = to;
  return true;
}

bool ChangeDriver::committed() const { return state_ == State::Committed || state_ == State::Draining; }

// Of a master-worker program it has the queue in the window, which nothing leads back from.
bool ChangeDriver::joined() const { return committed() || (plan_.tasks && state_ == State::Window); }

double ChangeDriver::milliseconds_since(TimePoint start, TimePoint now) const {
  return std::chrono::duration<double, std::milli>(now - start).count();
}

ChangeDriver::Role ChangeDriver::role(const ProcId& proc) const {
  if (joiner_ranks_.contains(proc)) return joined() && !put_back(OldFault::B2) ? Role::Stayer : Role::Joiner;
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
  return active() && (plan_.old.find(uid) || plan_.joins(uid));
}

void ChangeDriver::begin(const ChangeRequest& request, const Membership& membership, const std::string& space,
                         JobFacts facts, TimePoint now) {
  if (!try_move(Event::Requested, State::Preparing)) return;
  plan_ = {};
  plan_.id = request.id;
  plan_.next = Epoch{membership.epoch.value + 1};
  plan_.old = membership;
  plan_.add = request.add;
  plan_.remove = request.remove;
  plan_.tasks = facts.tasks || !queue_address_.empty();
  plan_.joiners.name = space;
  if (!plan_.add.empty()) {
    plan_.joiners = lay_out(space, plan_.add);
    // The dots keep one change's name from being part of another's.
    plan_.port = "empi." + std::to_string(plan_.next.value) + "." + space + "." + plan_.id + ".";
  }
  forget_earlier(request, std::move(facts), now);
  issue(Kind::Prepare, union_uids(), now);
}

// All but the plan.
void ChangeDriver::forget_earlier(const ChangeRequest& request, JobFacts facts, TimePoint now) {
  status_ = {};
  status_.request = request;
  status_.state = state_;
  status_.from_ranks = plan_.old.ranks();
  status_.to_ranks = plan_.next_members().ranks();
  for (auto* set : {&old_ranks_, &leaver_ranks_, &joiner_ranks_, &hello_, &built_, &at_begin_, &dropped_,
                    &past_, &finalising_, &gone_, &left_, &ended_})
    set->clear();
  progress_ = {};
  lost_.clear();
  gone_pods_.clear();
  interrupted_.reset();
  joiner_lost_.clear();
  overdue_.clear();
  terminated_.clear();
  attach_ordered_ = depart_ordered_ = false;
  not_departing_.clear();
  std::ranges::copy(ranks_of(plan_.old.members), std::inserter(old_ranks_, old_ranks_.end()));
  std::ranges::copy(ranks_of(plan_.add), std::inserter(joiner_ranks_, joiner_ranks_.end()));
  std::ranges::copy(ranks_of(plan_.leavers()), std::inserter(leaver_ranks_, leaver_ranks_.end()));
  remember_pods();
  hello_ = std::move(facts.hello);
  leaver_grace_ = facts.leaver_grace;
  probe_ = facts.probe;
  build_ordered_ = released_ = forgotten_ = refused_ = have_rate_ = false;
  margin_ = 1;
  highest_ = 0;
  agreement_ = {};
  requested_ = entered_ = now;
  deadline_ = now + std::chrono::milliseconds(request.deadline_ms);
}

// The only way into a state beside the table: this driver was not there when the change came to it.
void ChangeDriver::resume(const ChangePlan& plan, State state, std::uint64_t iteration, JobFacts facts,
                          const std::set<ProcId>& ended, TimePoint now) {
  plan_ = plan;
  plan_.tasks = plan.tasks || facts.tasks;
  state_ = state == State::Draining ? State::Committed : state;  // not all may have heard of the commit
  ChangeRequest request;
  request.id = plan.id;
  request.epoch = plan.old.epoch;
  request.add = plan.add;
  request.remove = plan.remove;
  request.deadline_ms = std::chrono::milliseconds(kResumed).count();
  forget_earlier(request, std::move(facts), now);
  gone_ = ended;
  build_ordered_ = state != State::Preparing && !plan_.tasks;
  switch (state) {
    case State::Window:  // a rank that has armed and hears nothing ends the job
      issue(Kind::Confirm, union_uids(), now);
      step_->iteration = out_.back().iteration = iteration;
      break;
    case State::Committed:
    case State::Draining:
      issue(Kind::Commit, union_uids(), now);
      break;
    case State::RollingBack:
      roll_back("the lead was lost before the change was certain", now);
      break;
    case State::Preparing:  // of leavers of a queue: not all may have heard of it
      if (plan_.tasks) issue(Kind::Prepare, union_uids(), now);
      break;
    default:  // whoever resumes it knows of a member that is lost
      break;
  }
}

void ChangeDriver::issue(Kind kind, std::set<std::string> uids, TimePoint now) {
  DriverStep step{kind, ++number_, std::move(uids), 0, {}};
  if (kind == Kind::Arm || kind == Kind::Confirm) step.iteration = highest_ + margin_;
  // Of a master-worker program nobody shares MPI with the joiners: they are nothing to MPI's fault tolerance.
  if (kind == Kind::GiveUp && !plan_.tasks) step.dead.assign(joiner_ranks_.begin(), joiner_ranks_.end());
  if (kind == Kind::ReadProbes) marks_.clear();
  if (kind == Kind::Arm) step.joiners_precede = agreement_.match == ProbeMatch::Precedes;
  if (kind == Kind::Attach) step.address = queue_address_;
  step.state = state_;
  unanswered_ = kind == Kind::GiveUp ? old_uids() : step.uids;  // newcomers may not be there at all
  step_ = step;
  step_issued_ = now;
  out_.push_back(std::move(step));
  const std::size_t asked = unanswered_.size();
  for (const std::string& uid : gone_pods_) unanswered_.erase(uid);
  if (asked > 0 && unanswered_.empty()) step_complete(now);
}

std::vector<DriverStep> ChangeDriver::take_steps() { return std::exchange(out_, {}); }

void ChangeDriver::answered(std::uint64_t number, const std::string& uid, const StepAnswer& answer,
                            TimePoint now) {
  if (!active() || !step_ || number != step_->number || !unanswered_.erase(uid)) return;
  highest_ = std::max(highest_, answer.probes);
  for (const ProbeMark& mark : answer.marks) add_mark(marks_, mark);
  if (!answer.ok && step_->kind == Kind::Arm) refused_ = true;
  // A rank that never hears of a departure never departs, and it cannot be called back.
  if (!answer.ok && step_->kind == Kind::Depart)
    status_.reason = not_departing_ = "pod " + uid + ": " + answer.error;
  const bool may_refuse = step_->kind == Kind::Prepare || step_->kind == Kind::Launch ||
                          step_->kind == Kind::Fetch || step_->kind == Kind::Build ||
                          step_->kind == Kind::Attach;
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
    case Kind::ReadProbes:
      propose(now);
      break;
    case Kind::Arm:
      if (refused_) {
        refused_ = false;
        margin_ *= 2;
        issue(Kind::Arm, old_uids(), now);
      } else if (try_move(Event::Confirmed, State::Window)) {
        const std::uint64_t agreed = done.iteration;
        status_.times.arm_ms = milliseconds_since(entered_, now);
        entered_ = now;
        issue(Kind::Confirm, union_uids(), now);
        step_->iteration = out_.back().iteration = agreed;
      }
      break;
    case Kind::Commit:
      try_move(Event::RecordSpread, State::Draining);
      break;
    default:
      break;
  }
  advance(now);
}

// Proposes an iteration, if the ranks count their probes alike (R2'); else `tick` has them read again.
void ChangeDriver::propose(TimePoint now) {
  if (state_ != State::Ready) return;
  agreement_ = agree_on_probes(marks_);
  if (agreement_.match == ProbeMatch::Mismatch) return give_up(Event::ProbesDoNotMatch, agreement_.why, now);
  if (agreement_.match == ProbeMatch::Unknown || agreement_.match == ProbeMatch::Doubtful) return;
  const double seconds = milliseconds_since(earlier_reading_, now) * 1e-3;
  const double round_trip = milliseconds_since(step_issued_, now) * 1e-3;
  const double rate = seconds > 0 ? static_cast<double>(highest_ - earlier_probes_) / seconds : 0;
  // Proposal and confirmation each take about a round trip; ranks that come later need not wait at all.
  margin_ = 1 + static_cast<std::uint64_t>(std::ceil(rate * 2 * round_trip));
  refused_ = false;
  issue(Kind::Arm, old_uids(), now);
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
      if (progress_.joiners_up.all(joiner_ranks_, in(hello_)) &&
          progress_.old_up.all(old_ranks_, in_one_of(hello_, gone_)) &&
          try_move(Event::JoinersUp, State::Building)) {
        enter_building(now);
        if (plan_.tasks) advance_tasks(now);
      }
      break;
    case State::Building:
      if (progress_.old_built.all(old_ranks_, in(built_)) &&
          progress_.joiners_built.all(joiner_ranks_, in(built_)) &&
          progress_.joiners_begin.all(joiner_ranks_, in(at_begin_)) &&
          try_move(Event::WorldBuilt, State::Ready)) {
        status_.times.build_ms = milliseconds_since(entered_, now);
        entered_ = now;
        issue(Kind::ReadProbes, old_uids(), now);
      }
      break;
    case State::Draining: {
      const auto is_past = in_one_of(past_, gone_);
      if (!plan_.tasks && (!progress_.old_past.all(old_ranks_, is_past) ||
                           !progress_.joiners_past.all(joiner_ranks_, is_past)))
        break;
      if (!released_ && !forgotten_) status_.reason.clear();  // that it was late
      if (!released_ && !leaver_ranks_.empty()) {
        released_ = true;
        released_at_ = now;
        return issue(Kind::Release, {plan_.remove.begin(), plan_.remove.end()}, now);
      }
      if (!progress_.leavers_gone.all(leaver_ranks_, in(gone_))) break;
      if (!forgotten_) {
        forgotten_ = true;
        return issue(Kind::Forget, next_uids(), now);
      }
      try_move(Event::LeaversGone, State::Stable);
      status_.times.drain_ms = milliseconds_since(entered_, now);
      status_.outcome = ChangeOutcome::Committed;
      status_.released = plan_.remove;
      break;
    }
    case State::RollingBack: {
      const bool dropped =
          !build_ordered_ || progress_.old_dropped.all(old_ranks_, in_one_of(dropped_, gone_));
      if (!dropped && !forgotten_ && now < rollback_until_) break;
      if (!forgotten_) {
        forgotten_ = true;
        return issue(Kind::Forget, old_uids(), now);
      }
      try_move(Event::RolledBack, State::Stable);
      status_.outcome = ChangeOutcome::RolledBack;
      break;
    }
    default:
      break;
  }
}

void ChangeDriver::enter_committed(TimePoint now) {
  entered_ = now;
  status_.reason.clear();  // that it was late
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

// Old ranks are of one mind unless one of them dies while they vote. Then the first one that is heard
// decides: all that stay go back to their copies, which side they were on is nothing to them. A joiner that
// was told no has given up, a leaver that was told yes has none of its data any more: these pods go, too.
void ChangeDriver::on_other_mind(const ProcId& proc, bool yes, TimePoint now) {
  dropped_.insert(proc);
  past_.insert(proc);  // of what it shared it uses nothing any more, or meets an error in it
  if (yes ? leaver_ranks_.contains(proc) : joiner_ranks_.contains(proc))
    member_down(pod_of(proc),
                "rank " + name_of(proc) + (yes ? " has left" : " has given up") +
                    " by a vote that was split by a loss",
                now);
}

void ChangeDriver::on_agreed(const RankReport& report, TimePoint now) {
  const bool decided = committed() || state_ == State::RollingBack;
  if (decided && report.ok != committed()) return on_other_mind(report.proc, report.ok, now);
  ChangeTimes& t = status_.times;
  t.wait_ms = std::max(t.wait_ms, report.wait_ms);
  t.pause_ms = std::max(t.pause_ms, report.pause_ms);
  t.redistribute_ms = std::max(t.redistribute_ms, report.redistribute_ms);
  status_.moved_bytes += report.bytes;
  if (!report.ok) {
    dropped_.insert(report.proc);
    // Old ranks disagree when all of them have voted. A joiner may say so while others are still on their way
    // to the window, where its vote is counted: they must not be called back.
    if (state_ != State::Window || role(report.proc) == Role::Joiner) return;
    const auto interrupted = interrupted_;
    give_up(Event::Disagreed,
            interrupted ? interrupted->reason
                        : "rank " + name_of(report.proc) + " did not agree: " + report.error,
            now);
    if (interrupted) status_.ended_by = interrupted->by;
  } else if (try_move(Event::Agreed, State::Committed)) {
    // A joiner that was lost after its vote is a member that is lost.
    if (!joiner_lost_.empty() && !put_back(OldFault::B5)) return fail(Event::JoinerLost, joiner_lost_);
    enter_committed(now);
    for (const ProcId& proc : joiner_ranks_)
      if (dropped_.contains(proc)) on_other_mind(proc, false, now);
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
    case RankReport::Kind::Ready:  // its agent answers for all its ranks
    case RankReport::Kind::Queue:
    case RankReport::Kind::WorldDropped:
    case RankReport::Kind::Checkpoint:
    case RankReport::Kind::Recoverable:
    case RankReport::Kind::Recovered:
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

}  // namespace empi::agent
