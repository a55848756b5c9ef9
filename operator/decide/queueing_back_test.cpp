// SPDX-License-Identifier: Apache-2.0
// What a job of a queue cannot use of its share, for want of nodes, rights or newcomers, goes back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/testing/queued_job.hpp"
#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using ::testing::HasSubstr;
using testing_world::allocated;
using testing_world::give;
using testing_world::queued;
using testing_world::running_with;
using testing_world::World;

TEST(Queued, AStartThatFailsGoesBackAndComesAgainLater) {
  World world = queued();
  give(world, 2);
  world.reconcile();
  world.now += Seconds(600);
  world.reconcile();
  const JobStatus& status = world.status();
  EXPECT_EQ(status.state, JobState::Queued);
  EXPECT_EQ(allocated(world), 0);
  EXPECT_EQ(status.queue->attempts, 1);
  EXPECT_EQ(status.queue->retry_after, world.now + Seconds(30));
  EXPECT_EQ(status.queue->cause, QueueCause::StartFailed);
  EXPECT_EQ(world.of_type<DeletePod>().size(), 2u);
  world.remove_terminating();
  world.settle(2);
  EXPECT_TRUE(world.pods.empty());
  give(world, 2);
  world.reconcile();
  world.now += Seconds(600);
  world.reconcile();
  EXPECT_EQ(world.status().queue->retry_after, world.now + Seconds(60));
  give(world, 2);
  world.settle(8);
  EXPECT_EQ(world.size(), 2);
}

World given_four_with_room_for_three() {
  World world = queued(2);
  give(world, 4);
  world.reconcile();
  world.room = 3;
  world.make_all_ready();
  return world;
}

TEST(Queued, StartsWithThoseThatCameAndGivesTheOthersBack) {
  World world = given_four_with_room_for_three();
  world.now += Seconds(600);
  world.settle(8);
  EXPECT_EQ(world.size(), 3);
  EXPECT_EQ(allocated(world), 3);
  EXPECT_FALSE(world.status().resize);
  EXPECT_PROMISES_KEPT(world);
}

// Rule Q29. The kubelet's view: these have found no node since now.
void have_no_node(World& world) {
  world.pending_bound = Seconds(60);
  for (PodView& pod : world.pods)
    if (pod.phase == PodPhase::Pending) {
      pod.unschedulable_since = world.now;
      pod.message = "Unschedulable: 0/3 nodes are available";
    }
}

// After a minute, no sooner, it has given back everything, for this cause, and waits before it is tried
// again.
void expect_back_after_a_minute(World& world, QueueCause cause) {
  world.now += Seconds(59);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Starting);
  world.now += Seconds(1);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Queued);
  EXPECT_EQ(allocated(world), 0);
  EXPECT_EQ(world.status().queue->cause, cause);
  EXPECT_EQ(world.status().queue->retry_after, world.now + Seconds(30));
}

TEST(Queued, AStartThatFindsNoNodeGoesBackAndSaysWhy) {
  World world = queued(2);
  give(world, 4);
  world.reconcile();
  have_no_node(world);
  expect_back_after_a_minute(world, QueueCause::Unplaceable);
  EXPECT_THAT(world.status().queue->reason, HasSubstr("no node has had room for 4 workers for 60 s"));
  EXPECT_TRUE(world.had_event("Unplaceable"));
  EXPECT_EQ(world.of_type<DeletePod>().size(), 4u);
}

