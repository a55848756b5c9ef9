// SPDX-License-Identifier: Apache-2.0
// Who may go on when members are lost, the lead perhaps: what is proven at once, what takes its time, and
// that nobody is told anything that is not written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_world::started;
using testing_world::World;

// A loop with copies of its data, on three workers.
class Succession : public testing::Test {
 protected:
  World world = started(3);
  std::vector<std::string> uids = world.lead.members;

  Succession() {
    world.lead.survives_loss = world.lead.survives_lead_loss = true;
    world.reconcile();
  }
  void lose_lead() {
    world.vanish(0);
    world.lead.silent = true;  // another member answers in its place
  }
  NameLead named() {
    const auto all = world.of_type<NameLead>();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? NameLead{} : all.front();
  }
  void expect_going_on(const std::string& workers) {
    world.settle(20);
    EXPECT_EQ(world.status().state, JobState::Running);
    EXPECT_EQ(to_string(world.status().active_workers), workers);
    EXPECT_EQ(world.status().restarts, 0);
    EXPECT_FALSE(world.status().succession);
    EXPECT_PROMISES_KEPT(world);
  }
};

TEST_F(Succession, ALeadWhosePodIsGoneIsFollowedByTheNextMember) {
  lose_lead();
  const std::int64_t fence = world.status().fence;
  world.reconcile(true, 1);  // killed before it could tell anybody
  ASSERT_TRUE(world.status().succession);
  EXPECT_EQ(world.status().fence, fence + 1);
  EXPECT_EQ(world.status().succession->lead_uid, uids[1]);
  EXPECT_THAT(world.status().succession->dead, ElementsAre(uids[0]));
  EXPECT_THAT(world.status().succession->reason, HasSubstr("demo-w-0 is gone"));
  EXPECT_EQ(world.lead.members.size(), 3u);
  world.reconcile();  // the next one repeats it
  EXPECT_EQ(named().lead.uid, uids[1]);
  EXPECT_EQ(named().fence, fence + 1);
  EXPECT_EQ(named().epoch, 1) << "it may know of an older one only, with members that were dropped since";
  EXPECT_EQ(named().members, uids);
  EXPECT_EQ(world.lead.members.size(), 2u);
  EXPECT_TRUE(world.had_event("LeadLost"));
  expect_going_on("1-3");
}

TEST_F(Succession, SoIsOneThatWasKilled) {
  world.end_pod(0, 137);
  world.lead.silent = true;
  world.reconcile();
  EXPECT_EQ(named().lead.uid, uids[1]);
  expect_going_on("1-3");
}

// The answer of a moment ago was still the lead's.
TEST_F(Succession, ALeadThatHasJustAnsweredAndWhosePodIsGoneIsLost) {
  world.vanish(0);
  world.reconcile();
  EXPECT_EQ(named().lead.uid, uids[1]);
}

TEST_F(Succession, WhereNobodyAnswersAtOnceTheMembersAreAskedOnceMore) {
  world.end_pod(0, 137);
  world.lead.reachable = false;
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Running);
  world.lead.reachable = world.lead.silent = true;
  world.reconcile();
  EXPECT_EQ(named().lead.uid, uids[1]);
}

TEST_F(Succession, WhereNobodyAnswersTheJobFails) {
  world.end_pod(0, 137);
  world.lead.reachable = false;
  for (int i = 0; i < 12; ++i) {
    world.reconcile();
    world.now += Seconds(1);
  }
  EXPECT_EQ(world.status().state, JobState::Failed);
}

// Of a rank that was killed in its pod: it has handed the lead over and ended, and the last answer was its
// own.
TEST_F(Succession, ALeadThatHasHandedOverAndEndedIsNotTheEnd) {
  for (const bool answered : {true, false}) {
    SCOPED_TRACE(answered);
    World other = started(3);
    other.lead.survives_loss = other.lead.survives_lead_loss = true;
    other.reconcile();
    other.end_pod(0, 1, "rank 0 was killed by signal 9");
    other.lead.reachable = answered;
    other.reconcile();
    EXPECT_EQ(other.status().state, JobState::Running);
    EXPECT_FALSE(other.did<NameLead>());
  }
}

