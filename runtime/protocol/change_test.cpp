// SPDX-License-Identifier: Apache-2.0
// Every state x event of the change transaction, written down a second time as promises.
#include "runtime/protocol/change.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace empi {
namespace {

using S = ChangeState;
using E = ChangeEvent;

// The moves that matter; everything else keeps the state or is refused, by the rules tested below.
const std::map<std::pair<S, E>, S> kMoves = {
    {{S::Stable, E::Requested}, S::Preparing},      {{S::Preparing, E::JoinersUp}, S::Building},
    {{S::Building, E::WorldBuilt}, S::Ready},       {{S::Ready, E::Confirmed}, S::Window},
    {{S::Window, E::Agreed}, S::Committed},         {{S::Window, E::Disagreed}, S::RollingBack},
    {{S::Committed, E::RecordSpread}, S::Draining}, {{S::Draining, E::LeaversGone}, S::Stable},
    {{S::RollingBack, E::RolledBack}, S::Stable},
};

bool before_window(S s) { return s == S::Preparing || s == S::Building || s == S::Ready; }
bool gives_up(E e) {
  return e == E::JoinerLost || e == E::Cancel || e == E::Deadline || e == E::JobEnding ||
         e == E::ProbesDoNotMatch || e == E::MemberDown;
}

TEST(ChangeTable, EveryStateTimesEveryEvent) {
  for (S state : kChangeStates)
    for (E event : kChangeEvents) {
      SCOPED_TRACE(std::string(to_string(state)) + " x " + std::string(to_string(event)));
      const std::optional<S> next = next_state(state, event);
      if (auto move = kMoves.find({state, event}); move != kMoves.end()) {
        EXPECT_EQ(next, move->second);
      } else if (event == E::Requested) {
        EXPECT_EQ(next, std::nullopt) << "one change at a time";
      } else if (state == S::Failed) {
        EXPECT_EQ(next, S::Failed) << "failure is final";
      } else if (event == E::MemberLost) {
        EXPECT_EQ(next, S::Failed) << "without recovery a lost member fails the job";
      } else if (before_window(state) && gives_up(event)) {
        EXPECT_EQ(next, S::RollingBack) << "before the window every failure rolls back";
      } else if (event == E::JoinerLost && (state == S::Committed || state == S::Draining)) {
        EXPECT_EQ(next, S::Failed) << "after the commit a joiner is a member";
      } else if (gives_up(event)) {
        EXPECT_EQ(next, state)
            << "in the window only the agreement decides; elsewhere there is nothing to give up";
      } else if (next) {
        EXPECT_EQ(*next, state) << "no other move exists";
      }
    }
}

TEST(ChangeTable, LateMessagesOfAPhaseAreHarmless) {
  EXPECT_EQ(next_state(S::Building, E::JoinersUp), S::Building);
  EXPECT_EQ(next_state(S::Ready, E::WorldBuilt), S::Ready);
  EXPECT_EQ(next_state(S::Window, E::Confirmed), S::Window);
  EXPECT_EQ(next_state(S::Committed, E::Agreed), S::Committed);
  EXPECT_EQ(next_state(S::Draining, E::Agreed), S::Draining);
  EXPECT_EQ(next_state(S::RollingBack, E::Disagreed), S::RollingBack);
}

TEST(ChangeTable, StepsCannotBeSkipped) {
  for (E event : {E::JoinersUp, E::WorldBuilt, E::Confirmed, E::Agreed, E::RecordSpread, E::LeaversGone})
    EXPECT_EQ(next_state(S::Stable, event), std::nullopt) << to_string(event);
  EXPECT_EQ(next_state(S::Preparing, E::WorldBuilt), std::nullopt);
  EXPECT_EQ(next_state(S::Building, E::Agreed), std::nullopt);
  EXPECT_EQ(next_state(S::RollingBack, E::Agreed), std::nullopt) << "a rolled back change never commits";
  EXPECT_EQ(next_state(S::Committed, E::Disagreed), std::nullopt) << "an agreement is uniform";
}

TEST(ChangeTable, EveryStateIsReachedAndEveryAttemptCanEnd) {
  std::set<S> seen = {S::Stable};
  for (bool grew = true; grew;) {
    grew = false;
    for (S s : std::set<S>(seen))
      for (E e : kChangeEvents)
        if (auto n = next_state(s, e)) grew |= seen.insert(*n).second;
  }
  EXPECT_EQ(seen.size(), kChangeStates.size());
  for (S state : kChangeStates) {  // from everywhere a way leads to Stable or Failed
    std::set<S> reach = {state};
    for (std::size_t round = 0; round < kChangeStates.size(); ++round)
      for (S s : std::set<S>(reach))
        for (E e : kChangeEvents)
          if (auto n = next_state(s, e)) reach.insert(*n);
    EXPECT_TRUE(reach.contains(S::Stable) || reach.contains(S::Failed)) << to_string(state);
  }
}

TEST(ChangeTable, NamesAreReadBack) {
  for (S state : kChangeStates) EXPECT_EQ(change_state_from(to_string(state)), state);
  EXPECT_EQ(change_state_from("Sideways"), std::nullopt);
  for (E event : kChangeEvents) EXPECT_EQ(change_event_from(to_string(event)), event);
  EXPECT_EQ(change_event_from(""), std::nullopt);
  for (const char* text : {"", "committed", "rolled back", "failed"}) {
    ASSERT_TRUE(change_outcome_from(text)) << text;
    EXPECT_EQ(to_string(*change_outcome_from(text)), text);
  }
  EXPECT_EQ(change_outcome_from("Committed"), std::nullopt);
}

TEST(ChangeRequest, KindsInWords) {
  ChangeRequest r;
  r.add.resize(1);
  EXPECT_EQ(r.kind(), "grow");
  r.remove = {"u"};
  EXPECT_EQ(r.kind(), "mixed");
  r.add.clear();
  EXPECT_EQ(r.kind(), "shrink");
}

TEST(ChangeRecordTest, TheOutcomeCountsFromWhenItIsCertain) {
  ChangeStatus status;
  const auto outcome_in = [&](ChangeState state) {
    status.state = state;
    return record_of(status).outcome;
  };
  for (ChangeState state :
       {ChangeState::Preparing, ChangeState::Building, ChangeState::Ready, ChangeState::Window})
    EXPECT_EQ(outcome_in(state), ChangeOutcome::Unfinished) << to_string(state);
  EXPECT_EQ(outcome_in(ChangeState::Committed), ChangeOutcome::Committed);
  EXPECT_EQ(outcome_in(ChangeState::Draining), ChangeOutcome::Committed);
  EXPECT_EQ(outcome_in(ChangeState::RollingBack), ChangeOutcome::RolledBack);
  status.outcome = ChangeOutcome::Failed;
  EXPECT_EQ(outcome_in(ChangeState::Failed), ChangeOutcome::Failed);
}

}  // namespace
}  // namespace empi
