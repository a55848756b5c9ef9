// SPDX-License-Identifier: Apache-2.0
// Pools of a queue with the real scheduler and the real decide(): where jobs start, and how one goes from one
// pool to another while it runs (rule Q19).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/testing/queue_world.hpp"

namespace emj::testing {
namespace {

const char* const kTwoPools =
    "  pools: [{name: slow, quota: {cpu: 4}, pricePerCPUHour: 1}, "
    "{name: fast, quota: {cpu: 4}, pricePerCPUHour: 3, speedPercent: 200}]\n"
    "  moves: {restSeconds: 0}\n";

struct PoolsWorld : QueueWorld {
  PoolsWorld() : QueueWorld(8) { cluster.records[0].queue = queue_of(kTwoPools); }

  // With a deadline; it says how long it takes on four slow workers.
  World& add_due(const std::string& name, int deadline, int expected) {
    return add(name, 1, 4,
               ", deadlineSeconds: " + std::to_string(deadline) +
                   ", expectedSeconds: " + std::to_string(expected) + kPerfect,
               "  autoscaling: {mode: Auto, policy: {name: deadline}}\n", "    replicas: 4\n");
  }
  int in_pool(const World& world, const std::string& pool) const {
    return static_cast<int>(std::ranges::count_if(world.pods, [&](const PodView& pod) {
      return pod.pool == pool && (pod.phase == PodPhase::Pending || pod.phase == PodPhase::Running);
    }));
  }
  // Held by pods or given out, in each pool.
  void check_pools() {
    std::map<std::string, int> held;
    for (const auto& [name, world] : jobs) {
      const auto& allocation = world->status().allocation;
      for (const std::string pool : {"slow", "fast"}) {
        const bool its = allocation && allocation->pool == pool;
        held[pool] += std::max(in_pool(*world, pool), its ? allocation->workers : 0);
      }
    }
    for (const auto& [pool, workers] : held) EXPECT_LE(workers, 4) << "over-committed: " << pool;
  }
  void turns(int count) {
    for (int i = 0; i < count; ++i) {
      turn();
      check_pools();
    }
  }
  // All of it is in the fast pool, and its program was not started again.
  void expect_moved(const World& job) const {
    EXPECT_EQ(job.status().allocation->pool, "fast");
    EXPECT_FALSE(job.status().allocation->moved_from);
    EXPECT_EQ(in_pool(job, "slow"), 0);
    EXPECT_EQ(in_pool(job, "fast"), job.size());
    EXPECT_EQ(job.status().restarts, 0);
  }
};

TEST(PoolsOfAQueue, ADeadlineStartsInTheCheapestPoolThatIsInTime) {
  PoolsWorld world;
  auto& loose = world.add_due("loose", 400, 100);
  auto& tight = world.add_due("tight", 80, 100);
  world.settle(10);
  EXPECT_EQ(loose.status().allocation->pool, "slow");
  EXPECT_EQ(loose.status().allocation->workers, 2) << "200 s of 400: one would take 400";
  EXPECT_EQ(*loose.status().allocation->price_per_worker_hour, 1);
  EXPECT_EQ(tight.status().allocation->pool, "fast");
  EXPECT_EQ(tight.status().allocation->workers, 3) << "67 s on three that are twice as fast";
  EXPECT_EQ(tight.status().allocation->speed_percent, 200);
}

// Late in the slow pool, which is told after it has started.
PoolsWorld::World& fall_behind(PoolsWorld& world) {
  auto& job = world.add_due("a", 400, 100);
  world.settle(10);
  EXPECT_EQ(job.status().allocation->pool, "slow");
  ForecastStatus forecast;
  forecast.seconds_left = 1200;  // 2400 worker seconds: 600 s on four
  forecast.time = world.now;
  forecast.workers = 2;
  job.job.status.forecast = forecast;
  return job;
}

TEST(PoolsOfAQueue, AJobThatFallsBehindGoesToAFasterPoolAndRunsOn) {
  PoolsWorld world;
  auto& job = fall_behind(world);
  world.turns(60);
  world.expect_moved(job);
}

TEST(PoolsOfAQueue, TheOperatorMayBeKilledInFrontOfEachWriteOfAMove) {
  for (int killed = 0; killed < 12; ++killed) {
    SCOPED_TRACE("killed in front of write " + std::to_string(killed));
    PoolsWorld world;
    auto& job = fall_behind(world);
    world.writes_left = killed;
    world.turns(80);
    world.expect_moved(job);
  }
}

TEST(PoolsOfAQueue, APoolWhoseNodesGoIsLeftByAJobThatRunsOnWhereverTheOperatorIsKilled) {
  for (int killed = 0; killed < 12; ++killed) {
    SCOPED_TRACE("killed in front of write " + std::to_string(killed));
    PoolsWorld world;
    auto& job = world.add("a", 1, 4, ", pools: [slow, fast]", "", "    replicas: 4\n");
    world.settle(10);
    ASSERT_EQ(job.status().allocation->pool, "slow");
    ASSERT_EQ(job.size(), 4);
    world.cluster.records[0].queue.spec.pools[0].quota.cpu = Quantity{"0"};
    world.writes_left = killed;
    world.turns(80);
    world.expect_moved(job);
    EXPECT_EQ(job.size(), 4);
  }
}

// kubectl drain: the workers are evicted before the queue has seen that their node is cordoned, so others are
// on their way that no node has room for.
TEST(PoolsOfAQueue, AnEvictedJobLeavesItsPoolAlthoughReplacementsAreAwaitedThere) {
  PoolsWorld world;
  auto& job = world.add("a", 1, 2, ", pools: [slow, fast]", "", "    replicas: 2\n");
  world.settle(10);
  ASSERT_EQ(job.status().allocation->pool, "slow");
  for (PodView& pod : job.pods) pod.disruption_target = true;
  world.pass(job);
  ASSERT_TRUE(job.status().resize);
  ASSERT_EQ(job.status().resize->phase, ResizePhase::CreatingPods);
  const std::string awaited = job.status().resize->id;
  world.cluster.records[0].queue.spec.pools[0].quota.cpu = Quantity{"0"};
  world.now += Millis(500);
  world.scheduler->turn();
  world.pass(job);
  EXPECT_EQ(job.status().allocation->pool, "fast");
  ASSERT_TRUE(job.status().resize);
  EXPECT_NE(job.status().resize->id, awaited) << "another change, for the other pool";
  world.settle(60);
  world.expect_moved(job);
  EXPECT_EQ(job.size(), 2);
}

TEST(PoolsOfAQueue, SpotNodesAreForThoseWhoNameThem) {
  PoolsWorld world;
  world.cluster.records[0].queue.spec.pools[0].spot = true;
  auto& wary = world.add("wary", 1, 2);
  auto& bold = world.add("bold", 1, 2, ", pools: [slow, fast]");
  world.settle(10);
  EXPECT_EQ(wary.status().allocation->pool, "fast");
  EXPECT_EQ(bold.status().allocation->pool, "slow");
}

}  // namespace
}  // namespace emj::testing