TEST_F(Succession, WhereAllHaveEndedTheJobHasFailedAtOnce) {
  for (int i = 0; i < 3; ++i) world.end_pod(i, 1, "rank 0 exited with code 1");
  world.lead.reachable = false;
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
}

// Of two, one was killed while the other one, the lead, was cut off for a few seconds: the job began again.
TEST_F(Succession, ALeadThatIsSilentMayStillAnswerWhereAMemberIsLost) {
  world.vanish(1);
  world.end_pod(2, 137);
  world.lead.reachable = false;
  for (int second = 0; second < 15; ++second) {
    world.reconcile();
    ASSERT_EQ(world.status().state, JobState::Running) << "after " << second << " s";
    world.now += Seconds(1);
  }
  world.lead.reachable = true;
  world.reconcile();
  EXPECT_THAT(named().dead, testing::UnorderedElementsAre(uids[1], uids[2]));
  EXPECT_EQ(named().lead.uid, uids[0]);
  expect_going_on("0,3-4");
}
TEST_F(Succession, AndIsGivenUpWithThemAfterTwiceThePatience) {
  world.end_pod(2, 137);
  world.lead.reachable = false;
  for (int second = 0; second < 22; ++second) {
    world.reconcile();
    world.now += Seconds(1);
  }
  EXPECT_EQ(world.status().state, JobState::Failed);
  const auto& conditions = world.status().conditions;
  const auto failed = std::ranges::find(conditions, condition::kFailed, &Condition::type);
  ASSERT_NE(failed, conditions.end());
  const std::string& why = failed->message;
  EXPECT_THAT(why, HasSubstr("demo-w-2"));
  EXPECT_THAT(why, HasSubstr("nobody else has answered for 20 s: demo-w-0"));
}

// The last answer of anybody was that of a member that had not heard so.
TEST_F(Succession, WhoHasNotHeardThatItsLeadMayBeLostDoesNotEndTheJob) {
  world.end_pod(0, 137);
  world.lead.silent = true;
  world.lead.survives_lead_loss = false;
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Running);
  world.lead.survives_lead_loss = true;
  world.reconcile();
  EXPECT_EQ(named().lead.uid, uids[1]);
}

// The lead had dropped it, or could do without it; the program was over before anybody could ask.
TEST_F(Succession, AMemberThatIsLostBeforeTheProgramEndsWellIsNoFailure) {
  world.end_pod(2, 137);
  for (const int index : {0, 1}) {
    world.end_pod(index, 0);
    world.pod(index)->program_succeeded = true;
  }
  world.lead.reachable = false;
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Succeeded);
}

TEST_F(Succession, TheNextButOneLeadsWhereTheNextIsLostToo) {
  lose_lead();
  world.reconcile(true, 1);
  world.vanish(1);
  const std::int64_t fence = world.status().fence;
  world.reconcile();
  EXPECT_EQ(named().lead.uid, uids[2]);
  EXPECT_EQ(named().fence, fence + 1);
  EXPECT_THAT(named().dead, testing::UnorderedElementsAre(uids[0], uids[1]));
  EXPECT_EQ(world.size(), 1);
  expect_going_on("2-4");
}

// It asks the others what they know, and one of them was lost at the same time, with its machine.
TEST_F(Succession, WhoeverIsSilentToTheOneThatWasNamedIsLostToo) {
  lose_lead();
  world.reconcile(true, 1);
  world.lead.unheard = {uids[2]};
  world.reconcile();
  EXPECT_EQ(named().lead.uid, uids[1]);
  EXPECT_THAT(named().dead, testing::UnorderedElementsAre(uids[0], uids[2]));
  expect_going_on("1,3-4");
}

