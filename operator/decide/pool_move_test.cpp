// SPDX-License-Identifier: Apache-2.0
// A job of a queue goes from pool to pool.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/testing/queued_job.hpp"
#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using testing_world::give;
using testing_world::queued;
using testing_world::World;

void move_to(World& world, const std::string& pool, int workers, int speed_percent = 100) {
  give(world, workers);
  world.grant->allocation->pool = pool;
  world.grant->allocation->price_per_worker_hour = 3;
  world.grant->allocation->speed_percent = speed_percent;
}

World runs_in(const std::string& pool, int workers) {
  World world = queued();
  world.reconcile();
  give(world, workers);
  world.grant->allocation->pool = pool;
  world.grant->allocation->price_per_worker_hour = 1;
  world.settle(8);
  world.grant.reset();
  EXPECT_EQ(world.status().state, JobState::Running);
  return world;
}

int in_pool(const World& world, const std::string& pool) {
  return static_cast<int>(std::ranges::count(world.pods, pool, &PodView::pool));
}

TEST(Moves, ToAnotherPoolByTwoChangesAndTheOldestMemberHandsOver) {
  World world = runs_in("slow", 4);
  const std::string oldest = world.lead.members.front();
  ASSERT_EQ(in_pool(world, "slow"), 4);
  move_to(world, "fast", 2, 200);
  world.reconcile();
  EXPECT_TRUE(world.had_event("Moving"));
  EXPECT_EQ(world.status().allocation->moved_from->pool, "slow");
  bool handed_over = false;
  for (int i = 0; i < 40 && world.status().allocation->moved_from; ++i) {
    world.settle(1);
    handed_over = handed_over || (world.lead.members.size() == 3 && world.lead.has(oldest));
  }
  EXPECT_TRUE(handed_over) << "two of the new pool, and the one who has the data";
  EXPECT_FALSE(world.status().allocation->moved_from);
  EXPECT_EQ(world.size(), 2);
  EXPECT_EQ(in_pool(world, "fast"), 2);
  EXPECT_EQ(in_pool(world, "slow"), 0);
  EXPECT_EQ(world.status().allocation->workers, 2);
  EXPECT_EQ(world.status().restarts, 0);
  EXPECT_EQ(world.status().next_change, 3) << "two changes";
  EXPECT_PROMISES_KEPT(world);
}

TEST(Moves, StaysWhereItIsWhenTheOtherPoolHasNoNodes) {
  World world = runs_in("slow", 4);
  world.pending_bound = Seconds(60);
  world.room = 4;
  move_to(world, "fast", 2);
  world.reconcile();
  ASSERT_EQ(world.status().allocation->pool, "fast");
  for (int i = 0; i < 400 && world.status().allocation->pool != "slow"; ++i) {
    for (PodView& pod : world.pods)
      if (pod.pool == "fast" && !pod.unschedulable_since) pod.unschedulable_since = world.now;
    world.settle(1);
    world.now += Seconds(1);
  }
  EXPECT_EQ(world.status().allocation->pool, "slow");
  EXPECT_FALSE(world.status().allocation->moved_from);
  EXPECT_EQ(*world.status().allocation->price_per_worker_hour, 1) << "that of the pool it has";
  EXPECT_TRUE(world.had_event("MoveFailed"));
  world.settle(10);
  EXPECT_EQ(world.size(), 4);
  EXPECT_EQ(in_pool(world, "fast"), 0);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Moves, WhatWasMeasuredIsInTermsOfTheNewPool) {
  World world = runs_in("slow", 4);
  MeasuredSize point;
  point.workers = 4;
  point.iteration_seconds = 1;
  point.compute_seconds = .8;
  point.useful_seconds = .6;
  world.job.status.policy_state.measured = {point};
  world.job.status.policy_state.wish = 3;
  move_to(world, "fast", 2, 200);
  world.reconcile();
  const PolicyState& state = world.status().policy_state;
  ASSERT_EQ(state.measured.size(), 1u);
  EXPECT_NEAR(state.measured[0].iteration_seconds, .6, 1e-9) << "what is sent takes as long as before";
  EXPECT_NEAR(state.measured[0].compute_seconds, .4, 1e-9);
  EXPECT_FALSE(state.wish) << "that was for the other pool";
}

TEST(Moves, NodesThatAreMadeOnDemandAreWaitedFor) {
  World world = queued();
  world.provisioning = Seconds(600);
  world.pending_bound = Seconds(600);
  world.room = 0;
  world.reconcile();
  give(world, 2);
  for (int i = 0; i < 50; ++i) {
    world.settle(1);
    world.now += Seconds(10);
    for (PodView& pod : world.pods)
      if (!pod.unschedulable_since) pod.unschedulable_since = world.now;
  }
  EXPECT_EQ(world.status().state, JobState::Starting) << "longer than joinTimeoutSeconds";
  EXPECT_EQ(world.pods.size(), 2u);
  world.room = SIZE_MAX;
  for (PodView& pod : world.pods) pod.unschedulable_since.reset();
  world.settle(8);
  EXPECT_EQ(world.size(), 2);
  EXPECT_PROMISES_KEPT(world);
}

}  // namespace
}  // namespace emj
