// SPDX-License-Identifier: Apache-2.0
// Promises in pools that are gone, and jobs that were given what they could not use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/queue/explain.hpp"
#include "operator/decide/queue/plan.hpp"
#include "operator/decide/queue/testing/jobs.hpp"

namespace emj::queue {
namespace {

using namespace testing_queue;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Its name was taken out of the queue's pools.
TEST(Promises, OfAPoolThatIsGoneAreWithdrawn) {
  QueueState state = machine(8);
  Demand promised = job("B", 4, 4, 1);
  promised.allocation = {.promised = 4, .pool = -1, .time = at(1)};
  state.jobs = {running(job("A", 2, 8), 8), promised};
  Plan plan = schedule(state, at(2));
  ASSERT_NE(grant_of(plan, 1), nullptr);
  EXPECT_EQ(grant_of(plan, 1)->kind, Grant::Kind::Withdraw);
  EXPECT_THAT(explain(state, *grant_of(plan, 1), at(2)), HasSubstr("the queue has no such pool any more"));
  carry_out(state, plan, at(2));
  plan = schedule(state, at(3));
  ASSERT_NE(grant_of(plan, 1), nullptr) << "it waits as before";
  EXPECT_EQ(grant_of(plan, 1)->kind, Grant::Kind::Promise);
  EXPECT_EQ(grant_of(plan, 1)->allocation.pool, 0);
}

TEST(Promises, OfAPoolThatIsGoneAreLeftWhileNothingIsToStart) {
  QueueState state = machine(8);
  Demand promised = job("B", 4, 4, 1);
  promised.allocation = {.promised = 4, .pool = -1, .time = at(1)};
  state.jobs = {promised};
  for (const Hold hold : {Hold::Start, Hold::All}) {
    state.rules.hold = hold;
    EXPECT_THAT(schedule(state, at(2)).grants, IsEmpty());
  }
}

TEST(Held, WhatWaitsSaysSo) {
  QueueState state = machine(8);
  state.jobs = {job("B", 4, 4, 1)};
  for (const Hold hold : {Hold::Start, Hold::All}) {
    state.rules.hold = hold;
    EXPECT_THAT(explain_waiting(state, schedule(state, at(2)), 0), HasSubstr("the queue holds"));
  }
}

// Rule Q29: what it was given twice found no node, though it was free in sum.
Demand unplaced_twice(Demand demand) {
  demand.free_only = {0};
  return demand;
}

TEST(FreeOnly, NobodyShrinksForItOrWaitsForIt) {
  QueueState state = machine(8);
  state.jobs = {running(job("A", 2, 8), 7), unplaced_twice(job("bad", 4, 4, 1)), job("small", 1, 1, 2)};
  const Plan plan = schedule(state, at(3));
  EXPECT_EQ(grant_of(plan, 0), nullptr);
  EXPECT_EQ(grant_of(plan, 1), nullptr);
  ASSERT_NE(grant_of(plan, 2), nullptr);
  EXPECT_EQ(grant_of(plan, 2)->kind, Grant::Kind::Start) << "nobody is before it whom it could delay";
  EXPECT_THAT(plan.reservations, IsEmpty());
  EXPECT_THAT(explain_waiting(state, plan, 1), HasSubstr("it takes only what is free"));
}

TEST(FreeOnly, ItStartsInWhatIsFree) {
  QueueState state = machine(8);
  state.jobs = {running(job("A", 2, 8), 4), unplaced_twice(job("bad", 4, 4, 1))};
  const Plan plan = schedule(state, at(3));
  ASSERT_NE(grant_of(plan, 1), nullptr);
  EXPECT_EQ(grant_of(plan, 1)->kind, Grant::Kind::Start);
}

TEST(FreeOnly, AHigherPriorityTakesNoPromiseForIt) {
  QueueState state = urgent_behind_a_promise(5);
  ASSERT_NE(grant_of(schedule(state, at(3)), 1), nullptr) << "else it would";
  state.jobs[2] = unplaced_twice(state.jobs[2]);
  EXPECT_THAT(schedule(state, at(3)).grants, IsEmpty());
}

TEST(FreeOnly, InOnePoolIsNotInTheOthers) {
  QueueState state = machine(4);
  state.pools.push_back({"other", {4000, 0}});
  Demand donor = running(job("A", 1, 4), 4);
  donor.allocation.pool = 1;
  state.jobs = {running(job("B", 1, 4), 4), donor, unplaced_twice(job("c", 2, 2, 2))};
  const Plan plan = schedule(state, at(3));
  ASSERT_NE(grant_of(plan, 2), nullptr);
  EXPECT_EQ(grant_of(plan, 2)->kind, Grant::Kind::Promise);
  EXPECT_EQ(grant_of(plan, 2)->allocation.pool, 1);
}

TEST(FreeOnly, OthersAreSizedAsIfItDidNotWait) {
  QueueState state = machine(8);
  Demand flat = running(job("flat", 2, 8), 6);
  flat.curve = amdahl_curve(sizes(2, 8), 8, .1, Objective::Fair);
  Demand steep = running(job("steep", 2, 8), 2);
  steep.curve = amdahl_curve(sizes(2, 8), 8, 1, Objective::Fair);
  flat.work_left = steep.work_left = 40'000;
  state.jobs = {flat, steep, job("bad", 2, 2, 1)};
  EXPECT_EQ(grant_of(schedule(state, at(10'000)), 0), nullptr) << "who waits comes first";
  state.jobs[2] = unplaced_twice(state.jobs[2]);
  const Plan plan = schedule(state, at(10'000));
  ASSERT_NE(grant_of(plan, 0), nullptr);
  EXPECT_EQ(grant_of(plan, 0)->kind, Grant::Kind::Move);
}

// Free in pieces that are too small: it is nobody's for a while, and no reason to call a job too large.
TEST(Unplaceable, IsFreeForNobodyAndStillOfThePool) {
  QueueState state = machine(8);
  state.pools[0].unplaceable = Resources{1000, 0} * 6;
  state.jobs = {job("B", 4, 4, 1), job("C", 2, 2, 2)};
  const Plan plan = schedule(state, at(3));
  EXPECT_EQ(grant_of(plan, 0), nullptr);
  EXPECT_THAT(explain_waiting(state, plan, 0), HasSubstr(": 2 free, "));
}

}  // namespace
}  // namespace emj::queue
