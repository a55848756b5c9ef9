// SPDX-License-Identifier: Apache-2.0
// A change of size that comes to nothing, and one that is wanted otherwise while it is under way. The clock
// moves only where a test moves it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using testing::HasSubstr;
using testing_world::started;
using testing_world::World;

TEST(Rollback, NamesTheWorkerThatSaysWhyItIsMissing) {
  World world = started(2, "  resize: {joinTimeoutSeconds: 30}\n");
  world.ask_for(4);
  world.reconcile();
  world.pod(3)->message = "no node has room";  // while demo-w-2 is only slow
  world.now += Seconds(30);
  world.reconcile();
  ASSERT_TRUE(world.status().blocked);
  EXPECT_THAT(world.status().blocked->reason, HasSubstr("demo-w-3: no node has room"));
}

TEST(Rollback, BlocksTheTargetInsteadOfTryingAgainAtOnce) {
  World world = started(2);
  world.ask_for(4);
  world.reconcile();
  world.make_all_ready();
  world.reconcile();
  world.roll_back_change("joiner demo-w-3 died: exit code 9");
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Running);
  ASSERT_TRUE(world.status().blocked);
  EXPECT_EQ(world.status().blocked->target, 4);
  EXPECT_EQ(world.status().blocked->attempts, 1);
  EXPECT_THAT(world.status().blocked->reason, HasSubstr("exit code 9"));
  EXPECT_EQ(world.of_type<DeletePod>().size(), 2u) << "the newcomers go";
  EXPECT_EQ(world.size(), 2) << "the members do not";
  world.remove_terminating();
  world.now = world.status().blocked->retry_after - Millis(1);
  world.reconcile();
  EXPECT_FALSE(world.did<CreatePod>());
  ASSERT_TRUE(world.did<Requeue>());
  EXPECT_EQ(world.of_type<Requeue>()[0].after, Millis(1));
  world.now += Millis(1);
  world.reconcile();
  EXPECT_TRUE(world.did<CreatePod>());
  world.make_all_ready();
  world.reconcile();
  const Time first_retry = world.status().blocked->retry_after;
  world.roll_back_change("again");
  world.reconcile();
  EXPECT_EQ(world.status().blocked->attempts, 2);
  EXPECT_GT(world.status().blocked->retry_after - world.now, Seconds(30));
  EXPECT_GT(world.status().blocked->retry_after, first_retry);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Rollback, ANewTargetIsTriedAtOnce) {
  World world = started(2);
  world.ask_for(4);
  world.reconcile();
  world.make_all_ready();
  world.reconcile();
  world.roll_back_change("no");
  world.reconcile();
  world.ask_for(3);
  world.reconcile();
  EXPECT_TRUE(world.did<CreatePod>());
  EXPECT_FALSE(world.status().blocked);
}

TEST(Rollback, NewcomersThatNeverGetReadyAreGivenUp) {
  World world = started(2, "  resize: {joinTimeoutSeconds: 30}\n");
  world.ask_for(3);
  world.reconcile();
  world.pod(2)->message = "pulling image";
  world.now += Seconds(30);
  world.reconcile();
  ASSERT_TRUE(world.status().blocked);
  EXPECT_THAT(world.status().blocked->reason, HasSubstr("pulling image"));
  EXPECT_EQ(world.of_type<DeletePod>()[0].name, "demo-w-2");
  EXPECT_EQ(world.of_type<DeletePod>()[0].reason, DeleteReason::NeverJoined);
  EXPECT_EQ(world.status().last_resize->result, ResizeResult::RolledBack);
}

TEST(Rollback, OnTimeoutFailFailsTheJob) {
  World world = started(2, "  resize: {joinTimeoutSeconds: 30, onTimeout: Fail}\n");
  world.ask_for(3);
  world.reconcile();
  world.now += Seconds(30);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
  EXPECT_EQ(find_condition(world.status(), "Failed")->reason, "ResizeTimeout");
}

TEST(NewTarget, BeforeTheChangeIsSentReusesTheNewcomers) {
  World world = started(2);
  world.ask_for(5);
  world.reconcile();
  world.ask_for(3);
  world.reconcile();
  EXPECT_EQ(to_string(world.status().resize->add), "2");
  EXPECT_EQ(world.of_type<DeletePod>().size(), 2u);
  world.settle(10);
  EXPECT_EQ(world.size(), 3);
  EXPECT_EQ(world.pods.size(), 3u);
  EXPECT_PROMISES_KEPT(world);
}

TEST(NewTarget, BackToThePresentSizeEndsTheResize) {
  World world = started(2);
  world.ask_for(4);
  world.reconcile();
  world.ask_for(2);
  world.reconcile();
  EXPECT_FALSE(world.status().resize);
  EXPECT_EQ(world.status().last_resize->result, ResizeResult::Superseded);
  world.settle(3);
  EXPECT_EQ(world.pods.size(), 2u);
  EXPECT_PROMISES_KEPT(world);
}

TEST(NewTarget, BeforeReadyCancelsAndTakesTheLatest) {
  for (const int steps : {0, 1}) {  // Preparing, Building
    World world = started(2);
    world.ask_for(4);
    world.reconcile();
    world.make_all_ready();
    world.reconcile();
    for (int i = 0; i < steps; ++i) world.advance_change();
    world.ask_for(1);
    world.reconcile();
    ASSERT_TRUE(world.did<CancelChange>());
    EXPECT_EQ(world.of_type<CancelChange>()[0].id, "change-1");
    EXPECT_FALSE(world.did<DeletePod>());
    world.advance_change();
    world.reconcile();
    EXPECT_FALSE(world.status().blocked) << "a cancelled size is not a failed one";
    world.settle(12);
    EXPECT_EQ(world.size(), 1);
    EXPECT_PROMISES_KEPT(world);
  }
}

TEST(NewTarget, FromReadyOnTheChangeFinishesFirst) {
  World world = started(2);
  world.ask_for(4);
  world.reconcile();
  world.make_all_ready();
  world.reconcile();
  world.advance_change();
  world.advance_change();
  ASSERT_EQ(world.lead.state, ChangeState::Ready);
  world.ask_for(1);
  world.reconcile();
  EXPECT_FALSE(world.did<CancelChange>());
  world.finish_change();
  world.reconcile();
  EXPECT_EQ(world.status().joined_replicas, 4);
  world.settle(12);
  EXPECT_EQ(world.size(), 1);
  EXPECT_PROMISES_KEPT(world);
}

}  // namespace
}  // namespace emj
