// SPDX-License-Identifier: Apache-2.0
// A change as its lead plans it, and the steps by which the agents of the union carry it out.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/protocol/membership.hpp"
#include "runtime/protocol/namespaces.hpp"
#include "runtime/protocol/probe_marks.hpp"

namespace empi {

// A change, for whoever knows the membership before it.
struct PlannedChange {
  std::string id;
  Epoch next;                       // the epoch that a commit makes
  std::string port;                 // name for accept and connect; "" when nobody joins
  std::vector<Member> add;          // with namespace and first rank
  std::vector<std::string> remove;  // pod uids
  bool tasks = false;               // of a master-worker program: no world is built, nobody stops

  static void describe(auto& m, auto&& field) {
    field("id", m.id);
    field("next", m.next);
    field("port", m.port);
    field("add", m.add);
    field("remove", m.remove);
    field("tasks", m.tasks);
  }
};

// What every agent of the union has to know about a change.
struct ChangePlan : PlannedChange {
  Membership old;     // membership before
  Namespace joiners;  // without nodes when nobody joins

  ChangePlan() = default;
  // Throws std::invalid_argument when `before` is not the membership that the change begins with.
  ChangePlan(const PlannedChange& planned, const Membership& before);

  Membership next_members() const { return next_membership(old, add, remove); }
  // Whether a later membership of the job follows from this change.
  bool is_committed_in(const Membership& later) const;
  bool leaves(const std::string& uid) const;
  bool joins(const std::string& uid) const;
  std::vector<Member> leavers() const;
  int staying_ranks() const, leaving_ranks() const, joining_ranks() const;
};

// Ranks of a pod.
std::vector<ProcId> ranks_of(const Member& member);
std::vector<ProcId> ranks_of(const std::vector<Member>& members);

// What a lead asks of agents. All but Interrupt, Terminate and Kill are answered by every one that is asked.
enum class StepKind {
  Prepare,     // get to know the plan; newcomers the job as well
  Launch,      // newcomers start their ranks
  Fetch,       // get the other side's connection data, so that building needs no agent of a dead joiner, and
               // ask the own ranks whether they can build
  Build,       // order the ranks to build the next world
  ReadProbes,  // answer with the highest probe count, and where the probes stand in the program
  Arm,         // propose `iteration`
  Confirm,     // `iteration` holds: adapt there
  Interrupt,   // in the window: tell the ranks, of dead joiners too, so that the agreement fails
  GiveUp,      // disarm, cancel, forget the plan; newcomers kill their ranks
  Commit,      // the new membership
  Release,     // leavers may go
  Terminate,   // `leavers` should have gone: SIGTERM
  Kill,        // they had their time: SIGKILL
  Forget,      // drop namespaces without living ranks
  Attach,      // of a master-worker program: joiners become workers of the queue at `address`
  Depart,      // of a master-worker program: leavers leave when their task is done
};
std::string_view to_string(StepKind kind);
bool enum_from(std::string_view text, StepKind& kind);

struct StepAnswer {
  bool ok = true;            // Arm: false when a rank was past the iteration already
  std::uint64_t probes = 0;  // Build, ReadProbes, Arm: highest count
  std::string error = {};
  std::vector<ProbeMark> marks = {};  // ReadProbes

  static void describe(auto& m, auto&& field) {
    field("ok", m.ok);
    field("probes", m.probes);
    field("error", m.error);
    field("marks", m.marks);
  }
};

}  // namespace empi