TEST_F(Succession, ALeadThatIsSilentIsGivenUpWhenAMemberHasLostItAndAfterTwiceThePatience) {
  world.lead.silent = true;
  world.lead.silence = Seconds(9);  // of the member's own
  for (int i = 0; i <= 21; ++i) {
    world.reconcile();
    EXPECT_FALSE(world.did<NameLead>());
    world.now += Seconds(1);
  }
  world.lead.silence = Seconds(10);
  world.reconcile();
  EXPECT_EQ(named().lead.uid, uids[1]);
  EXPECT_THAT(named().reason, HasSubstr("demo-w-0 leads and has not answered for 22 s"));
}

TEST_F(Succession, NotBeforeTwiceThePatience) {
  world.lead.silent = true;
  world.lead.silence = Seconds(15);
  for (int i = 0; i < 20; ++i) {
    world.reconcile();
    EXPECT_FALSE(world.did<NameLead>()) << i;
    world.now += Seconds(1);
  }
  world.reconcile();
  EXPECT_TRUE(world.did<NameLead>());
}

TEST_F(Succession, ALeadIsToldThatAMembersPodIsGoneOrThatItsSilenceCounts) {
  for (const bool gone : {true, false}) {
    SCOPED_TRACE(gone);
    World other = started(3);
    other.lead.survives_loss = other.lead.survives_lead_loss = true;
    if (gone)
      other.vanish(2);
    else
      other.lead.unheard = {other.lead.members[2]};
    const std::string lead = other.lead.members[0], lost = other.lead.members[2];
    other.reconcile();
    const auto told = other.of_type<NameLead>();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].lead.uid, lead);
    EXPECT_THAT(told[0].dead, ElementsAre(lost));
    EXPECT_TRUE(other.had_event("WorkersLost"));
    other.settle(20);
    EXPECT_EQ(other.status().state, JobState::Running);
    EXPECT_EQ(other.size(), 3);
    EXPECT_PROMISES_KEPT(other);
  }
}

// Its link is cut: Kubernetes would make the replacement for it, where nobody brings it up.
TEST_F(Succession, TheNodeOfAWorkerThatFellSilentGetsNoReplacementForAWhile) {
  world.pod(2)->node = "node-3";
  world.lead.unheard = {uids[2]};
  world.reconcile();
  const Time until = world.now + Seconds(60);
  EXPECT_THAT(world.status().lost_nodes, ElementsAre(LostNode{"node-3", until}));
  world.reconcile();
  ASSERT_TRUE(world.pod(3));
  world.now = until - Millis(1);
  world.reconcile();
  EXPECT_EQ(world.status().lost_nodes.size(), 1u);
  world.now = until;
  world.reconcile();
  EXPECT_THAT(world.status().lost_nodes, IsEmpty());
  EXPECT_FALSE(world.pod(3)->terminating) << "it has a node";
  expect_going_on("0-1,3");
}

// It was the only one with room, and only the agent hangs.
TEST_F(Succession, AReplacementThatFindsNoOtherNodeIsMadeAnewThen) {
  world.pod(2)->node = "node-3";
  world.lead.unheard = {uids[2]};
  for (int i = 0; i < 3; ++i) world.reconcile();
  ASSERT_TRUE(world.pod(3));
  world.pod(3)->unschedulable_since = world.now;
  world.now += Seconds(59);
  world.reconcile();
  EXPECT_FALSE(world.pod(4));
  world.now += Seconds(1);
  for (int i = 0; i < 2; ++i) world.reconcile();
  ASSERT_TRUE(world.pod(4));
  EXPECT_TRUE(!world.pod(3) || world.pod(3)->terminating);
  expect_going_on("0-1,4");
}

TEST_F(Succession, TheNodeOfAWorkerThatWasKilledIsWell) {
  world.pod(2)->node = world.pod(1)->node = "node-3";
  world.end_pod(2, 137, "killed");
  world.reconcile();
  EXPECT_TRUE(world.did<NameLead>());
  EXPECT_THAT(world.status().lost_nodes, IsEmpty());
}

