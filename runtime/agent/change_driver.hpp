// The lead's side of a change, as a pure state machine: what happened comes in, steps for the agents come
// out. It moves through THE table (next_state in runtime/protocol/change.hpp) and nowhere else.
#pragma once
#include <chrono>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/agent/namespaces.hpp"
#include "runtime/protocol/change.hpp"
#include "runtime/protocol/membership.hpp"
#include "runtime/protocol/rank_messages.hpp"

namespace empi::agent {

// What every agent of the union has to know about a change.
struct ChangePlan {
  std::string id;
  Epoch next;                       // the epoch that a commit makes
  std::string port;                 // name for accept and connect; "" when nobody joins
  Membership old;                   // membership before
  std::vector<Member> add;          // with namespace and first rank
  std::vector<std::string> remove;  // pod uids
  Namespace joiners;                // without nodes when nobody joins
  bool tasks = false;               // of a master-worker program: no world is built, nobody stops

  Membership next_members() const { return next_membership(old, add, remove); }
  bool leaves(const std::string& uid) const;
  bool joins(const std::string& uid) const;
  int staying_ranks() const, leaving_ranks() const, joining_ranks() const;
};
void to_json(nlohmann::json& j, const ChangePlan& plan);
void from_json(const nlohmann::json& j, ChangePlan& plan);

// Ranks of a pod.
std::vector<ProcId> ranks_of(const Member& member);
std::vector<ProcId> ranks_of(const std::vector<Member>& members);

// Something that agents are to do. All but Interrupt are answered by every one of `uids` (StepAnswer).
struct DriverStep {
  enum class Kind {
    Prepare,     // get to know the plan; newcomers the job as well
    Launch,      // newcomers start their ranks
    Fetch,       // get the other side's connection data, so that building needs no agent of a dead joiner
    Build,       // order the ranks to build the next world
    ReadProbes,  // answer with the highest probe count
    Arm,         // propose `iteration`
    Confirm,     // `iteration` holds: adapt there
    Interrupt,   // in the window: tell the ranks of dead joiners, so that the agreement fails
    GiveUp,      // disarm, cancel, forget the plan; newcomers kill their ranks
    Commit,      // the new membership
    Release,     // leavers may go
    Forget,      // drop namespaces without living ranks
    Attach,      // of a master-worker program: joiners become workers of the queue at `address`
    Depart,      // of a master-worker program: leavers leave when their task is done
  };
  Kind kind = Kind::Prepare;
  std::uint64_t number = 0;  // of this step, to be repeated in the answer
  std::set<std::string> uids;
  std::uint64_t iteration = 0;  // Arm, Confirm
  std::vector<ProcId> dead;     // Interrupt, GiveUp: joiners that are gone or will be
  std::string address = {};     // Attach
};
std::string_view to_string(DriverStep::Kind kind);
std::optional<DriverStep::Kind> step_kind_from(std::string_view text);

struct StepAnswer {
  bool ok = true;            // Arm: false when a rank was past the iteration already
  std::uint64_t probes = 0;  // ReadProbes, Arm: highest count
  std::string error = {};
};

class ChangeDriver {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  bool active() const { return state_ != ChangeState::Stable && state_ != ChangeState::Failed; }
  ChangeState state() const { return state_; }
  const ChangePlan& plan() const { return plan_; }
  const ChangeStatus& status() const { return status_; }
  bool is_union_member(const std::string& uid) const;

  // `space`: name for the joiners' namespace; `hello`: old ranks that are past MPI_Init already. Only when
  // not active().
  void begin(const ChangeRequest& request, const Membership& membership, const std::string& space,
             const std::set<ProcId>& hello, TimePoint now);
  void answered(std::uint64_t number, const std::string& uid, const StepAnswer& answer, TimePoint now);
  void reported(const RankReport& report, TimePoint now);
  // A rank of the union has ended. `clean`: exit code 0, or its MPI was finalised.
  void rank_exited(const ProcId& proc, bool clean, const std::string& what, TimePoint now);
  void pod_lost(const std::string& uid, const std::string& what, TimePoint now);
  void cancel(const std::string& reason, TimePoint now);
  void tick(TimePoint now);  // deadlines
  // Of a master-worker program: where its queue is. The loss of a member does not end its changes; whoever
  // asks `lost` when the change is over drops those from the membership.
  void are_gone(const std::set<ProcId>& ranks) { gone_.insert(ranks.begin(), ranks.end()); }  // long ago
  void queue_is_at(const std::string& address, TimePoint now);
  bool has_left(const ProcId& proc) const { return left_.contains(proc); }
  const std::map<std::string, std::string>& lost() const { return lost_; }  // uid -> what happened

  // Steps since the last call, in order.
  std::vector<DriverStep> take_steps();

 private:
  enum class Role { None, Stayer, Leaver, Joiner };
  bool fire(ChangeEvent event);  // false: the table refuses it
  void enter_building(TimePoint now);
  void enter_committed(TimePoint now);
  void give_up(ChangeEvent event, const std::string& reason, TimePoint now);
  std::string missing() const;
  void fail(ChangeEvent event, const std::string& reason);
  void on_built(const RankReport& report, TimePoint now);
  void on_agreed(const RankReport& report, TimePoint now);
  void step_complete(TimePoint now);
  void answered_by_nobody(const std::string& uid, TimePoint now);
  void advance(TimePoint now);  // whatever has become possible
  void advance_tasks(TimePoint now);
  void rank_finalizes(const RankReport& report, TimePoint now);
  void tasks_rank_exited(const ProcId& proc, bool clean, const std::string& what, TimePoint now);
  std::string pod_of(const ProcId& proc) const;
  void issue(DriverStep::Kind kind, std::set<std::string> uids, TimePoint now);
  Role role(const ProcId& proc) const;
  std::set<std::string> old_uids() const, new_uids() const, union_uids() const, next_uids() const;
  double milliseconds_since(TimePoint start, TimePoint now) const;

  ChangeState state_ = ChangeState::Stable;
  ChangePlan plan_;
  ChangeStatus status_;
  std::set<ProcId> old_ranks_, leaver_ranks_, joiner_ranks_;
  TimePoint requested_, entered_, deadline_, rollback_until_;

  // The step in hand.
  std::uint64_t number_ = 0;
  std::optional<DriverStep> step_;
  std::set<std::string> unanswered_;
  TimePoint step_issued_;
  std::vector<DriverStep> out_;

  std::set<ProcId> hello_, built_, at_begin_, dropped_, past_, gone_;
  // Of a master-worker program.
  std::set<ProcId> left_;
  std::map<std::string, std::string> lost_;
  std::string queue_address_;
  bool attach_ordered_ = false, depart_ordered_ = false;
  bool build_ordered_ = false, released_ = false, forgotten_ = false;
  std::uint64_t highest_ = 0, margin_ = 1;
  bool refused_ = false;
  std::uint64_t earlier_probes_ = 0;  // at the first reading, for the rate
  TimePoint earlier_reading_;
  bool have_rate_ = false;
};

}  // namespace empi::agent
