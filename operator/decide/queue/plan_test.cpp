// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/queue/explain.hpp"
#include "operator/decide/queue/order.hpp"
#include "operator/decide/queue/testing/jobs.hpp"

namespace emj::queue {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace testing_queue;

// The example of rule Q26: A (2..8) runs on 8 of 8, B (rigid, 4) arrives, then C (2..4).
TEST(Promises, AreMadeThenServedByDonorsThenGranted) {
  QueueState state = machine(8);
  state.jobs = {running(job("A", 2, 8), 8), job("B", 4, 4, 10)};
  Plan plan = schedule(state, at(10));
  ASSERT_EQ(plan.grants.size(), 1u) << "nobody shrinks for a promise that is not written";
  EXPECT_EQ(plan.grants[0].kind, Grant::Kind::Promise);
  EXPECT_EQ(plan.grants[0].allocation.promised, 4);

  carry_out(state, plan, at(10));
  plan = schedule(state, at(10));
  ASSERT_EQ(plan.grants.size(), 1u);
  EXPECT_EQ(plan.grants[0].kind, Grant::Kind::Yield);
  EXPECT_EQ(plan.grants[0].allocation.workers, 4);
  EXPECT_EQ(explain(state, plan.grants[0], at(50)), "yields 4 workers to B, which has waited 40 s (8 -> 4)");

  carry_out(state, plan, at(10));
  EXPECT_THAT(schedule(state, at(11)).grants, IsEmpty()) << "asked once";

  // 0 free + 4 releasing + 2 surplus - 4 promised = 2: C is promised as well.
  state.jobs.push_back(job("C", 2, 4, 12));
  plan = schedule(state, at(12));
  ASSERT_EQ(plan.grants.size(), 1u);
  EXPECT_EQ(plan.grants[0].kind, Grant::Kind::Promise);
  carry_out(state, plan, at(12));

  release(state.jobs[0]);
  plan = schedule(state, at(15));
  ASSERT_NE(grant_of(plan, 1), nullptr);
  EXPECT_EQ(grant_of(plan, 1)->kind, Grant::Kind::Start);
  EXPECT_EQ(grant_of(plan, 1)->allocation.workers, 4);
  ASSERT_NE(grant_of(plan, 0), nullptr);
  EXPECT_EQ(grant_of(plan, 0)->allocation.workers, 2) << "for C";
  EXPECT_EQ(grant_of(plan, 2), nullptr);
}

TEST(Promises, OfEarlierJobsDoNotHoldBackWhatIsFreeForLaterOnes) {
  QueueState state = machine(10);
  Demand first = job("B", 6, 6, 1), second = job("C", 2, 2, 2);
  first.allocation = {.promised = 6, .pool = 0, .time = at(1)};
  second.allocation = {.promised = 2, .pool = 0, .time = at(2)};
  Demand donor = running(job("A", 2, 8), 4);
  donor.held = 8;  // 4 are on their way
  donor.resizing = true;
  state.jobs = {donor, first, second};
  // 2 free, 4 releasing: B waits for 4 and 2 of the free ones are B's.
  EXPECT_EQ(grant_of(schedule(state, at(3)), 2), nullptr);
  state.jobs[0].allocation.workers = 2;  // 6 are on their way: B needs none of the free ones
  const Plan plan = schedule(state, at(3));
  ASSERT_NE(grant_of(plan, 2), nullptr);
  EXPECT_EQ(grant_of(plan, 2)->kind, Grant::Kind::Start);
}

TEST(Promises, GoToAHigherPriorityThatFitsNowhereElse) {
  QueueState state = urgent_behind_a_promise(4);
  EXPECT_THAT(schedule(state, at(3)).grants, IsEmpty()) << "it would not fit without that promise either";
  state.jobs.erase(state.jobs.begin());
  state.pools[0].capacity = {4000, 0};
  state.jobs[0].allocation.promised = 4;
  const Plan plan = schedule(state, at(3));
  ASSERT_NE(grant_of(plan, 0), nullptr);
  EXPECT_EQ(grant_of(plan, 0)->kind, Grant::Kind::Withdraw);
  ASSERT_NE(grant_of(plan, 1), nullptr);
  EXPECT_EQ(grant_of(plan, 1)->kind, Grant::Kind::Start);
}

TEST(Promises, AreWithdrawnWhenTheirPoolIsTooSmall) {
  QueueState state = machine(3);
  Demand promised = job("B", 4, 4, 1);
  promised.allocation = {.promised = 4, .pool = 0, .time = at(1)};
  state.jobs = {promised};
  const Plan plan = schedule(state, at(2));
  ASSERT_EQ(plan.grants.size(), 1u);
  EXPECT_EQ(plan.grants[0].kind, Grant::Kind::Withdraw);
}

// Found by a random history: it was withdrawn and made again, for ever.
TEST(Promises, AreNotMadeInAPoolThatHasBecomeTooSmall) {
  QueueState state = machine(3);
  state.pools.push_back({"other", {4000, 0}});
  Demand full = running(job("B", 4, 4), 4);
  full.allocation.pool = 1;
  state.jobs = {running(job("A", 1, 8), 8), full, job("C", 4, 4, 1)};
  for (const Grant& grant : schedule(state, at(1)).grants) EXPECT_NE(grant.kind, Grant::Kind::Promise);
}

// While more is held than there is, what is let go of may be more than the pool: no promise is worth taking
// back for a job that does not fit into it. (Taken back and made anew in turn, rule Q34.)
TEST(Promises, AreLeftAloneForAJobThatIsLargerThanTheirPool) {
  QueueState state = machine(5);
  state.pools.push_back({"other", Resources{1000, 0} * 8});
  Demand ending = job("a", 7, 7, 0);  // its start has failed, its pods are still there
  ending.allocation.pool = 0;
  ending.held = 7;
  ending.resizing = true;
  ending.written = false;
  Demand fills = running(job("b", 8, 8, 1), 8);
  fills.allocation.pool = 1;
  Demand promised = job("c", 3, 3, 2);
  promised.allocation = {.promised = 3, .pool = 0, .time = at(2)};
  Demand head = job("d", 6, 6, 3);
  head.priority = 1;
  state.jobs = {ending, fills, promised, head};
  const Plan plan = schedule(state, at(10));
  EXPECT_TRUE(plan.grants.empty());
  EXPECT_EQ(plan.waiting, std::vector{3});
}

TEST(Donors, KeepTheirReferenceSizeAgainstLowerPriorities) {
  QueueState state = machine(8);
  Demand important = running(job("A", 2, 8), 8);
  important.priority = 5;
  important.reference = 6;
  Demand waiting = job("B", 3, 3, 1);
  state.jobs = {important, waiting};
  EXPECT_THAT(schedule(state, at(1)).grants, IsEmpty()) << "6 to 8 are 2, which is not enough";
  state.jobs[1] = job("B", 2, 2, 1);
  const Plan plan = schedule(state, at(1));
  ASSERT_EQ(plan.grants.size(), 1u);
  EXPECT_EQ(plan.grants[0].kind, Grant::Kind::Promise);
}

TEST(Donors, GoToTheirFloorsWhenNodesHaveGone) {
  QueueState state = machine(5);
  state.jobs = {running(job("A", 2, 8), 6), running(job("B", 2, 2), 2)};
  const Plan plan = schedule(state, at(1));
  ASSERT_EQ(plan.grants.size(), 1u);
  EXPECT_EQ(plan.grants[0].kind, Grant::Kind::GiveBack);
  EXPECT_EQ(plan.grants[0].allocation.workers, 3);
}

TEST(Waiting, OthersPassTheFirstOnlyWhenTheyCannotDelayIt) {
  for (const Backfill backfill : {Backfill::Easy, Backfill::Conservative, Backfill::None}) {
    QueueState state = machine(8);
    state.rules.backfill = backfill;
    Demand first = running(job("A", 6, 6), 6);
    first.work_left = 100;
    Demand shorter = job("C", 2, 2, 2), longer = job("D", 2, 2, 3);
    shorter.work_left = 100;
    longer.work_left = 101;
    state.jobs = {first, job("B", 8, 8, 1), longer, shorter};
    state.jobs[2].since = at(2);
    state.jobs[3].since = at(3);
    const Plan plan = schedule(state, at(3));
    EXPECT_EQ(grant_of(plan, 2), nullptr) << "it would end after the first could start";
    ASSERT_FALSE(plan.reservations.empty());
    EXPECT_EQ(plan.reservations[0].job, 1);
    EXPECT_EQ(plan.reservations[0].start, at(103));
    if (backfill == Backfill::None) {
      EXPECT_EQ(grant_of(plan, 3), nullptr);
    } else {
      ASSERT_NE(grant_of(plan, 3), nullptr);
      EXPECT_EQ(grant_of(plan, 3)->kind, Grant::Kind::Backfill);
    }
    EXPECT_THAT(explain_waiting(state, plan, 1),
                HasSubstr("0 jobs before it; needs 8 workers of 1 CPU: 2 free, 0 can be had from others"));
  }
}

TEST(Explain, TimesAreReadableHoweverLongTheyAre) {
  QueueState state = machine(8);
  state.jobs = {job("a", 2, 8), running(job("b", 1, 8), 8)};
  for (const auto& [seconds, text] : {std::pair{40., "after 40 s"},
                                      {1250., "after 21 min"},
                                      {86400., "after 24 h"},
                                      {260000., "after 3 d"}}) {
    const Grant start{.job = 0, .kind = Grant::Kind::Start, .allocation = {.workers = 2, .pool = 0}};
    EXPECT_THAT(explain(state, start, at(seconds)), HasSubstr(text));
    const Grant grow{.job = 1,
                     .kind = Grant::Kind::Grow,
                     .allocation = {.workers = 8, .pool = 0},
                     .saved = seconds / 3,
                     .left = seconds};
    EXPECT_THAT(explain(state, grow, at(seconds)), ::testing::Not(HasSubstr("e+")));
  }
}

TEST(Waiting, ConservativeDelaysNobodyWithAReservation) {
  QueueState state = machine(8);
  state.rules.backfill = Backfill::Conservative;
  Demand first = running(job("A", 4, 4), 4);
  first.work_left = 100;
  Demand wide = job("B", 8, 8, 1), second = job("C", 5, 5, 2), last = job("D", 4, 4, 3);
  wide.work_left = 100;
  second.work_left = 50;
  last.work_left = 300;  // past both
  state.jobs = {first, wide, second, last};
  const Plan plan = schedule(state, at(0));
  EXPECT_THAT(plan.grants, IsEmpty());
  ASSERT_EQ(plan.reservations.size(), 3u);
  EXPECT_EQ(plan.reservations[0].start, at(100));
  EXPECT_EQ(plan.reservations[1].start, at(200));
  EXPECT_EQ(plan.reservations[2].start, at(250));
}

// The first waits for workers of a job that says nothing of its end: as long again as that has run (and 600 s
// at least) others go by it, so they cost it no more time than that job had taken by then.
TEST(Waiting, OneWhoseStartCannotBeToldIsPassedForABoundedTimeOnly) {
  for (const Backfill backfill : {Backfill::Easy, Backfill::Conservative}) {
    QueueState state = machine(8);
    state.rules.backfill = backfill;
    Demand first = running(job("A", 6, 6), 6);
    first.work_left.reset();
    Demand endless = job("C", 1, 1, 2), longer = job("D", 1, 1, 3), shorter = job("E", 1, 1, 4);
    endless.work_left.reset();
    longer.work_left = 700;
    shorter.work_left = 600;
    state.jobs = {first, job("B", 8, 8, 1), endless, longer, shorter};
    Plan plan = schedule(state, at(10));
    EXPECT_THAT(plan.reservations, IsEmpty()) << "a guess is no promise";
    EXPECT_EQ(grant_of(plan, 2), nullptr) << "it may never end";
    EXPECT_EQ(grant_of(plan, 3), nullptr);
    ASSERT_NE(grant_of(plan, 4), nullptr);
    EXPECT_EQ(grant_of(plan, 4)->kind, Grant::Kind::Backfill);

    state.jobs[4].work_left = 1e6;
    plan = schedule(state, at(699));
    EXPECT_THAT(plan.grants, IsEmpty());
    plan = schedule(state, at(700));
    ASSERT_EQ(plan.grants.size(), 1u);
    EXPECT_EQ(plan.grants[0].job, 3);
  }
}

TEST(Waiting, AnOverdueJobIsFirstAndPassedByNobody) {
  QueueState state = machine(8);
  state.rules.order.max_wait = Seconds(1000);
  Demand urgent = job("B", 2, 2, 10);
  Demand first = running(job("A", 6, 6), 6);
  first.work_left = 1e6;
  state.jobs = {first, job("old", 8, 8, 1), urgent};
  state.jobs[2].work_left = 5;
  ASSERT_NE(grant_of(schedule(state, at(900)), 2), nullptr);
  EXPECT_EQ(grant_of(schedule(state, at(1002)), 2), nullptr);
}

TEST(Waiting, IsByPriorityThenByFairShare) {
  QueueState state = machine(1);
  state.rules.order.fair_share.by_namespace = true;
  state.usage = {{"greedy", 75}, {"modest", 25}};
  Demand greedy = job("1", 1, 1, 0), modest = job("2", 1, 1, 7000), first = job("3", 1, 1, 9000);
  greedy.namespace_name = "greedy";
  modest.namespace_name = "modest";
  first.namespace_name = "greedy";
  first.priority = 1;
  state.jobs = {greedy, modest, first};
  // 75 % of the usage for half of the weight: half of the penalty, 7200 s.
  EXPECT_DOUBLE_EQ(share_penalty(state, "greedy"), 7200);
  EXPECT_DOUBLE_EQ(share_penalty(state, "modest"), 0);
  EXPECT_THAT(waiting_order(state, at(10000)), ElementsAre(2, 1, 0));
}

// Usage decays for months. Who has no job has no share: the others' are what they are without it.
TEST(Waiting, FairShareIsAmongThoseWhoHaveJobs) {
  QueueState state = machine(1);
  state.rules.order.fair_share.by_namespace = true;
  state.usage = {{"greedy", 75}, {"modest", 25}};
  for (int i = 0; i < 8; ++i) state.usage["old-" + std::to_string(i)] = i == 0 ? 500 : 1e-3;
  Demand greedy = job("1", 1, 1, 0), modest = job("2", 1, 1, 7000);
  greedy.namespace_name = "greedy";
  modest.namespace_name = "modest";
  state.jobs = {greedy, modest};
  EXPECT_DOUBLE_EQ(share_penalty(state, "greedy"), 7200);
  EXPECT_DOUBLE_EQ(share_penalty(state, "modest"), 0);
  EXPECT_THAT(waiting_order(state, at(10000)), ElementsAre(1, 0));
}

TEST(Waiting, OneThatCanNeverFitHoldsNobodyUp) {
  QueueState state = machine(4);
  state.jobs = {job("huge", 8, 8, 0), job("B", 4, 4, 1)};
  const Plan plan = schedule(state, at(1));
  ASSERT_NE(grant_of(plan, 1), nullptr);
  EXPECT_THAT(explain_waiting(state, plan, 0), HasSubstr("pool machine has 4 CPU"));
}

TEST(Waiting, WhatIsShortAndWhoCouldGiveIsSaid) {
  QueueState state = machine(16);
  state.pools[0].capacity.memory_mib = 9 * 1024;
  state.jobs = {running(job("A", 2, 8), 4), running(job("B", 3, 8), 4), running(job("C", 3, 8), 4)};
  for (Demand& one : state.jobs) one.frozen_until = at(1000);
  const auto said = [&](int workers, int gib) {
    Demand waiting = job("wide", workers, workers, 1);
    waiting.worker.memory_mib = gib * 1024;
    QueueState with = state;
    with.jobs.push_back(waiting);
    return explain_waiting(with, schedule(with, at(2)), 3);
  };
  EXPECT_THAT(said(5, 4), HasSubstr("5 workers of 1 CPU and 4 GiB: pool machine has 16 CPU and 9 GiB"));
  EXPECT_THAT(said(8, 1), HasSubstr("4 free, 4 can be had from A (4 -> 2), B (4 -> 3) and 1 others"));
  state.jobs[0].worker.memory_mib = 1024;
  EXPECT_THAT(said(3, 3), HasSubstr("1 free (by memory; 4 by CPU), 1 can be had from A (4 -> 2)"));
}

TEST(Waiting, NobodyIsShrunkForDevicesThatOthersHaveNone) {
  const std::size_t gpu = device_of_nodes("nvidia.com/gpu").value();
  QueueState state = machine(8);
  state.pools[0].capacity.devices[gpu] = 1;
  Demand without = running(job("cpu", 1, 6), 6), with = running(job("gpu", 1, 1), 1),
         waiting = job("wants", 1, 1, 1);
  with.worker.devices[gpu] = waiting.worker.devices[gpu] = 1;
  state.jobs = {without, with, waiting};
  const Plan plan = schedule(state, at(100));
  EXPECT_EQ(grant_of(plan, 0), nullptr) << "it has none";
  EXPECT_EQ(grant_of(plan, 2), nullptr);
  EXPECT_THAT(explain_waiting(state, plan, 2),
              AllOf(HasSubstr("1 worker of 1 CPU and 1 nvidia.com/gpu: 0 free (by nvidia.com/gpu; 1 by CPU)"),
                    HasSubstr("0 can be had")));
}

TEST(Waiting, APoolThatNoNodeMatchesIsSaid) {
  QueueState state = machine(0);
  state.pools[0].without_nodes = true;
  state.pools[0].no_nodes = "none has pool=fast";
  state.jobs = {job("lost", 1, 8, 0)};
  const Plan plan = schedule(state, at(1));
  EXPECT_THAT(
      explain_waiting(state, plan, 0),
      AllOf(HasSubstr("pool machine has no node: none has pool=fast"), HasSubstr("kubectl get nodes")));
}

TEST(Pools, AreTriedInTheOrderOfPreference) {
  QueueState state = machine(4);
  state.pools.push_back({"other", {4000, 0}});
  Demand choosy = job("A", 3, 3, 0);
  choosy.pools = {1};
  state.jobs = {choosy, job("B", 3, 3, 1), job("C", 3, 3, 2)};
  const Plan plan = schedule(state, at(2));
  ASSERT_EQ(plan.grants.size(), 2u);
  EXPECT_EQ(grant_of(plan, 0)->allocation.pool, 1);
  EXPECT_EQ(grant_of(plan, 1)->allocation.pool, 0);
}

TEST(Growth, StartsAJobAtTheSizeThatItIsWorth) {
  QueueState state = machine(100);
  state.jobs = {job("A", 2, 10)};
  const Plan plan = schedule(state, at(0));
  ASSERT_EQ(plan.grants.size(), 1u);
  EXPECT_EQ(plan.grants[0].kind, Grant::Kind::Start);
  // V = 4 % of 100 over .5: 8 worker-seconds a second; n (n + 1) f / (1 - f) <= 8 up to n + 1 = 17.
  EXPECT_EQ(plan.grants[0].allocation.workers, 10);
}

// Rule Q3 on a few workers: 4 % of four leave half of them idle.
TEST(Growth, ASecondIsWorthOneWorkerAtLeast) {
  QueueState state = machine(4);
  state.jobs = {job("A", 1, 4)};
  const Plan plan = schedule(state, at(0));
  ASSERT_EQ(plan.grants.size(), 1u);
  EXPECT_EQ(plan.grants[0].allocation.workers, 4);
  state.rules.growth.time_value_percent = 0;
  EXPECT_EQ(schedule(state, at(0)).grants[0].allocation.workers, 1) << "unless it is worth nothing";
}

TEST(Growth, WaitsForRestAndSaysWhen) {
  QueueState state = machine(100);
  state.jobs = {running(job("A", 2, 10), 5)};
  state.jobs[0].changed = at(0);
  Plan plan = schedule(state, at(60));
  EXPECT_THAT(plan.grants, IsEmpty());
  EXPECT_EQ(plan.wake, at(120));
  plan = schedule(state, at(120));
  ASSERT_EQ(plan.grants.size(), 1u);
  EXPECT_THAT(explain(state, plan.grants[0], at(120)), HasSubstr("grows 5 -> 10: "));
  state.jobs[0].work_left = 10;  // it ends before a change would pay
  EXPECT_THAT(schedule(state, at(120)).grants, IsEmpty());
}

TEST(Growth, LeavesPromisedWorkersAlone) {
  QueueState state = machine(10);
  state.rules.growth.time_value_percent = 1000;
  Demand promised = job("C", 4, 4, 2);
  promised.allocation = {.promised = 4, .pool = 0, .time = at(2)};
  state.jobs = {running(job("A", 2, 8), 5), running(job("B", 2, 8, 1), 2), promised};
  const Plan plan = schedule(state, at(1000));
  ASSERT_EQ(plan.grants.size(), 1u) << "3 are free, and B could use them";
  EXPECT_EQ(plan.grants[0].kind, Grant::Kind::Yield);
}

TEST(Moves, GoFromWhomWorkersAreWorthLittle) {
  QueueState state = machine(10);
  state.rules.growth.time_value_percent = 1000;
  Demand poor = running(job("A", 1, 10), 8);
  poor.curve = amdahl_curve(sizes(1, 10), 10, .2, Objective::Fair);
  state.jobs = {poor, running(job("B", 1, 10, 1), 2)};
  const Plan plan = schedule(state, at(1000));
  ASSERT_EQ(plan.grants.size(), 1u);
  EXPECT_EQ(plan.grants[0].kind, Grant::Kind::Move);
  EXPECT_EQ(plan.grants[0].job, 0);
  EXPECT_LT(plan.grants[0].allocation.workers, 8);
  state.jobs.push_back(job("C", 10, 10, 2));
  for (const Grant& grant : schedule(state, at(1000)).grants) EXPECT_NE(grant.kind, Grant::Kind::Move);
}

TEST(Hold, StopsStartsOrEverything) {
  QueueState state = machine(100);
  state.jobs = {running(job("A", 2, 8), 4), job("B", 2, 2, 1)};
  state.rules.hold = Hold::Start;
  const Plan plan = schedule(state, at(1000));
  EXPECT_EQ(grant_of(plan, 1), nullptr);
  EXPECT_NE(grant_of(plan, 0), nullptr);
  state.rules.hold = Hold::All;
  EXPECT_THAT(schedule(state, at(1000)).grants, IsEmpty());
}

}  // namespace
}  // namespace emj::queue