TEST_F(Succession, AnAgentThatHasEndedByItselfIsNoLoss) {
  world.end_pod(1, 1, "rank 1 exited with code 1");
  world.reconcile();
  EXPECT_FALSE(world.did<NameLead>());
}

// It was stopped, and leads still when it goes on; the one that was named does not answer it. There were two
// leads of one epoch (seed 34030086 of the loops' histories).
TEST_F(Succession, WhatOneThatWasGivenUpSaysOfOthersCountsNoMore) {
  World pair = started(2);
  pair.lead.survives_loss = pair.lead.survives_lead_loss = true;
  const std::vector<std::string> members = pair.lead.members;
  pair.lead.silent = true;
  pair.lead.silence = Seconds(15);
  while (!pair.status().succession) {
    pair.reconcile(true, 0);
    pair.now += Seconds(1);
  }
  ASSERT_EQ(pair.status().succession->lead_uid, members[1]);
  pair.lead.silent = false;
  pair.lead.unheard = {members[1]};
  for (int second = 0; second < 5; ++second) {
    pair.reconcile(true, 0);
    ASSERT_TRUE(pair.status().succession) << "after " << second << " s";
    EXPECT_EQ(pair.status().succession->lead_uid, members[1]);
    pair.now += Seconds(1);
  }
  pair.vanish(1);
  pair.settle(3);
  EXPECT_NE(pair.status().state, JobState::Running) << "it has missed what was done without it";
}

TEST_F(Succession, OneThatNeverTakesTheLeadEndsTheRunInWords) {
  lose_lead();
  for (int i = 0; i < 125 && !is_terminal(world.status().state); ++i) {
    if (PodView* next = world.pod(1)) next->ready = false;  // it does not obey
    world.reconcile();
    world.now += Seconds(1);
  }
  EXPECT_EQ(world.status().state, JobState::Failed);
  EXPECT_THAT(find_condition(world.status(), "Failed")->message,
              HasSubstr("demo-w-1 has not taken the lead within 120 s"));
}

TEST_F(Succession, AProgramThatCannotGoOnFailsAtOnce) {
  world.lead.survives_lead_loss = false;  // a master-worker program: its lead is not replaced
  world.reconcile();
  world.end_pod(0, 137);
  world.reconcile();
  EXPECT_FALSE(world.did<NameLead>());
  EXPECT_EQ(world.status().state, JobState::Failed);
}

// By the lead's own records; how long it took is known a look later.
TEST_F(Succession, WhatTheJobWentOnWithoutIsCountedAndSaid) {
  world.job.spec.worker.min_replicas = 3;
  world.lead.losses = {{world.lead.epoch, "rank 2 (pod demo-w-1) was killed by signal 9",
                        2 * world.job.spec.slots_per_worker}};
  world.lead.members.erase(world.lead.members.begin() + 1);
  ++world.lead.epoch;
  world.reconcile();
  ASSERT_TRUE(world.status().recoveries);
  EXPECT_EQ(world.status().recoveries->count, 1);
  EXPECT_EQ(world.status().recoveries->workers, 2);
  EXPECT_EQ(world.status().recoveries->lost_millis, 0);
  EXPECT_TRUE(world.had_event("Recovered"));
  const Condition* degraded = find_condition(world.status(), "Degraded");
  ASSERT_NE(degraded, nullptr);
  EXPECT_EQ(degraded->reason, "BelowMinimum");
  EXPECT_THAT(degraded->message, HasSubstr("2 of at least 3 workers (minReplicas) are left"));
  world.lead.losses[0].lost_millis = 640;
  world.lead.losses[0].repeated_iterations = 12;
  world.settle(20);
  EXPECT_EQ(world.status().recoveries->count, 1) << "the same one";
  EXPECT_EQ(world.status().recoveries->lost_millis, 640);
  EXPECT_EQ(world.status().recoveries->repeated_iterations, 12);
  EXPECT_EQ(world.size(), 3) << "a replacement has joined";
  EXPECT_EQ(find_condition(world.status(), "Degraded")->status, "False");
}

}  // namespace
}  // namespace emj
