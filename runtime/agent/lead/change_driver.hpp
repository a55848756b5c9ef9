// SPDX-License-Identifier: Apache-2.0
// The lead's side of a change, as a pure state machine: what happened comes in, steps for the agents come
// out. It moves through THE table (next_state in runtime/protocol/change.hpp) and nowhere else.
#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/agent/lead/awaited.hpp"
#include "runtime/protocol/change.hpp"
#include "runtime/protocol/change_plan.hpp"
#include "runtime/protocol/membership.hpp"
#include "runtime/protocol/probe_marks.hpp"
#include "runtime/protocol/rank_messages.hpp"
#include "runtime/protocol/start.hpp"

namespace empi::agent {

// How long a rolled back change waits for ranks to report that they have dropped the attempt. A rank whose
// helper thread never comes back reports too (it parks the helper), so this is a last resort.
inline constexpr std::chrono::seconds kRollbackPatience{30};

// Something that agents are to do (runtime/protocol/change_plan.hpp).
struct DriverStep {
  using Kind = StepKind;
  Kind kind = Kind::Prepare;
  std::uint64_t number = 0;  // of this step, to be repeated in the answer
  std::set<std::string> uids;
  std::uint64_t iteration = 0;       // Arm, Confirm
  std::vector<ProcId> dead;          // Interrupt, GiveUp: joiners that are gone or will be
  std::string address = {};          // Attach
  bool joiners_precede = false;      // Arm: whoever joined by the last change has made a probe more (R2')
  std::vector<ProcId> leavers = {};  // Terminate, Kill
  // In which the driver was. It may be further on when the step is taken: where nobody is left to answer.
  ChangeState state = ChangeState::Stable;
};
// What the lead knows of the job when a change begins.
struct JobFacts {
  std::set<ProcId> hello = {};  // old ranks that are past MPI_Init already
  bool tasks = false;  // a master-worker program, by what its ranks say: its queue may not be there yet
  std::chrono::seconds leaver_grace = kLeaverGrace;
  ProbeMode probe = ProbeMode::All;
};

class ChangeDriver {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  bool active() const { return is_in_flight(state_); }
  ChangeState state() const { return state_; }
  const ChangePlan& plan() const { return plan_; }
  const ChangeStatus& status() const { return status_; }
  bool is_union_member(const std::string& uid) const;

  // `space`: name for the joiners' namespace. Only when not active().
  void begin(const ChangeRequest& request, const Membership& membership, const std::string& space,
             JobFacts facts, TimePoint now);
  // Of a change that a lead which is lost had in hand (R20), as one pod knows it, from `state` on;
  // `iteration` is that of Confirm, `ended` are ranks that have. What ranks have reported of it is to be told
  // again.
  void resume(const ChangePlan& plan, ChangeState state, std::uint64_t iteration, JobFacts facts,
              const std::set<ProcId>& ended, TimePoint now);
  void answered(std::uint64_t number, const std::string& uid, const StepAnswer& answer, TimePoint now);
  void reported(const RankReport& report, TimePoint now);
  // A rank of the union has ended. `clean`: exit code 0, or its MPI was finalised.
  void rank_exited(const ProcId& proc, bool clean, const std::string& what, TimePoint now);
  void pod_lost(const std::string& uid, const std::string& what, TimePoint now);
  // All of a pod whose loss the job survives (R18): it is dropped when the change is over. A joiner's in the
  // window, too: only if it has become a member by then.
  void member_down(const std::string& uid, const std::string& what, TimePoint now);
  void cancel(const std::string& reason, TimePoint now);
  void tick(TimePoint now);  // deadlines
  // Neither a joiner that is no member yet, nor a leaver that may go.
  bool counts_as_member(const ProcId& proc) const;
  // Or will be one, if the vote that is under way holds.
  bool may_be_member(const ProcId& proc) const {
    return counts_as_member(proc) ||
           (!plan_.tasks && state_ == ChangeState::Window && joiner_ranks_.contains(proc));
  }
  // Of a master-worker program: where its queue is. The loss of a member does not end its changes; whoever
  // asks `lost` when the change is over drops those from the membership.
  void mark_lost(const std::set<ProcId>& ranks) { gone_.insert(ranks.begin(), ranks.end()); }  // long ago
  void queue_is_lost() { queue_address_.clear(); }  // joiners wait for who takes it over
  void queue_is_at(const std::string& address, TimePoint now);
  bool has_left(const ProcId& proc) const { return left_.contains(proc) && !ended_.contains(proc); }
  // It works by now, and nothing calls it back: what becomes of it becomes of a member.
  bool has_joined(const ProcId& proc) const { return active() && joined() && joiner_ranks_.contains(proc); }
  // It came to the end of the program before it was told to leave: its end is that of a member.
  bool has_ended(const ProcId& proc) const { return active() && ended_.contains(proc); }
  bool awaits_an_end() const;                                               // of one of these
  const std::map<std::string, std::string>& lost() const { return lost_; }  // uid -> what happened

