// SPDX-License-Identifier: Apache-2.0
// Deadlines in a queue: what a job needs, when it comes first, and whose deadline counts.

#include "operator/decide/queue/urgent.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "operator/decide/queue/job_demand.hpp"
#include "operator/decide/queue/order.hpp"
#include "operator/decide/queue/plan.hpp"

namespace emj::queue {
namespace {

using ::testing::ElementsAre;

constexpr Time kNow{Seconds(1'700'000'000)};
constexpr Resources kCpu{1000, 0};

// Its speed is in proportion to its workers: `work` seconds on one.
Demand job(const std::string& uid, int floor, int most, double work, Time since = kNow) {
  std::vector<int> sizes(most - floor + 1);
  std::iota(sizes.begin(), sizes.end(), floor);
  std::vector<double> speeds(sizes.begin(), sizes.end());
  Demand demand;
  demand.uid = demand.name = uid;
  demand.namespace_name = "default";
  demand.worker = kCpu;
  demand.curve = std::make_shared<const Curve>(std::move(sizes), std::move(speeds), Objective::Fair);
  demand.floor = floor;
  demand.wish = demand.trusted = demand.reference = most;
  demand.since = since;
  demand.work_left = work;
  return demand;
}

Demand with_deadline(Demand demand, double seconds, bool counts = true) {
  demand.deadline = after(kNow, seconds);
  demand.deadline_counts = counts;
  return demand;
}

Demand running_on(Demand demand, int workers) {
  demand.allocation = {.workers = workers, .pool = 0, .time = kNow - Seconds(1000)};
  demand.held = workers;
  demand.started = demand.changed = kNow - Seconds(1000);
  return demand;
}

QueueState state_of(std::vector<Demand> jobs, int cpus = 8) {
  QueueState state;
  state.pools = {{"cores", kCpu * cpus}};
  state.jobs = std::move(jobs);
  return state;
}

TEST(KeepToDeadline, NeedsTheLeastSizeThatIsInTimeAndWishesForNoMore) {
  Demand demand = with_deadline(job("a", 1, 8, 1000), 260);
  keep_to_deadline(demand, kNow);
  EXPECT_EQ(demand.floor, 4) << "250 s";
  EXPECT_EQ(demand.wish, 4);
  keep_to_deadline(demand = with_deadline(job("a", 1, 8, 1000), 260), kNow + Seconds(100));
  EXPECT_EQ(demand.floor, 7) << "the longer it waits the more it needs";
  demand = with_deadline(job("a", 1, 8, 1000), 260);
  demand.margin = .1;
  keep_to_deadline(demand, kNow);
  EXPECT_EQ(demand.floor, 5) << "on four it is over in time, but not with the margin";
}

TEST(KeepToDeadline, WhatCannotBeMetIsNoClaim) {
  Demand demand = with_deadline(job("a", 1, 8, 1000), 60);
  keep_to_deadline(demand, kNow);
  EXPECT_EQ(demand.floor, 1);
  EXPECT_EQ(demand.wish, 8) << "it may have what is left over";
  demand = with_deadline(job("a", 1, 8, 1000), 260, false);
  keep_to_deadline(demand, kNow);
  EXPECT_EQ(demand.floor, 1) << "was changed later, or infeasible at submission";
  EXPECT_EQ(demand.wish, 4);
}

TEST(KeepToDeadline, ARunningJobKeepsWhatIsEnough) {
  Demand demand = with_deadline(running_on(job("a", 1, 8, 1000), 4), 260);
  demand.lost_seconds = 5;
  keep_to_deadline(demand, kNow);
  EXPECT_EQ(demand.floor, 4);
  demand = with_deadline(running_on(job("a", 1, 8, 1000), 4), 240);
  demand.lost_seconds = 5;
  keep_to_deadline(demand, kNow);
  EXPECT_EQ(demand.floor, 5) << "200 s and 5 s for the change";
  demand = with_deadline(running_on(job("a", 1, 8, 1000), 4), 240);
  demand.sized = true;
  demand.wish = 6;
  keep_to_deadline(demand, kNow);
  EXPECT_EQ(demand.floor, 6) << "its own policy has measured it";
}

TEST(Urgent, ComesFirstInItsPriorityWhileItCanStillBeMet) {
  Demand early = job("early", 2, 2, 100, kNow - Seconds(500));
  Demand late = with_deadline(job("late", 1, 8, 800, kNow), 112);  // 100 s on eight, 10 s for two releases
  QueueState state = state_of({early, late});
  EXPECT_THAT(waiting_order(state, kNow), ElementsAre(0, 1)) << "12 s to spare";
  EXPECT_THAT(waiting_order(state, kNow + Seconds(5)), ElementsAre(1, 0));
  EXPECT_THAT(waiting_order(state, kNow + Seconds(13)), ElementsAre(0, 1))
      << "too late: no reason to pass others";
  state.jobs[0].priority = 1;
  EXPECT_THAT(waiting_order(state, kNow + Seconds(5)), ElementsAre(0, 1)) << "never before a higher priority";
  state.jobs[0].priority = 0;
  state.jobs[1].deadline_counts = false;
  EXPECT_THAT(waiting_order(state, kNow + Seconds(5)), ElementsAre(0, 1));
}

TEST(Urgent, ThePlanWakesWhenAJobGetsUrgent) {
  const Demand wide = running_on(job("a", 8, 8, 1e6, kNow - Seconds(500)), 8);
  const Plan plan = schedule(state_of({wide, with_deadline(job("late", 1, 8, 800), 200)}), kNow);
  ASSERT_TRUE(plan.wake);
  EXPECT_EQ(*plan.wake, kNow + Seconds(90));
}

// Step 8.
TEST(Urgent, ARunningJobThatFallsBehindGetsWhatItNeeds) {
  Demand behind = with_deadline(running_on(job("a", 1, 8, 1000, kNow - Seconds(500)), 2), 260);
  keep_to_deadline(behind, kNow);
  ASSERT_EQ(behind.floor, 4);
  Plan plan = schedule(state_of({behind}), kNow);
  ASSERT_EQ(plan.grants.size(), 1u);
  EXPECT_EQ(plan.grants[0].kind, Grant::Kind::Grow);
  EXPECT_EQ(plan.grants[0].allocation.workers, 4) << "there is room";

  const Demand other = running_on(job("b", 1, 8, 1e6, kNow - Seconds(400)), 6);
  QueueState full = state_of({behind, other});
  QueueState in_vain = full;
  in_vain.jobs[0].free_only = {0};
  EXPECT_TRUE(schedule(in_vain, kNow).grants.empty())
      << "no node has taken what it was given, twice (rule Q29)";
  plan = schedule(full, kNow);
  ASSERT_EQ(plan.grants.size(), 1u);
  EXPECT_EQ(plan.grants[0].kind, Grant::Kind::Promise);
  EXPECT_EQ(plan.grants[0].allocation.workers, 2);
  EXPECT_EQ(plan.grants[0].allocation.promised, 4);
  full.jobs[0].allocation = plan.grants[0].allocation;  // it stands
  plan = schedule(full, kNow);
  ASSERT_EQ(plan.grants.size(), 1u);
  EXPECT_EQ(plan.grants[0].kind, Grant::Kind::Yield);
  EXPECT_EQ(plan.grants[0].allocation.workers, 4) << "of the other";
  full.jobs[1].allocation = plan.grants[0].allocation;
  full.jobs[1].held = 4;
  plan = schedule(full, kNow);
  ASSERT_FALSE(plan.grants.empty());
  EXPECT_EQ(plan.grants[0].kind, Grant::Kind::Grow);
  EXPECT_EQ(plan.grants[0].allocation.workers, 4);
}

TEST(Urgent, NobodyTakesAJobBelowWhatItsDeadlineNeeds) {
  Demand needs = with_deadline(running_on(job("a", 1, 8, 1000, kNow - Seconds(500)), 4), 260);
  keep_to_deadline(needs, kNow);
  const Demand other = running_on(job("b", 1, 8, 1e6, kNow - Seconds(400)), 4);
  Demand waits = job("c", 4, 4, 100);
  const Plan plan = schedule(state_of({needs, other, waits}), kNow);
  EXPECT_TRUE(std::ranges::none_of(plan.grants, [](const Grant& grant) {
    return grant.kind == Grant::Kind::Promise;
  })) << "three can be had from b, none from a";
}

// --- from a job's spec and status ---------------------------------------------------------------------

ElasticMPIJob manifest(const std::string& scheduling, const std::string& policy = "deadline") {
  auto parsed = parse_yaml(
      "apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticMPIJob\nmetadata: {name: demo, uid: u}\nspec:\n"
      "  autoscaling: {mode: Auto, policy: {name: " +
          policy + "}}\n  scheduling: {queueName: main, " + scheduling +
          "}\n  worker: {minReplicas: 2, maxReplicas: 8, template: {spec: {containers: [{name: worker, "
          "command: [p]}]}}}\n",
      "job.yaml");
  EXPECT_TRUE(parsed.ok()) << parsed.message();
  ElasticMPIJob job = parsed.value();
  job.metadata.creation_time = kNow;
  job.status.queue.emplace().since = kNow;
  return job;
}

QueueSpec two_pools(const std::string& first, const std::string& second) {
  QueueSpec spec;
  spec.pools.resize(2);
  spec.pools[0].name = "dear";
  spec.pools[1].name = "cheap";
  for (PoolSpec& pool : spec.pools) pool.quota.cpu = Quantity{"16"};
  spec.pools[0].price = Quantity{first};
  spec.pools[1].price = Quantity{second};
  return spec;
}

Demand demand(const ElasticMPIJob& of, const QueueSpec& spec = two_pools("0", "0")) {
  const Asked asked = demand_of(of, 0, spec, {}, kNow);
  EXPECT_TRUE(std::holds_alternative<Demand>(asked));
  return std::get<Demand>(asked);
}

TEST(Deadline, CountsAsItCameAndNotWhenItWasChanged) {
  ElasticMPIJob with = manifest("deadlineSeconds: 600, expectedSeconds: 900");
  EXPECT_FALSE(demand(with).deadline_counts) << "it could not be met when it came";
  with.status.queue->deadline = deadline_of(with);
  EXPECT_TRUE(demand(with).deadline_counts);
  EXPECT_EQ(demand(with).deadline, kNow + Seconds(600));
  with.spec.scheduling.deadline_after = Seconds(300);
  EXPECT_FALSE(demand(with).deadline_counts);
  EXPECT_FALSE(demand(manifest("deadlineSeconds: 600", "efficiency")).deadline) << "nobody sizes it for that";
}

TEST(Pools, TheCheapestFirstForWhoCounts) {
  const QueueSpec queue = two_pools("0.12", "0.04");
  EXPECT_THAT(demand(manifest("deadlineSeconds: 600"), queue).pools, ElementsAre(1, 0));
  EXPECT_THAT(demand(manifest("budget: 2", "budget"), queue).pools, ElementsAre(1, 0));
  EXPECT_THAT(demand(manifest("budget: 2", "efficiency"), queue).pools, ElementsAre(0, 1));
  EXPECT_THAT(demand(manifest("budget: 2, pools: [dear]", "budget"), queue).pools, ElementsAre(0));
  const Resources worker{2000, 0};
  EXPECT_DOUBLE_EQ(worker_price(queue, "dear", worker).value(), .24);
  EXPECT_FALSE(worker_price(two_pools("0", "0"), "dear", worker)) << "CPU hours are counted";
}

}  // namespace
}  // namespace emj::queue
