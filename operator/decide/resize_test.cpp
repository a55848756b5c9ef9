// SPDX-License-Identifier: Apache-2.0
// What is promised about a change of a job's size, scenario by scenario. The clock moves only where a test
// moves it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing_world::started;
using testing_world::World;

TEST(Grow, CreatesPodsThenSendsOneChangeThenReportsIt) {
  World world = started(2);
  world.ask_for(4);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Resizing);
  EXPECT_FALSE(world.did<SendChange>());
  world.make_ready(2);
  world.reconcile();
  EXPECT_FALSE(world.did<SendChange>()) << "only when all newcomers are ready";
  world.make_ready(3);
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>());
  const SendChange change = world.of_type<SendChange>()[0];
  EXPECT_EQ(change.epoch, 1);
  EXPECT_EQ(change.cause, "manual");
  EXPECT_EQ(change.add.size(), 2u);
  EXPECT_THAT(change.remove, IsEmpty());
  EXPECT_EQ(change.deadline, world.now + world.job.spec.resize.prepare_timeout);
  world.reconcile();
  EXPECT_EQ(world.status().resize->phase, ResizePhase::Requested) << "a quick change is not worth a write";
  world.now += Seconds(1);
  world.reconcile();
  EXPECT_EQ(world.status().resize->phase, ResizePhase::Preparing);
  EXPECT_FALSE(world.did<SendChange>()) << "the lead has it";
  world.finish_change();
  world.reconcile();
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(to_string(world.status().active_workers), "0-3");
  EXPECT_EQ(world.status().epoch, 2);
  ASSERT_TRUE(world.status().last_resize);
  EXPECT_EQ(world.status().last_resize->result, ResizeResult::Committed);
  EXPECT_EQ(world.status().last_resize->paused_millis, 7);
  EXPECT_TRUE(std::any_of(world.events.begin(), world.events.end(), [](const RecordEvent& event) {
    return event.reason == "Resized" && event.message.ends_with("paused 7 ms");
  }));
  EXPECT_PROMISES_KEPT(world);
}

// The epoch grows without our change: the lead has refused it as stale, and knows nothing of it.
TEST(Grow, ALostWorkerMeanwhileIsNoCommit) {
  World world = started(3);
  world.lead.survives_loss = true;
  world.ask_for(4);
  world.reconcile();
  world.make_ready(3);
  world.lead.members.pop_back();
  ++world.lead.epoch;
  world.reconcile();
  EXPECT_FALSE(world.status().last_resize && world.status().last_resize->result == ResizeResult::Committed);
  world.settle(12);
  EXPECT_EQ(world.size(), 4);
  EXPECT_PROMISES_KEPT(world);
}

// The same when the change is on its way already: the lead refuses it as stale.
TEST(Grow, ALostWorkerWhileTheChangeIsSentIsNoCommit) {
  World world = started(3);
  world.lead.survives_loss = true;
  world.ask_for(4);
  world.reconcile();
  world.make_ready(3);
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>());
  world.lead.change.clear();  // it has not come
  world.lead.members.pop_back();
  ++world.lead.epoch;
  world.reconcile();
  EXPECT_FALSE(world.status().last_resize) << "it was not done";
  ASSERT_TRUE(world.status().resize);
  EXPECT_TRUE(world.status().resize->add.contains(3)) << "the newcomer that is there has its use";
  world.settle(12);
  EXPECT_EQ(world.size(), 4);
  EXPECT_EQ(to_string(world.status().active_workers), "0-1,3-4") << "one more, for the lost one";
  EXPECT_PROMISES_KEPT(world);
}

// The ranks that are left make a world of their own first, and the lead refuses changes until they have.
TEST(Grow, AReplacementJoinsWhenTheOthersHaveRecovered) {
  World world = started(3);
  world.lead.survives_loss = true;
  world.lead.members.pop_back();
  ++world.lead.epoch;
  world.lead.recovering =
      "rank 2 (pod demo-w-2) was killed by signal 9; the other ranks make a world without it";
  world.vanish(2);
  for (int i = 0; i < 3; ++i) world.reconcile();
  ASSERT_TRUE(world.pod(3));
  world.make_ready(3);
  for (int i = 0; i < 3; ++i) {
    world.reconcile();
    EXPECT_FALSE(world.did<SendChange>());
    world.now += Seconds(1);
  }
  world.lead.recovering.clear();
  world.settle(12);
  EXPECT_EQ(to_string(world.status().active_workers), "0-1,3");
  EXPECT_PROMISES_KEPT(world);
}

