// SPDX-License-Identifier: Apache-2.0
// What the lead has learned of the job and nobody else knows. It is handed over as a whole when the lead
// leaves: one that describe() does not name does not compile.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/protocol/ids.hpp"
#include "runtime/protocol/start.hpp"

namespace empi {

struct LeadState {
  static constexpr std::size_t kHistory = 31;  // and the change in hand: what a controller is told is bounded

  std::deque<ChangeStatus> history;      // newest last
  std::set<ProcId> hello;                // malleable ranks that are past MPI_Init
  std::map<ProcId, int> exit_codes;      // ranks of the job that have ended
  JobOutcome first_failure;              // of a rank that finalised well and then returned an error code
  std::vector<std::string> last_tail;    // of the rank that ended last during a change
  std::map<ProcId, int> parked;          // helper threads that never came back, by rank
  std::set<std::string> leave_requests;  // pods that were asked to terminate
  bool ending = false;                   // a rank has finalised
  bool tasks = false;                    // a master-worker program
  std::optional<ProcId> queue_keeper;
  std::optional<ProcId> queue_mirror;  // has a copy of it
  std::string queue_address;           // "": it is being taken over by the keeper, who mirrored it
  bool told_news = false;  // members were told what another lead needs: one may be named from then on
  std::set<ProcId> lost_ranks;
  std::set<ProcId> without_init;            // members' ranks that have ended well and never connected
  std::map<std::string, std::string> lost;  // members to be dropped when no change is in hand: uid -> why
  CheckpointNews checkpoint;
  // Recovery (R18).
  bool may_recover = true;      // the job's manifest has nothing against it
  bool recoverable = false;     // the program has copies of every rank's data
  std::set<ProcId> declared;    // the ranks that have said so, until all have
  std::string recovery;         // name of the world that is being made; "": none is
  std::set<ProcId> recovered;   // that have it, and their data
  std::int64_t resumed_at = 0;  // the iteration that the program last went on from,
  int resumed_times = 0;        // and how often it went on from that one

  void remember(ChangeStatus past);

  static void describe(auto& state, auto&& field) {
    auto& [history, hello, exit_codes, first_failure, last_tail, parked, leave_requests, ending, tasks,
           queue_keeper, queue_mirror, queue_address, told_news, lost_ranks, without_init, lost, checkpoint,
           may_recover, recoverable, declared, recovery, recovered, resumed_at, resumed_times] = state;
    field("history", history);
    field("hello", hello);
    field("exitCodes", exit_codes);
    field("firstFailure", first_failure);
    field("lastTail", last_tail);
    field("parked", parked);
    field("leaveRequests", leave_requests);
    field("ending", ending);
    field("tasks", tasks);
    field("queueKeeper", queue_keeper);
    field("queueMirror", queue_mirror);
    field("queueAddress", queue_address);
    field("toldNews", told_news);
    field("lostRanks", lost_ranks);
    field("withoutInit", without_init);
    field("lost", lost);
    field("checkpoint", checkpoint);
    field("mayRecover", may_recover);
    field("recoverable", recoverable);
    field("declared", declared);
    field("recovery", recovery);
    field("recovered", recovered);
    field("resumedAt", resumed_at);
    field("resumedTimes", resumed_times);
  }
};

}  // namespace empi