  // Steps since the last call, in order.
  std::vector<DriverStep> take_steps();

 private:
  enum class Role { None, Stayer, Leaver, Joiner };
  // Moves to `to` when that is where the table leads by `event`. Whether it has.
  bool try_move(ChangeEvent event, ChangeState to);
  void forget_earlier(const ChangeRequest& request, JobFacts facts, TimePoint now);
  bool committed() const;
  bool joined() const;  // a joiner is a member from here on
  void enter_building(TimePoint now);
  void enter_committed(TimePoint now);
  void propose(TimePoint now);
  void give_up(ChangeEvent event, const std::string& reason, TimePoint now);
  void roll_back(const std::string& reason, TimePoint now);
  std::string missing() const;
  void past_deadline(TimePoint now);
  void see_off_leavers(TimePoint now);
  void fail(ChangeEvent event, const std::string& reason);
  // In the window: whoever has not voted yet votes no. The ranks' agreement decides all the same.
  void interrupt(ChangeEvent by, const std::string& reason, std::vector<ProcId> dead);
  void on_built(const RankReport& report, TimePoint now);
  void on_agreed(const RankReport& report, TimePoint now);
  void on_other_mind(const ProcId& proc, bool yes, TimePoint now);
  void step_complete(TimePoint now);
  void answered_by_nobody(const std::string& uid, TimePoint now);
  void advance(TimePoint now);  // whatever has become possible
  void advance_tasks(TimePoint now);
  void rank_finalizes(const RankReport& report, TimePoint now);
  void tasks_rank_exited(const ProcId& proc, bool clean, const std::string& what, TimePoint now);
  std::string pod_of(const ProcId& proc) const;
  void remember_pods();
  void issue(DriverStep::Kind kind, std::set<std::string> uids, TimePoint now);
  Role role(const ProcId& proc) const;
  std::set<std::string> old_uids() const, new_uids() const, union_uids() const, next_uids() const;
  double milliseconds_since(TimePoint start, TimePoint now) const;

  ChangeState state_ = ChangeState::Stable;
  ChangePlan plan_;
  ChangeStatus status_;
  std::set<ProcId> old_ranks_, leaver_ranks_, joiner_ranks_;
  struct Host {
    std::string uid;
    std::uint32_t count = 0;  // of ranks
  };
  std::map<ProcId, Host> pods_;  // of the union, by their first ranks
  TimePoint requested_, entered_, deadline_, rollback_until_, released_at_;
  std::chrono::seconds leaver_grace_ = kLeaverGrace;

  // The step in hand.
  std::uint64_t number_ = 0;
  std::optional<DriverStep> step_;
  std::set<std::string> unanswered_;
  std::set<std::string> gone_pods_;  // nobody waits for their answers; `lost_` ones may only have lost a rank
  TimePoint step_issued_;
  std::vector<DriverStep> out_;

  std::set<ProcId> hello_, built_, at_begin_, dropped_, past_, finalising_, gone_;
  // Of the window: why it was interrupted first, and what became of a joiner that is not there any more.
  struct Interruption {
    ChangeEvent by = ChangeEvent::Deadline;
    std::string reason;
  };
  std::optional<Interruption> interrupted_;
  std::string joiner_lost_;
  // Leavers that did not go by themselves.
  struct Overdue {
    ProcId rank;
    std::string what;
    TimePoint since;
    bool killed = false;
  };
  std::vector<Overdue> overdue_;
  std::set<ProcId> terminated_;  // the ranks of these
  // What all of some ranks must have come to, as far as it was found out.
  struct Progress {
    Awaited old_up, joiners_up, old_built, joiners_built, joiners_begin, old_past, joiners_past, leavers_gone,
        old_dropped, joiners_attached, leavers_left;
  };
  Progress progress_;
  // Of a master-worker program.
  std::set<ProcId> left_;
  std::set<ProcId> ended_;  // of these: because the program ends
  std::map<std::string, std::string> lost_;
  std::string queue_address_;
  bool attach_ordered_ = false, depart_ordered_ = false;
  std::string not_departing_;  // which leaver could not be told to, and why
  bool build_ordered_ = false, released_ = false, forgotten_ = false;
  std::uint64_t highest_ = 0, margin_ = 1;
  bool refused_ = false;
  std::vector<ProbeMark> marks_;  // of the last reading
  ProbeAgreement agreement_;      // by it
  ProbeMode probe_ = ProbeMode::All;
  std::uint64_t earlier_probes_ = 0;  // at the first reading, for the rate
  TimePoint earlier_reading_;
  bool have_rate_ = false;
};

}  // namespace empi::agent
