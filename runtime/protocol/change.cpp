// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/change.hpp"

namespace empi {
namespace {

using S = ChangeState;
using E = ChangeEvent;

// One row a state, one column an event in the order of kChangeEvents. `_` keeps the state, X is refused.
constexpr int X = -1;
constexpr int _ = -2;
constexpr int P = static_cast<int>(S::Preparing);
constexpr int B = static_cast<int>(S::Building);
constexpr int R = static_cast<int>(S::Ready);
constexpr int W = static_cast<int>(S::Window);
constexpr int C = static_cast<int>(S::Committed);
constexpr int D = static_cast<int>(S::Draining);
constexpr int K = static_cast<int>(S::RollingBack);
constexpr int F = static_cast<int>(S::Failed);
constexpr int O = static_cast<int>(S::Stable);

constexpr int kTable[kChangeStates.size()][kChangeEvents.size()] = {
    // clang-format off
    //             Reques Joiner World  Confir Agreed Disagr Record Leaver Rolled Joiner Member Cancel Dead-  Job-   Probes Member
    //             ted    sUp    Built  med           eed    Spread sGone  Back   Lost   Lost          line   Ending Differ Down
    /* Stable   */ {P,    X,     X,     X,     X,     X,     X,     X,     X,     _,     F,     _,     _,     _,     _,     _},
    /* Preparing*/ {X,    B,     X,     X,     X,     X,     X,     X,     X,     K,     F,     K,     K,     K,     K,     K},
    /* Building */ {X,    _,     R,     X,     X,     X,     X,     X,     X,     K,     F,     K,     K,     K,     K,     K},
    /* Ready    */ {X,    X,     _,     W,     X,     X,     X,     X,     X,     K,     F,     K,     K,     K,     K,     K},
    /* Window   */ {X,    X,     X,     _,     C,     K,     X,     X,     X,     _,     F,     _,     _,     _,     _,     _},
    /* Committed*/ {X,    X,     X,     X,     _,     X,     D,     X,     X,     F,     F,     _,     _,     _,     _,     _},
    /* Draining */ {X,    X,     X,     X,     _,     X,     _,     O,     X,     F,     F,     _,     _,     _,     _,     _},
    /* RollingBk*/ {X,    _,     _,     X,     X,     _,     X,     X,     O,     _,     F,     _,     _,     _,     _,     _},
    /* Failed   */ {X,    _,     _,     _,     _,     _,     _,     _,     _,     _,     _,     _,     _,     _,     _,     _},
    // clang-format on
};

}  // namespace

std::optional<ChangeState> next_state(ChangeState state, ChangeEvent event) {
  const int entry = kTable[static_cast<int>(state)][static_cast<int>(event)];
  if (entry == X) return std::nullopt;
  return entry == _ ? state : static_cast<ChangeState>(entry);
}

std::string_view to_string(ChangeState state) {
  switch (state) {
    case S::Stable:
      return "Stable";
    case S::Preparing:
      return "Preparing";
    case S::Building:
      return "Building";
    case S::Ready:
      return "Ready";
    case S::Window:
      return "Window";
    case S::Committed:
      return "Committed";
    case S::Draining:
      return "Draining";
    case S::RollingBack:
      return "RollingBack";
    case S::Failed:
      return "Failed";
  }
  return "?";
}

std::string_view to_string(ChangeEvent event) {
  switch (event) {
    case E::Requested:
      return "Requested";
    case E::JoinersUp:
      return "JoinersUp";
    case E::WorldBuilt:
      return "WorldBuilt";
    case E::Confirmed:
      return "Confirmed";
    case E::Agreed:
      return "Agreed";
    case E::Disagreed:
      return "Disagreed";
    case E::RecordSpread:
      return "RecordSpread";
    case E::LeaversGone:
      return "LeaversGone";
    case E::RolledBack:
      return "RolledBack";
    case E::JoinerLost:
      return "JoinerLost";
    case E::MemberLost:
      return "MemberLost";
    case E::Cancel:
      return "Cancel";
    case E::Deadline:
      return "Deadline";
    case E::JobEnding:
      return "JobEnding";
    case E::ProbesDoNotMatch:
      return "ProbesDoNotMatch";
    case E::MemberDown:
      return "MemberDown";
  }
  return "?";
}

std::optional<ChangeState> change_state_from(std::string_view text) {
  for (ChangeState state : kChangeStates)
    if (to_string(state) == text) return state;
  return std::nullopt;
}

std::optional<ChangeEvent> change_event_from(std::string_view text) {
  for (ChangeEvent event : kChangeEvents)
    if (to_string(event) == text) return event;
  return std::nullopt;
}

std::string_view to_string(ChangeOutcome outcome) {
  switch (outcome) {
    case ChangeOutcome::Unfinished:
      return "";
    case ChangeOutcome::Committed:
      return "committed";
    case ChangeOutcome::RolledBack:
      return "rolled back";
    case ChangeOutcome::Failed:
      break;
  }
  return "failed";
}

std::optional<ChangeOutcome> change_outcome_from(std::string_view text) {
  for (const ChangeOutcome outcome : {ChangeOutcome::Unfinished, ChangeOutcome::Committed,
                                      ChangeOutcome::RolledBack, ChangeOutcome::Failed})
    if (to_string(outcome) == text) return outcome;
  return std::nullopt;
}

std::string_view to_string(ChangeOrigin origin) {
  return origin == ChangeOrigin::LostMember ? "lost member" : "controller";
}

ChangeRecord record_of(const ChangeStatus& status) {
  ChangeRecord record;
  record.id = status.request.id;
  record.kind = status.request.kind();
  record.reason = status.reason;
  record.outcome = status.outcome;
  if (status.outcome == ChangeOutcome::Unfinished) {
    if (status.state == ChangeState::Committed || status.state == ChangeState::Draining)
      record.outcome = ChangeOutcome::Committed;
    if (status.state == ChangeState::RollingBack) record.outcome = ChangeOutcome::RolledBack;
  }
  record.from_ranks = status.from_ranks;
  record.to_ranks = status.to_ranks;
  record.times = status.times;
  record.moved_bytes = status.moved_bytes;
  record.repeated_iterations = status.repeated_iterations;
  return record;
}

}  // namespace empi
