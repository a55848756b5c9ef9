// SPDX-License-Identifier: Apache-2.0
// Workers that find no node (rule Q29).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/testing/queue_world.hpp"

namespace emj {
namespace {

using testing::QueueWorld;

// Rule Q29: what no node has room for is tried by nobody until the time has come, or something has changed.
TEST(Scheduler, WhatFindsNoNodeIsOfferedToNobodyMeanwhile) {
  QueueWorld world(4);
  auto& a = world.add_rigid("a", 4);
  a.room = 0;
  a.pending_bound = Seconds(60);
  for (int i = 0; i < 6; ++i) world.turn();
  ASSERT_EQ(a.pods.size(), 4u);
  for (PodView& pod : a.pods) pod.unschedulable_since = world.now;
  world.now += Seconds(60);
  auto& b = world.add_rigid("b", 2);
  for (int i = 0; i < 14; ++i) world.turn();  // till it is written
  EXPECT_EQ(a.status().queue->cause, QueueCause::Unplaceable);
  EXPECT_TRUE(a.pods.empty());
  EXPECT_EQ(b.status().state, JobState::Queued) << "those nodes are no better for others";
  EXPECT_EQ(world.cluster.records[0].queue.status.pools[0].unplaceable_milli_cpu, 4000);
  EXPECT_EQ(world.cluster.records[0].queue.status.pools[0].held_milli_cpu, 0);
  a.room = SIZE_MAX;
  world.now += Seconds(31);
  world.settle(20);
  EXPECT_EQ(a.status().state, JobState::Running) << "it has kept its place";
}

TEST(Scheduler, ANodeThatComesIsReasonToTryAgain) {
  QueueWorld world(4);
  auto& a = world.add_rigid("a", 2);
  a.room = 0;
  a.pending_bound = Seconds(60);
  for (int i = 0; i < 6; ++i) world.turn();
  for (PodView& pod : a.pods) pod.unschedulable_since = world.now;
  world.now += Seconds(60);
  auto& b = world.add_rigid("b", 3);
  for (int i = 0; i < 6; ++i) world.turn();
  ASSERT_EQ(b.status().state, JobState::Queued);
  world.cluster.records[0].queue.spec.pools[0].quota.cpu = Quantity{"5"};
  world.capacity = 5;
  world.scheduler->news();
  for (int i = 0; i < 6; ++i) world.turn();
  EXPECT_NE(b.status().state, JobState::Queued);
}

}  // namespace
}  // namespace emj
