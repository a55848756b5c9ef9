// SPDX-License-Identifier: Apache-2.0
// A change of the membership is a transaction: it moves epoch e to e+1, or leaves it exactly as it was.
// THE transition table of that transaction; everybody who drives or follows a change asks it.
//
//   Stable -> Preparing   newcomers' agents up, namespaces registered, joiners started
//          -> Building    every joiner is past MPI_Init: the next world is built on helper threads
//          -> Ready       built everywhere; the iteration to adapt at is being agreed through the pages
//          -> Window      confirmed: ranks move data between begin and commit, then agree
//          -> Committed   the agreement held: epoch e+1, the lead spreads the record
//          -> Draining    leavers linger until every rank is past what they share
//          -> Stable
//   Preparing, Building, Ready: any failure -> RollingBack -> Stable (epoch e)
//   Window: only the ranks' agreement decides, a failure or the deadline merely makes it fail
//   from Committed on a joiner is a member
//   a lost member -> Failed; of a program that goes on without it (R18): the change is called back as far as
//   it can be, and the member is dropped when it is over
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/protocol/ids.hpp"
#include "runtime/protocol/membership.hpp"

namespace empi {

enum class ChangeState {
  Stable,
  Preparing,
  Building,
  Ready,
  Window,
  Committed,
  Draining,
  RollingBack,
  Failed
};

enum class ChangeEvent {
  Requested,         // the controller asks for a change
  JoinersUp,         // every joiner is past MPI_Init (at once when nobody joins)
  WorldBuilt,        // every rank has built the next world and every joiner waits in begin
  Confirmed,         // every rank is armed for the same iteration and the lead has confirmed it
  Agreed,            // a rank reports that the agreement in the window succeeded
  Disagreed,         // a rank reports that it failed
  RecordSpread,      // every agent of the union knows epoch e+1
  LeaversGone,       // every rank is past the shared communication and the leavers' ranks have exited
  RolledBack,        // every old rank has dropped the attempt, the joiners are gone
  JoinerLost,        // a joiner's rank or agent died, or never came
  MemberLost,        // a rank or agent of the committed membership died unplanned, and the job cannot go on
  Cancel,            // the controller changed its mind
  Deadline,          // the change's time is over
  JobEnding,         // a rank has left its loop or finalises
  ProbesDoNotMatch,  // which calls of MPI_Probe_adapt are the same one cannot be told (probe_marks.hpp)
  MemberDown         // as MemberLost, of a program that can go on without it
};

inline constexpr std::array kChangeStates = {
    ChangeState::Stable,   ChangeState::Preparing,   ChangeState::Building,
    ChangeState::Ready,    ChangeState::Window,      ChangeState::Committed,
    ChangeState::Draining, ChangeState::RollingBack, ChangeState::Failed};
inline constexpr std::array kChangeEvents = {
    ChangeEvent::Requested,  ChangeEvent::JoinersUp,  ChangeEvent::WorldBuilt,       ChangeEvent::Confirmed,
    ChangeEvent::Agreed,     ChangeEvent::Disagreed,  ChangeEvent::RecordSpread,     ChangeEvent::LeaversGone,
    ChangeEvent::RolledBack, ChangeEvent::JoinerLost, ChangeEvent::MemberLost,       ChangeEvent::Cancel,
    ChangeEvent::Deadline,   ChangeEvent::JobEnding,  ChangeEvent::ProbesDoNotMatch, ChangeEvent::MemberDown};

// Not in Stable, nor in Failed: after it nothing of this job is changed any more.
constexpr bool is_in_flight(ChangeState state) {
  return state != ChangeState::Stable && state != ChangeState::Failed;
}

std::string_view to_string(ChangeState state);
std::string_view to_string(ChangeEvent event);
std::optional<ChangeState> change_state_from(std::string_view text);
std::optional<ChangeEvent> change_event_from(std::string_view text);

// Where `event` leads from `state`: the same state when the event is of no consequence there (a late or
// repeated message), nothing when it may not happen there (the sender is told 409 and nothing changes).
std::optional<ChangeState> next_state(ChangeState state, ChangeEvent event);

// How a change ended. Travels as text, "" while it has not ended.
enum class ChangeOutcome { Unfinished, Committed, RolledBack, Failed };
std::string_view to_string(ChangeOutcome outcome);  // "", "committed", "rolled back", "failed"
std::optional<ChangeOutcome> change_outcome_from(std::string_view text);

// Who wanted a change: a controller, or the lead itself, which drops a member that was lost (master-worker
// programs).
enum class ChangeOrigin { Controller, LostMember };
std::string_view to_string(ChangeOrigin origin);

// What a controller asks of the lead. Ids are chosen by the controller and never reused.
struct ChangeRequest {
  std::string id;
  Fence fence;
  Epoch epoch;                      // the membership this was computed from
  std::vector<Member> add;          // nspace and first_rank are filled in by the lead
  std::vector<std::string> remove;  // pod uids, in any position of the world
  std::int64_t deadline_ms = 0;     // milliseconds from receipt until RollingBack
  std::string cause;                // who wants it (metrics::kCauses); "" when not told

  std::string_view kind() const { return remove.empty() ? "grow" : add.empty() ? "shrink" : "mixed"; }
};

// How long the steps of a change took (milliseconds), as the lead reports it.
struct ChangeTimes {
  double prepare_ms = 0;       // request until every joiner is past MPI_Init
  double build_ms = 0;         // until the next world is built everywhere (hidden)
  double arm_ms = 0;           // until the iteration is confirmed (hidden)
  double wait_ms = 0;          // longest wait of a rank at the agreed iteration
  double pause_ms = 0;         // longest begin..commit of a rank, data included
  double redistribute_ms = 0;  // longest time a rank moved data
  double drain_ms = 0;         // commit until the leavers are gone (hidden)
  double lost_ms = 0;          // decision R7: sum over iterations of duration - baseline, and wait_ms

  bool operator==(const ChangeTimes&) const = default;
};

// A change as GET /v1/change shows it; kept for the last ones after they ended.
struct ChangeStatus {
  ChangeRequest request;
  ChangeState state = ChangeState::Stable;
  ChangeOrigin origin = ChangeOrigin::Controller;
  ChangeOutcome outcome = ChangeOutcome::Unfinished;
  // In words: why it was rolled back or failed, what it waits for beyond its deadline, which leavers had to
  // be ended.
  std::string reason;
  std::optional<ChangeEvent> ended_by;  // what rolled it back or made it fail; nothing: an older lead's
  int from_ranks = 0, to_ranks = 0;
  ChangeTimes times;
  std::int64_t moved_bytes = 0;  // over all ranks, as they say (MPIX_Comm_adapt_moved)
  // Of a lost member: iterations that are done again; lost_ms is until all others went on.
  std::int64_t repeated_iterations = 0;
  std::vector<std::string> released;  // uids of pods that may be deleted now
};

// One change as it is told when it is over: in the job's last words, in `empi history`, in summary.json.
struct ChangeRecord {
  std::string id, kind, reason;
  ChangeOutcome outcome = ChangeOutcome::Unfinished;
  int from_ranks = 0, to_ranks = 0;
  ChangeTimes times;
  std::int64_t moved_bytes = 0, repeated_iterations = 0;

  bool operator==(const ChangeRecord&) const = default;
};
// The outcome counts from when it is certain: leavers may still be on their way, or the old world be tidied
// up.
ChangeRecord record_of(const ChangeStatus& status);

}  // namespace empi
