// SPDX-License-Identifier: Apache-2.0
// Workers that find no node (rule Q29).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/testing/queue_world.hpp"
#include "operator/controller/unplaceable.hpp"

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
  for (int i = 0; i < 24; ++i) world.turn();  // till it is written
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

void no_node_takes(QueueWorld& world, QueueWorld::World& job) {
  for (int i = 0; i < 6; ++i) world.turn();
  for (PodView& pod : job.pods) pod.unschedulable_since = world.now;
  world.now += Seconds(60);
  world.settle(10);
}

// Whoever asks for nodes that do not exist costs the others a moment, not its share of the machine for good.
TEST(Scheduler, WhatFindsNoNodeTwiceCostsTheOthersNothingMore) {
  QueueWorld world(8);
  auto& a = world.add("a", 2, 8, testing::kPerfect, "", "    replicas: 8\n");
  world.settle(8);
  ASSERT_EQ(a.size(), 8);
  auto& bad = world.add_rigid("bad", 4);
  bad.room = 0;
  bad.pending_bound = Seconds(60);
  world.settle(12);
  ASSERT_EQ(a.size(), 4) << "it is not known yet";
  no_node_takes(world, bad);
  ASSERT_EQ(bad.status().queue->cause, QueueCause::Unplaceable);
  world.now += Seconds(31);
  no_node_takes(world, bad);
  ASSERT_EQ(bad.status().queue->attempts, 2);
  world.now += Seconds(400);  // as long as jobs rest between changes
  world.settle(60);
  EXPECT_EQ(a.size(), 8);
  const std::int64_t changes = a.status().next_change;
  for (int i = 0; i < 4; ++i) {
    world.now += Seconds(700);
    world.settle(12);
  }
  EXPECT_EQ(a.status().next_change, changes) << "nobody shrinks for it any more";
  EXPECT_EQ(bad.status().state, JobState::Queued);
  // Another machine: it is tried anew.
  bad.room = SIZE_MAX;
  world.cluster.records[0].queue.spec.pools[0].quota.cpu = Quantity{"9"};
  world.capacity = 9;
  world.scheduler->news();
  world.settle(40);
  EXPECT_EQ(bad.status().state, JobState::Running);
}

// What a job gives back, and when it is tried again.
class GivenBack : public ::testing::Test {
 protected:
  const JobKey key_{"default", "a"};
  const queue::Resources worker_{1000, 0};
  std::vector<queue::Pool> pools_{{"cores", {8000, 0}}, {"others", {8000, 0}}};
  Time now_{Seconds(1'700'000'000)};
  Unplaceable unplaceable_;
  ElasticMPIJob job_ = [] {
    ElasticMPIJob job = testing_world::make_job("  scheduling: {queueName: main}\n");
    job.status.queue.emplace();
    job.status.allocation.emplace();
    job.status.allocation->workers = 8;
    job.status.allocation->pool = "cores";
    return job;
  }();

  void note(const ElasticMPIJob& next) {
    unplaceable_.note(key_, job_, next, worker_, now_);
    unplaceable_.compare("main", pools_, now_);
    job_ = next;
  }
  void give_back(int workers, int left) {
    ElasticMPIJob next = job_;
    next.status.allocation->workers = left;
    next.status.queue->cause = QueueCause::Unplaceable;
    next.status.queue->retry_after = now_ + Seconds(30);
    ++next.status.queue->attempts;
    ASSERT_EQ(job_.status.allocation->workers - left, workers);
    note(next);
  }
  void try_again(int workers) {
    now_ += Seconds(90);
    ElasticMPIJob next = job_;
    next.status.allocation->workers = workers;
    note(next);
  }
  std::int64_t hidden(const char* pool = "cores") const {
    return unplaceable_.of("main", pool, now_).milli_cpu / 1000;
  }
  std::vector<int> twice() const { return unplaceable_.twice(key_, "main", pools_); }
};

TEST_F(GivenBack, InPartsIsOneAttempt) {
  give_back(3, 5);
  now_ += Seconds(1);
  give_back(3, 2);
  EXPECT_EQ(hidden(), 6);
  EXPECT_TRUE(twice().empty());
  ElasticMPIJob less = job_;  // of its own will, a moment later
  less.status.allocation->workers = 1;
  note(less);
  EXPECT_EQ(hidden(), 6);
  ElasticMPIJob joined = job_;
  joined.status.active_workers = IndexSet{0};
  note(joined);
  EXPECT_EQ(hidden(), 6) << "where the others found no node there is still none";
  now_ += Seconds(31);
  EXPECT_EQ(hidden(), 0);
}

TEST_F(GivenBack, TwiceIsOfItsPoolAndForAnHour) {
  give_back(4, 4);
  try_again(8);
  give_back(4, 4);
  EXPECT_EQ(twice(), std::vector<int>{0});
  EXPECT_EQ(hidden(), 0) << "the others may have it";
  pools_[0].capacity.milli_cpu += 500;  // a pod of somebody else has ended
  unplaceable_.compare("main", pools_, now_);
  EXPECT_EQ(twice().size(), 1u) << "no room for a worker";
  now_ += Seconds(3601);
  unplaceable_.compare("main", pools_, now_);
  EXPECT_TRUE(twice().empty());
}

TEST_F(GivenBack, IsForgottenWithAnotherSpecOrALargerPool) {
  for (const bool spec : {true, false}) {
    give_back(4, 4);
    try_again(8);
    give_back(4, 4);
    ASSERT_EQ(twice().size(), 1u);
    ElasticMPIJob next = job_;
    next.status.allocation->workers = 8;
    if (spec)
      ++next.metadata.generation;
    else
      pools_[0].capacity += worker_;
    note(next);
    EXPECT_TRUE(twice().empty());
    now_ += Seconds(100);
  }
}

}  // namespace
}  // namespace emj