// A node takes a worker of a program that survives that: its pod is gone some moments before the lead has
// noticed, and its replacement is on its way already.
TEST(Drain, AWorkerThatVanishesWhileItsReplacementComesIsReplacedByThatOne) {
  for (const bool ready_first : {false, true}) {
    SCOPED_TRACE(ready_first);
    World world = started(3);
    world.lead.survives_loss = true;
    world.pod(2)->terminating = true;
    world.reconcile();
    ASSERT_TRUE(world.pod(3));
    if (ready_first) world.make_ready(3);
    world.remove_terminating();
    for (int i = 0; i < 3; ++i) {
      world.reconcile();
      ASSERT_TRUE(world.status().resize) << "superseded";
      EXPECT_EQ(to_string(world.status().resize->add), "3");
      EXPECT_FALSE(world.did<SendChange>()) << "the lead would look for the lost one";
      world.now += Seconds(1);
    }
    world.lead.members.pop_back();
    ++world.lead.epoch;
    world.settle(12);
    EXPECT_EQ(to_string(world.status().active_workers), "0-1,3");
    EXPECT_EQ(world.status().next_index, 4) << "no other pod was made";
    EXPECT_FALSE(world.had_event("ResizeSuperseded"));
    EXPECT_PROMISES_KEPT(world);
  }
}

TEST(Drain, AWorkerThatVanishesOnceItsReplacementWasSentIsReplacedByThatOne) {
  World world = started(3);
  world.lead.survives_loss = true;
  world.pod(2)->terminating = true;
  world.reconcile();
  world.make_ready(3);
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>());
  world.remove_terminating();
  world.lead.change.clear();  // it came after the loss: refused as stale
  world.lead.members.pop_back();
  ++world.lead.epoch;
  world.settle(12);
  EXPECT_EQ(to_string(world.status().active_workers), "0-1,3");
  EXPECT_EQ(world.status().next_index, 4);
  EXPECT_FALSE(world.had_event("ResizeSuperseded"));
  EXPECT_PROMISES_KEPT(world);
}

// MPIX_Wish_adapt, without a queue: whatever was asked for.
TEST(Shrink, ToWhatTheProgramCanUseUntilItCanUseMore) {
  World world = started(4);
  world.job.spec.worker.replicas = 4;
  world.reconcile();
  Sample sample;
  sample.workers = 4;
  sample.wish_min = 1;
  sample.wish_max = 2;
  world.samples.push_back(sample);
  world.settle(12);
  EXPECT_EQ(world.size(), 2);
  const Condition* adjusted = find_condition(world.status(), condition::kSizeAdjusted);
  ASSERT_TRUE(adjusted);
  EXPECT_EQ(adjusted->reason, "ProgramRange");
  EXPECT_THAT(adjusted->message, HasSubstr("can use 1 to 2 now"));
  world.samples.push_back(Sample{});
  world.settle(12);
  EXPECT_EQ(world.size(), 4);
  EXPECT_TRUE(world.broken.empty());
}

TEST(Shrink, DeletesAPodOnlyAfterTheLeadHasReleasedIt) {
  World world = started(4);
  world.ask_for(2);
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>()) << "no pod is needed, so it goes out at once";
  EXPECT_EQ(world.of_type<SendChange>()[0].remove.size(), 2u);
  EXPECT_EQ(to_string(world.status().resize->remove), "2-3") << "the newest leave";
  for (int i = 0; i < 4; ++i) {  // Building, Ready, Window, committed and draining
    world.advance_change();
    world.reconcile();
    EXPECT_FALSE(world.did<DeletePod>());
  }
  EXPECT_EQ(world.status().joined_replicas, 2);
  EXPECT_EQ(world.status().resize->phase, ResizePhase::Draining);
  world.advance_change();  // released
  world.reconcile();
  ASSERT_EQ(world.of_type<DeletePod>().size(), 2u);
  for (const DeletePod& action : world.of_type<DeletePod>()) {
    EXPECT_EQ(action.reason, DeleteReason::Released);
    EXPECT_FALSE(action.uid.empty());
  }
  world.remove_terminating();
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(world.pods.size(), 2u);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Shrink, AWorkerOnItsWayOutLeavesBeforeTheNewest) {
  World world = started(4);
  world.pod(0)->disruption_target = true;  // the lead's own pod
  world.ask_for(3);
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>());
  EXPECT_EQ(to_string(world.status().resize->remove), "0");
}

