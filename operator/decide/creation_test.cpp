// SPDX-License-Identifier: Apache-2.0
// A job of a queue holds no more than it was granted, while pods of its own are on their way out as well.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "operator/decide/testing/queued_job.hpp"
#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using testing_world::allocated;
using testing_world::give;
using testing_world::running_with;
using testing_world::World;

// Until the shrink is over. Its pod takes its time to end.
void shrink_by_one(World& world) {
  const int before = world.size();
  world.ask_for(before - 1);
  world.reconcile();
  for (int i = 0; i < 8 && world.status().resize; ++i) {
    world.advance_change();
    world.reconcile();
  }
  EXPECT_EQ(world.size(), before - 1);
  EXPECT_EQ(std::ranges::count(world.pods, true, &PodView::terminating), 1);
}

TEST(Creation, WhoWantsMoreAgainInTheMiddleOfAShrinkWaitsForThePodsThatGo) {
  World world = running_with(3, 1, "", "    replicas: 3\n");
  shrink_by_one(world);
  ASSERT_EQ(allocated(world), 3) << "nothing is given back yet";
  world.ask_for(3);
  for (int i = 0; i < 4; ++i) {
    world.reconcile();
    EXPECT_FALSE(world.did<CreatePod>()) << "it has three of the three that it was granted";
  }
  world.remove_terminating();
  world.reconcile();
  EXPECT_EQ(world.of_type<CreatePod>().size(), 1u);
  world.settle(8);
  EXPECT_EQ(world.size(), 3);
  EXPECT_EQ(allocated(world), 3);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Creation, NewcomersThatAreCalledOffHoldTheirPlaceUntilTheyAreGone) {
  World world = running_with(1, 1, "", "    replicas: 1\n");
  give(world, 4);
  world.ask_for(4);
  world.reconcile();
  ASSERT_EQ(world.of_type<CreatePod>().size(), 3u);
  world.ask_for(2);
  world.reconcile();
  ASSERT_EQ(world.of_type<DeletePod>().size(), 2u);
  world.ask_for(4);
  world.reconcile();
  EXPECT_FALSE(world.did<CreatePod>());
  world.remove_terminating();
  world.reconcile();
  EXPECT_EQ(world.of_type<CreatePod>().size(), 2u);
}

// Its place is lost with its node.
TEST(Creation, WhoIsDrainedIsReplacedWhileItIsThere) {
  World world = running_with(3, 1, "", "    replicas: 3\n");
  world.pod(1)->disruption_target = true;
  world.reconcile();
  EXPECT_EQ(world.of_type<CreatePod>().size(), 1u);
  world.settle(12);
  EXPECT_TRUE(world.had_event("Resizing")) << "the allocation is what it was: nobody else says so";
  EXPECT_EQ(world.size(), 3);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Creation, AJobThatStartsAgainWaitsForThePodsOfTheRunBefore) {
  World world = running_with(3, 1, "", "    replicas: 3\n");
  world.job.spec.suspend = true;
  for (int i = 0; i < 20 && world.status().state != JobState::Suspended; ++i) {
    world.reconcile();
    world.advance_change();
    world.now += Seconds(5);
  }
  ASSERT_EQ(world.status().state, JobState::Suspended);
  ASSERT_EQ(std::ranges::count(world.pods, true, &PodView::terminating), 3);
  world.job.spec.suspend = false;
  world.reconcile();
  give(world, 3);
  for (int i = 0; i < 3; ++i) {
    world.reconcile();
    EXPECT_FALSE(world.did<CreatePod>()) << "three end, and hold what it was granted";
  }
  world.remove_terminating();
  world.settle(6);
  EXPECT_EQ(world.size(), 3);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Creation, WithoutAQueueNobodyWaits) {
  World world = testing_world::started(3);
  shrink_by_one(world);
  world.ask_for(3);
  world.reconcile();
  EXPECT_TRUE(world.did<CreatePod>());
}

}  // namespace
}  // namespace emj
