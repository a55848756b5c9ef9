// SPDX-License-Identifier: Apache-2.0
// Pools of different speed and price, spot nodes, and jobs that go from one to another (rules Q17 to Q19).

#include "operator/decide/queue/pools.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/queue/explain.hpp"
#include "operator/decide/queue/job_demand.hpp"
#include "operator/decide/queue/plan.hpp"
#include "operator/decide/queue/testing/jobs.hpp"

namespace emj::queue {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing_queue;

// As fast as it has workers: `work` seconds on one of speed 1.
Demand proportional(const std::string& name, int most, double work) {
  Demand demand = job(name, 1, most);
  std::vector<double> speeds;
  for (const int size : demand.curve->sizes()) speeds.push_back(size);
  demand.curve = std::make_shared<const Curve>(demand.curve->sizes(), std::move(speeds), Objective::Fair);
  demand.work_left = work;
  demand.by_price = true;
  demand.migrates = true;
  return demand;
}

Demand due(Demand demand, double seconds) {
  demand.deadline = at(seconds);
  demand.deadline_counts = true;
  return demand;
}

Pool pool(const std::string& name, int cores, double speed, double price) {
  return {.name = name, .capacity = Resources{1000, 0} * cores, .speed = speed, .price = price};
}

// Twice as fast for three times the price.
QueueState slow_and_fast(int slow = 8, int fast = 8) {
  QueueState state;
  state.pools = {pool("fast", fast, 2, 3), pool("slow", slow, 1, 1)};
  return state;
}

Demand with_pools(Demand demand) {
  demand.pools = {0, 1};
  return demand;
}

TEST(Pools, ADeadlineTakesTheCheapestThatIsInTime) {
  const QueueState state = slow_and_fast();
  Demand loose = with_pools(due(proportional("a", 8, 1000), 260));
  keep_to_goals(loose, state.pools, at(0));
  EXPECT_THAT(loose.pools, ElementsAre(1, 0));
  EXPECT_EQ(loose.floor, 4) << "250 s on four slow ones for 1000 worker seconds; two fast ones cost 1500";
  EXPECT_EQ(sizes_in(loose, 0).floor, 2) << "where that pool has no room";
  Demand tight = with_pools(due(proportional("a", 8, 1000), 100));
  keep_to_goals(tight, state.pools, at(0));
  EXPECT_THAT(tight.pools, ElementsAre(0, 1)) << "eight slow ones take 125 s";
  EXPECT_EQ(tight.floor, 5) << "a hundred seconds on five fast ones";
}

TEST(Pools, ABudgetTakesTheFastestThatItPaysFor) {
  const QueueState state = slow_and_fast();
  Demand rich = with_pools(proportional("a", 8, 3600));
  rich.budget = 2.0;  // a slow worker hour costs 1, a fast one does twice as much for 3
  keep_to_goals(rich, state.pools, at(0));
  EXPECT_THAT(rich.pools, ElementsAre(0, 1));
  EXPECT_EQ(rich.wish, 8);
  Demand poor = with_pools(proportional("a", 8, 3600));
  poor.budget = 1.2;
  keep_to_goals(poor, state.pools, at(0));
  EXPECT_THAT(poor.pools, ElementsAre(1, 0)) << "1.5 are too much";
  EXPECT_EQ(poor.floor, 1) << "a budget is no claim";
}

TEST(Pools, AJobStartsWithTheSizeThatItNeedsInThePoolThatHasRoom) {
  QueueState state = slow_and_fast(3, 8);
  state.jobs = {with_pools(due(proportional("a", 8, 1000), 260))};
  keep_to_goals(state.jobs[0], state.pools, at(0));
  const Plan plan = schedule(state, at(0));
  ASSERT_NE(grant_of(plan, 0), nullptr);
  EXPECT_EQ(grant_of(plan, 0)->allocation.pool, 0) << "four slow ones are not there";
  EXPECT_EQ(grant_of(plan, 0)->allocation.workers, 2);
}

TEST(Pools, NobodyIsShrunkWhileAnotherPoolHasRoom) {
  QueueState state = slow_and_fast(4, 4);
  state.jobs = {running(job("wide", 1, 4), 4), job("narrow", 2, 2, 1)};
  const Plan plan = schedule(state, at(1));
  ASSERT_NE(grant_of(plan, 1), nullptr);
  EXPECT_EQ(grant_of(plan, 1)->kind, Grant::Kind::Start);
  EXPECT_EQ(grant_of(plan, 1)->allocation.pool, 1);
  state.jobs[1].by_price = true;
  EXPECT_EQ(grant_of(schedule(state, at(1)), 1)->kind, Grant::Kind::Promise) << "it has its reasons";
}

TEST(Pools, SpotWorkersMakeRoomFirst) {
  QueueState state = slow_and_fast(4, 4);
  state.pools[1].spot = true;
  Demand on_spot = running(job("spot", 1, 4), 4);
  on_spot.allocation.pool = 1;
  state.jobs = {running(job("firm", 1, 4), 4), on_spot, job("next", 2, 2, 1)};
  const Plan plan = schedule(state, at(1));
  ASSERT_NE(grant_of(plan, 2), nullptr);
  EXPECT_EQ(grant_of(plan, 2)->allocation.pool, 1);
}

TEST(Pools, ARunningJobGoesWhereItIsInTime) {
  QueueState state = slow_and_fast();
  Demand late = with_pools(due(proportional("late", 8, 2000), 200));
  late = running(late, 8);
  late.allocation.pool = 1;
  late.changed = at(-100);
  state.jobs = {late};
  keep_to_goals(state.jobs[0], state.pools, at(0));
  EXPECT_EQ(grant_of(schedule(state, at(0)), 0), nullptr) << "it has not rested";
  state.jobs[0].changed = at(-400);
  const Plan plan = schedule(state, at(0));
  const Grant* grant = grant_of(plan, 0);
  ASSERT_NE(grant, nullptr) << "250 s here, 125 and both changes there";
  EXPECT_EQ(grant->kind, Grant::Kind::Migrate);
  EXPECT_EQ(grant->allocation.pool, 0);
  EXPECT_EQ(grant->allocation.workers, 6) << "167 s and 2 for the changes";
  EXPECT_THAT(explain(state, *grant, at(0)), HasSubstr("moves from pool slow to fast (8 -> 6)"));

  QueueState full = state;
  full.jobs.push_back(running(job("other", 4, 4), 4));
  EXPECT_EQ(grant_of(schedule(full, at(0)), 0), nullptr) << "nobody makes room for that";
  full = state;
  full.jobs[0].migrates = false;
  EXPECT_EQ(grant_of(schedule(full, at(0)), 0), nullptr);
}

TEST(Pools, ARunningJobGoesWhereItIsCheaperIfThatPaysForTheChanges) {
  QueueState state = slow_and_fast();
  Demand dear = running(with_pools(due(proportional("dear", 8, 4000), 2100)), 1);
  dear.changed = at(-400);
  dear.speed = 2;
  state.jobs = {dear};
  keep_to_goals(state.jobs[0], state.pools, at(0));
  const Plan plan = schedule(state, at(0));
  ASSERT_NE(grant_of(plan, 0), nullptr) << "6000 here, 4000 there";
  EXPECT_EQ(grant_of(plan, 0)->allocation.pool, 1);
  EXPECT_EQ(grant_of(plan, 0)->allocation.workers, 2);
  state.jobs[0].lost_seconds = 60;
  EXPECT_EQ(grant_of(schedule(state, at(0)), 0), nullptr) << "ten times 600 is more than 2000";
}

// Its nodes are cordoned: what runs there is about to be evicted.
QueueState cordoned(Demand demand) {
  QueueState state = slow_and_fast();
  state.pools[1].capacity = {};
  demand = running(std::move(demand), 4);
  demand.allocation.pool = 1;
  demand.changed = at(-10);  // it need not rest for that
  state.jobs = {demand};
  keep_to_goals(state.jobs[0], state.pools, at(0));
  return state;
}

TEST(Pools, APoolWithoutNodesIsLeft) {
  const QueueState state = cordoned(with_pools(due(proportional("due", 8, 1000), 260)));
  const Plan plan = schedule(state, at(0));
  const Grant* grant = grant_of(plan, 0);
  ASSERT_NE(grant, nullptr);
  EXPECT_EQ(grant->kind, Grant::Kind::Leave);
  EXPECT_EQ(grant->allocation.pool, 0);
  EXPECT_EQ(grant->allocation.workers, 2) << "250 s on two that are twice as fast, and 2 for the changes";
  EXPECT_THAT(explain(state, *grant, at(0)),
              HasSubstr("leaves pool slow, which has no room for it any more"));
}

TEST(Pools, APoolWithoutNodesIsLeftByEveryJobThatCanBeResized) {
  Demand plain = with_pools(job("plain", 2, 8));
  plain.migrates = true;
  const QueueState state = cordoned(plain);
  const Plan plan = schedule(state, at(0));
  ASSERT_NE(grant_of(plan, 0), nullptr) << "nobody knows how long it takes";
  EXPECT_EQ(grant_of(plan, 0)->allocation.pool, 0);
  EXPECT_EQ(grant_of(plan, 0)->allocation.workers, 4) << "as many as it has";

  QueueState narrow = state;
  narrow.jobs.push_back(running(job("other", 5, 5), 5));
  EXPECT_EQ(grant_of(schedule(narrow, at(0)), 0)->allocation.workers, 3) << "as many as there are";
  QueueState full = state;
  full.jobs.push_back(running(job("other", 7, 7), 7));
  EXPECT_NE(grant_of(schedule(full, at(0)), 0)->kind, Grant::Kind::Leave) << "fewer than it can run on";
  QueueState rigid = state;
  rigid.jobs[0].migrates = false;
  EXPECT_EQ(grant_of(schedule(rigid, at(0)), 0)->allocation.pool, 1);
  QueueState named = state;
  named.jobs[0].pools = {1};
  EXPECT_EQ(grant_of(schedule(named, at(0)), 0)->allocation.pool, 1) << "it may be in no other";
}

TEST(Pools, WhoWaitsForWorkersDoesNotKeepAJobOnNodesThatGo) {
  QueueState state = cordoned(with_pools(due(proportional("due", 8, 1000), 260)));
  state.jobs.push_back(job("large", 8, 8, 1));
  const Plan plan = schedule(state, at(0));
  ASSERT_NE(grant_of(plan, 0), nullptr);
  EXPECT_EQ(grant_of(plan, 0)->kind, Grant::Kind::Leave);
}

TEST(Pools, WhatALeaverHoldsCountsUntilItIsGone) {
  QueueState state = slow_and_fast();
  Demand moving = running(job("moving", 1, 8), 4);
  moving.left = {{1, 3}};
  state.jobs = {moving};
  const auto ledgers = make_ledgers(state);
  EXPECT_EQ(ledgers[0].free.milli_cpu, 4000);
  EXPECT_EQ(ledgers[1].free.milli_cpu, 5000);
  EXPECT_EQ(ledgers[1].releasing.milli_cpu, 3000);
}

// --- from specs ------------------------------------------------------------------------------------

QueueSpec spec_of(const std::string& pools) {
  return parse_queue_yaml(
             "apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticQueue\nmetadata: {name: q}\nspec:\n  pools: "
             "[" +
                 pools + "]\n",
             "q.yaml")
      .value()
      .spec;
}

ElasticMPIJob job_of(const std::string& scheduling, const std::string& policy) {
  return parse_yaml(
             "apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticMPIJob\nmetadata: {name: a, namespace: "
             "team}\nspec:\n"
             "  scheduling: {queueName: q, " +
                 scheduling + "}\n  autoscaling: {mode: Auto, policy: {name: " + policy +
                 "}}\n  worker:\n    minReplicas: 1\n    maxReplicas: 4\n    replicas: 2\n    template:\n"
                 "      spec: {containers: [{name: worker, image: x, command: [a]}]}\n",
             "a.yaml")
      .value();
}

const char* const kThree =
    "{name: a, quota: {cpu: 8}}, {name: b, quota: {cpu: 8}, spot: true}, "
    "{name: c, quota: {cpu: 8}, speedPercent: 200, pricePerCPUHour: 1}";

Demand demand(const ElasticMPIJob& of, const QueueSpec& queue, const LivingPods& pods = 0) {
  const Asked asked = demand_of(of, pods, queue, {}, at(0));
  return std::get<Demand>(asked);
}

TEST(PoolsOfAJob, SpotOnlyByName) {
  const QueueSpec queue = spec_of(kThree);
  EXPECT_THAT(demand(job_of("", "efficiency"), queue).pools, ElementsAre(0, 2));
  EXPECT_THAT(demand(job_of("pools: [b, a]", "efficiency"), queue).pools, ElementsAre(1, 0));
}

TEST(PoolsOfAJob, WorkIsCountedOnCoresOfTheCommonSpeed) {
  const QueueSpec queue = spec_of(kThree);
  ElasticMPIJob of = job_of("pools: [c], expectedSeconds: 600", "efficiency");
  Demand waits = demand(of, queue);
  EXPECT_DOUBLE_EQ(*seconds_left(waits, 2), 300) << "600 s are said for cores that are half as fast";
  of.status.allocation.emplace();
  of.status.allocation->workers = 2;
  of.status.allocation->pool = "c";
  of.status.state = JobState::Running;
  of.status.active_workers = IndexSet({0, 1});
  of.status.start_time = at(-100);
  EXPECT_DOUBLE_EQ(*seconds_left(demand(of, queue, 2), 2), 200);
  of.status.forecast = ForecastStatus{150, 0, ForecastSource::Progress, at(0)};
  EXPECT_DOUBLE_EQ(*seconds_left(demand(of, queue, 2), 2), 150) << "that was measured there";
  EXPECT_DOUBLE_EQ(*seconds_left_at(demand(of, queue, 2), 2, 1), 300);
}

TEST(PoolsOfAJob, WhoseBudgetIsSpentBeforeItStartsWaitsForMore) {
  const QueueSpec queue = spec_of(kThree);
  ElasticMPIJob of = job_of("budget: 2", "budget");
  of.status.cost = CostStatus{2.5, 0, 0, at(-100)};
  const Asked asked = demand_of(of, 0, queue, {}, at(0));
  const auto* refused = std::get_if<Refused>(&asked);
  ASSERT_NE(refused, nullptr);
  EXPECT_THAT(refused->reason, HasSubstr("its budget of 2 is spent: earlier runs have cost 2.5; raise"));
  of.spec.scheduling.budget = Quantity{"3"};
  EXPECT_NEAR(*demand(of, queue).budget, .5, 1e-9);
  of.status.cost->spent = 4;
  of.status.allocation.emplace();
  of.status.allocation->workers = 2;
  of.status.allocation->pool = "a";
  EXPECT_EQ(demand(of, queue, 2).budget, -1) << "what runs goes on";
}

TEST(PoolsOfAJob, PodsOfAnotherPoolAreOnTheirWayOut) {
  const QueueSpec queue = spec_of(kThree);
  ElasticMPIJob of = job_of("", "efficiency");
  of.status.allocation.emplace();
  of.status.allocation->workers = 2;
  of.status.allocation->pool = "c";
  of.status.state = JobState::Running;
  of.status.active_workers = IndexSet({0, 1});
  const Demand moving = demand(of, queue, LivingPods(2, {{"a", 1}}));
  EXPECT_EQ(moving.held, 2);
  ASSERT_EQ(moving.left.size(), 1u);
  EXPECT_EQ(moving.left[0].pool, 0);
  EXPECT_TRUE(moving.resizing) << "nobody asks it for more meanwhile";
}

}  // namespace
}  // namespace emj::queue