TEST(Drain, IsOneMixedChange) {
  World world = started(3);
  world.pod(1)->terminating = true;
  world.reconcile();
  EXPECT_EQ(to_string(world.status().resize->add), "3");
  EXPECT_EQ(to_string(world.status().resize->remove), "1");
  world.make_ready(3);
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>());
  EXPECT_EQ(world.of_type<SendChange>()[0].add.size(), 1u);
  EXPECT_EQ(world.of_type<SendChange>()[0].remove.size(), 1u);
  EXPECT_EQ(world.of_type<SendChange>()[0].cause, "drain");
  world.finish_change();
  world.settle(4);
  EXPECT_EQ(to_string(world.status().active_workers), "0,2-3");
  EXPECT_PROMISES_KEPT(world);
}

TEST(Drain, ShrinksWhenThereIsNoRoomForAReplacement) {
  World world = started(3, "  resize: {joinTimeoutSeconds: 30}\n");
  world.pod(2)->disruption_target = true;
  world.reconcile();
  world.pod(3)->message = "no node has room";
  world.now += Seconds(30);
  world.reconcile();
  EXPECT_TRUE(world.had_event("ResizeRolledBack"));
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>());
  EXPECT_THAT(world.of_type<SendChange>()[0].add, IsEmpty());
  EXPECT_EQ(world.of_type<SendChange>()[0].remove.size(), 1u);
  EXPECT_EQ(world.of_type<SendChange>()[0].cause, "drain") << "though smaller";
  world.finish_change();
  world.reconcile();
  EXPECT_EQ(world.size(), 2);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Drain, OfTheOnlyWorkerBringsAnotherFirst) {
  World world = started(1);
  world.pod(0)->disruption_target = true;
  for (int i = 0; i < 30; ++i) {
    world.reconcile();
    world.make_all_ready();
    world.advance_change();
    world.remove_terminating();
  }
  EXPECT_EQ(world.size(), 1);
  EXPECT_EQ(to_string(world.status().active_workers), "1");
  EXPECT_PROMISES_KEPT(world);
}

TEST(LostMessages, AChangeThatNeverArrivedIsSentAgain) {
  World world = started(2);
  world.ask_for(3);
  world.reconcile();
  world.make_all_ready();
  world.reconcile(true, 0);  // status knows, the lead does not
  EXPECT_EQ(world.status().resize->phase, ResizePhase::Requested);
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>());
  EXPECT_EQ(world.of_type<SendChange>()[0].id, "change-1") << "the same change";
  EXPECT_PROMISES_KEPT(world);
}

TEST(LostMessages, AMissedCommitIsFoundByTheEpoch) {
  World world = started(4);
  world.ask_for(2);
  world.reconcile();
  world.lead.reachable = false;
  world.finish_change();
  world.lead.ended.reset();  // the lead that knew has left
  world.reconcile();
  EXPECT_FALSE(world.did<DeletePod>());
  world.now += Seconds(15);
  world.reconcile();
  EXPECT_EQ(find_condition(world.status(), "Degraded")->status, "True");
  world.lead.reachable = true;
  world.settle(4);
  EXPECT_EQ(to_string(world.status().active_workers), "0-1");
  EXPECT_EQ(world.pods.size(), 2u);
  EXPECT_PROMISES_KEPT(world);
}

TEST(LostMessages, NothingIsBegunWhileTheLeadIsSilent) {
  World world = started(2);
  world.lead.reachable = false;
  world.ask_for(4);
  world.reconcile();
  EXPECT_FALSE(world.did<CreatePod>());
}

TEST(LostMessages, NoSecondChangeBesideAForeignOne) {
  World world = started(2);
  world.lead.change = "change-of-an-earlier-controller";
  world.ask_for(1);
  world.reconcile();
  EXPECT_FALSE(world.did<SendChange>());
}

TEST(Ending, NoChangeIsBegunOnceARankHasFinalised) {
  World world = started(2);
  world.lead.ending = true;
  world.ask_for(4);
  world.reconcile();
  EXPECT_FALSE(world.did<CreatePod>());
}

TEST(Rigid, KeepsItsSizeAndSaysSo) {
  World world = started(2, "  runtime: {mode: Rigid}\n");
  world.ask_for(4);
  world.settle(5);
  EXPECT_EQ(world.size(), 2);
  EXPECT_EQ(find_condition(world.status(), "SizeAdjusted")->reason, "Rigid");
}

}  // namespace
}  // namespace emj
