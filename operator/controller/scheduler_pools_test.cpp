// SPDX-License-Identifier: Apache-2.0
// A queue whose pools and namespaces change while jobs wait, run, or are promised something.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/testing/queue_world.hpp"

namespace emj {
namespace {

using ::testing::HasSubstr;
using testing::kPerfect;
using testing::QueueWorld;

// Found by reading: pools[-1].
TEST(Scheduler, APoolMayBeRenamedWhileAPromiseIsOpen) {
  QueueWorld world(8);
  world.pods_take_long = true;
  world.add("a", 2, 8, kPerfect, "", "    replicas: 8\n");
  world.settle(8);
  world.add_rigid("b", 4);
  world.settle(4);
  ASSERT_EQ(world.jobs["b"]->status().queue->cause, QueueCause::Promised);
  ElasticQueue& queue = world.cluster.records[0].queue;
  queue.spec.pools[0].name = "renamed";
  world.capacity = 16;  // what runs in the old one is not in the new one
  for (const HoldMode hold : {HoldMode::Start, HoldMode::None}) {
    queue.spec.hold = hold;
    world.scheduler->news();
    world.settle(14);  // till it is written
    if (hold == HoldMode::Start) {
      EXPECT_EQ(world.jobs["b"]->status().allocation->promised, 4);
      EXPECT_THAT(queue.status.head.at(0).reason, HasSubstr("a pool that the queue has no more"));
    }
  }
  EXPECT_TRUE(world.jobs["b"]->had_event("PromiseWithdrawn"));
  EXPECT_NE(world.jobs["b"]->status().allocation->pool, "cores");
}

// Two queues match the same nodes: they count for the first one by name, also in a pass in which that is not
// planned for.
TEST(Scheduler, NodesOfAQueueThatIsNotServedAreNobodyElses) {
  for (const bool unreadable : {false, true}) {
    SCOPED_TRACE(unreadable ? "it cannot be read" : "its status cannot be written");
    QueueWorld world(8);
    const std::string pools = "  pools: [{name: nodes, capacity: Nodes}]\n";
    world.cluster.records = {{testing::queue_of(pools, "first")}, {testing::queue_of(pools, "main")}};
    world.cluster.all_nodes = {{{"n1", {}, {8000, 0}, true}}};
    world.restart();
    world.settle(4);
    if (unreadable) {
      world.cluster.records[0].unreadable = "spec.pools: somebody else's words";
    } else {
      world.cluster.refused = {"first"};
      world.restart();  // a new leader, that has to take it
    }
    world.add_rigid("a", 4);
    world.settle(20);
    EXPECT_EQ(world.jobs["a"]->status().state, JobState::Queued);
    EXPECT_EQ(world.jobs["a"]->status().queue->cause, QueueCause::TooLarge);
  }
}

TEST(Scheduler, WhatWaitsSaysThatItsQueueHolds) {
  QueueWorld world(4);
  ElasticQueue& queue = world.cluster.records[0].queue;
  world.add_rigid("full", 4);
  world.settle(10);
  auto& job = world.add_rigid("a", 2);
  world.settle(6);
  ASSERT_EQ(job.status().queue->cause, QueueCause::Waiting);
  queue.spec.hold = HoldMode::Start;
  world.scheduler->news();
  world.settle(6);
  EXPECT_EQ(job.status().queue->cause, QueueCause::Held);
  EXPECT_THAT(job.status().queue->reason, HasSubstr("the queue holds, and starts nobody (spec.hold)"));
  queue.spec.hold = HoldMode::None;
  world.scheduler->news();
  world.settle(6);
  EXPECT_EQ(job.status().queue->cause, QueueCause::Waiting);
}

TEST(Scheduler, WhoIsNotAdmittedIsToldWhereItWouldBe) {
  QueueWorld world(4);
  world.cluster.records[0].queue.spec.namespaces = {"other"};
  auto& job = world.add_rigid("a", 2);
  world.settle(4);
  EXPECT_EQ(job.status().queue->cause, QueueCause::NotAdmitted);
  EXPECT_THAT(job.status().queue->reason, HasSubstr("nor does any other"));
  world.cluster.records.push_back({testing::queue_of("  pools: [{name: few, quota: {cpu: 1}}]\n", "open")});
  auto& late = world.add_rigid("b", 2);
  world.settle(4);
  EXPECT_THAT(late.status().queue->reason, HasSubstr("these do: open"));
  EXPECT_THAT(late.status().queue->reason, HasSubstr("spec.scheduling.queueName"));
  world.cluster.records[0].queue.spec.namespaces.clear();
  world.scheduler->news();
  world.settle(20);
  EXPECT_EQ(job.status().state, JobState::Running) << "it starts when that changes";
}

}  // namespace
}  // namespace emj