TEST(Queued, WhoCannotMakeItsPodsGivesBackWhatItHasAndSaysWhy) {
  World world = queued(2);
  world.pending_bound = Seconds(60);
  world.quota = 1;
  give(world, 4);
  world.reconcile();
  expect_back_after_a_minute(world, QueueCause::Quota);
  EXPECT_THAT(world.status().queue->reason, HasSubstr("3 workers could not be made for 60 s"));
  EXPECT_THAT(world.status().queue->reason, HasSubstr("exceeded quota of 1 pods"));
  // It is tried anew, for as long as the first time.
  world.reconcile();
  world.remove_terminating();
  world.now += Seconds(40);
  give(world, 4);
  for (int i = 0; i < 3; ++i) world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Starting);
  world.quota = 100;
  world.settle(6);
  EXPECT_EQ(world.size(), 4);
  EXPECT_EQ(world.status().queue->cause, QueueCause::Unknown);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Queued, WhatAGrowCannotMakeIsGivenBack) {
  World world = running_with(2);
  world.pending_bound = Seconds(60);
  world.quota = 3;
  give(world, 5);
  for (int i = 0; i < 12; ++i) {  // who is there joins
    world.reconcile();
    world.make_all_ready();
    world.advance_change();
    world.now += Seconds(1);
  }
  world.now += Seconds(60);
  for (int i = 0; i < 6; ++i) {
    world.reconcile();
    world.advance_change();
  }
  EXPECT_EQ(world.size(), 3);
  EXPECT_EQ(allocated(world), 3);
  EXPECT_EQ(world.status().queue->cause, QueueCause::Quota);
  EXPECT_FALSE(world.status().awaited);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Queued, StartsOnTheNodesThatItFindsLongBeforeTheTimeToJoinIsOver) {
  World world = given_four_with_room_for_three();
  have_no_node(world);
  world.now += Seconds(60);
  for (int i = 0; i < 8; ++i) world.reconcile();
  EXPECT_EQ(world.size(), 3);
  EXPECT_EQ(allocated(world), 3);
  EXPECT_EQ(world.status().queue->cause, QueueCause::Unplaceable) << "until it may be tried again";
  world.remove_terminating();
  EXPECT_EQ(world.pods.size(), 3u);
  world.now += Seconds(30);
  world.reconcile();
  EXPECT_EQ(world.status().queue->cause, QueueCause::Unknown);
  EXPECT_FALSE(world.status().queue->retry_after);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Queued, WhatAGrowFindsNoNodeForIsGivenBack) {
  World world = running_with(2);
  give(world, 5);
  world.room = 3;
  world.reconcile();
  world.make_all_ready();
  have_no_node(world);
  for (int i = 0; i < 12; ++i) {  // who is there joins
    world.reconcile();
    world.advance_change();
    world.now += Seconds(1);
  }
  ASSERT_EQ(world.size(), 3);
  EXPECT_EQ(allocated(world), 5);
  world.now += Seconds(60);
  for (int i = 0; i < 3; ++i) world.reconcile();
  EXPECT_EQ(allocated(world), 3);
  EXPECT_EQ(world.status().queue->retry_after, world.now + Seconds(30));
  world.remove_terminating();
  EXPECT_EQ(world.pods.size(), 3u);
  EXPECT_FALSE(world.status().awaited);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Queued, AGrowThatIsRolledBackIsGivenBack) {
  World world = running_with(2);
  give(world, 4);
  for (int i = 0; i < 4; ++i) {
    world.reconcile();
    world.make_all_ready();
  }
  ASSERT_TRUE(world.lead.busy());
  world.roll_back_change("a newcomer was lost");
  for (int i = 0; i < 3; ++i) world.reconcile();
  EXPECT_EQ(allocated(world), 2);
  EXPECT_GT(*world.status().queue->retry_after, world.now);
  world.settle(6);
  EXPECT_EQ(world.size(), 2);
  EXPECT_TRUE(world.pods.size() == 2u);
}

TEST(Queued, AShrinkThatIsRolledBackIsNoLongerOwed) {
  World world = running_with(4);
  give(world, 2);
  for (int i = 0; i < 3; ++i) world.reconcile();
  ASSERT_TRUE(world.lead.busy());
  world.roll_back_change("a rank did not answer");
  for (int i = 0; i < 3; ++i) world.reconcile();
  EXPECT_EQ(allocated(world), 4);
  EXPECT_GT(*world.status().queue->retry_after, world.now);
}

}  // namespace
}  // namespace emj
