// SPDX-License-Identifier: Apache-2.0
// What a job that is gone, or in no or another queue, still holds.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/testing/queue_world.hpp"

namespace emj {
namespace {

using testing::kPerfect;
using testing::QueueWorld;

// Promise I7, and what follows, of all that a job may do but end: nothing freed is granted before its pod is
// gone.
TEST(Scheduler, WhatADeletedJobHadIsGivenOutWhenItsPodsAreGone) {
  for (const bool restarted : {false, true}) {
    SCOPED_TRACE(restarted ? "the operator is killed in between" : "the operator lives");
    QueueWorld world(8);
    world.add_rigid("a", 4);
    world.add("c", 2, 4, kPerfect, "", "    replicas: 4\n");
    world.settle(8);
    ASSERT_EQ(world.jobs["c"]->size(), 4);
    world.remove("a");
    world.add_rigid("b", 4);
    if (restarted) world.restart();
    world.settle(20);
    EXPECT_EQ(world.jobs["b"]->status().state, JobState::Queued);
    EXPECT_EQ(world.cluster.records[0].queue.status.pools[0].held_milli_cpu, 8000);
    world.end_leftovers();
    world.settle(20);
    EXPECT_EQ(world.jobs["b"]->size(), 4);
    EXPECT_EQ(world.jobs["c"]->size(), 4) << "it was asked for what comes by itself";
  }
}

TEST(Scheduler, AJobOfTheSameNameWaitsForThePodsOfTheOneBefore) {
  QueueWorld world(4);
  world.add_rigid("a", 4);
  world.settle(8);
  world.remove("a");
  world.add_rigid("a", 4).job.metadata.uid = "another";
  world.settle(20);
  EXPECT_EQ(world.jobs["a"]->status().state, JobState::Queued);
  world.end_leftovers();
  world.settle(20);
  EXPECT_EQ(world.jobs["a"]->size(), 4);
}

// Suspended, with pods that take their time.
QueueWorld::World& suspend_with_pods(QueueWorld& world) {
  QueueWorld::World& a = world.add_rigid("a", 4);
  world.settle(8);
  EXPECT_EQ(a.size(), 4);
  world.pods_take_long = true;
  a.job.spec.suspend = true;
  world.settle(20);
  EXPECT_EQ(a.status().state, JobState::Suspended);
  EXPECT_EQ(world.held(a), 4);
  return a;
}

void expect_waits_for_pods_of_a(QueueWorld& world) {
  auto& b = *world.jobs["b"];
  world.settle(20);
  EXPECT_EQ(b.status().state, JobState::Queued);
  world.pods_take_long = false;
  world.turn();
  world.scheduler->news();  // as the watch of pods tells
  world.settle(20);
  EXPECT_EQ(b.size(), 4);
}

TEST(Scheduler, WhatAJobHasLeftInAnotherQueueIsThatQueuesUntilItIsGone) {
  for (const char* other : {"other", ""}) {
    SCOPED_TRACE(std::string("its queue is now '") + other + "'");
    QueueWorld world(4);
    world.cluster.records.push_back(
        {testing::queue_of("  pools: [{name: cores, quota: {cpu: 4}}]\n", "other")});
    QueueWorld::World& a = suspend_with_pods(world);
    a.job.spec.scheduling.queue_name = other;
    world.add_rigid("b", 4);
    if (*other) {
      auto& of_other = world.add_rigid("c", 4);
      of_other.job.spec.scheduling.queue_name = other;
      world.capacity = 8;
      world.settle(10);
      EXPECT_EQ(of_other.size(), 4) << "nothing of that queue is in use";
    }
    expect_waits_for_pods_of_a(world);
  }
}

TEST(Scheduler, WhatANamespaceHasInAQueueThatItHasToLeaveCountsUntilItIsGone) {
  QueueWorld world(4);
  suspend_with_pods(world);
  world.cluster.records[0].queue.spec.namespaces = {"elsewhere"};
  world.add_rigid("b", 4).job.metadata.namespace_name = "elsewhere";
  expect_waits_for_pods_of_a(world);
}

// It was readable to the operator before this one.
TEST(Scheduler, WhatAnUnreadableJobHasCounts) {
  QueueWorld world(4);
  QueueWorld::World& a = world.add_rigid("a", 4);
  world.settle(8);
  world.leftovers.push_back(std::move(world.jobs["a"]));
  world.jobs.erase("a");
  world.add_rigid("b", 4);
  world.restart();
  world.scheduler->expect({key_of(a.job)});
  world.scheduler->unreadable(key_of(a.job));
  world.settle(20);
  EXPECT_EQ(world.jobs["b"]->status().state, JobState::Queued);
}

// It may run for days: what others can give is asked for.
TEST(Scheduler, WhatAnUnreadableJobHasIsNotWaitedFor) {
  QueueWorld world(8);
  QueueWorld::World& a = world.add_rigid("a", 4);
  world.settle(8);
  world.add("c", 2, 4, kPerfect, "", "    replicas: 4\n");
  world.settle(20);
  ASSERT_EQ(world.jobs["c"]->size(), 4);
  world.leftovers.push_back(std::move(world.jobs["a"]));
  world.jobs.erase("a");
  world.unreadable.insert("a");
  world.restart();
  world.scheduler->expect({key_of(a.job)});
  world.scheduler->unreadable(key_of(a.job));
  world.add_rigid("b", 2);
  world.settle(40);
  EXPECT_EQ(world.jobs["b"]->size(), 2);
  EXPECT_EQ(world.jobs["c"]->size(), 2);
}

}  // namespace
}  // namespace emj
