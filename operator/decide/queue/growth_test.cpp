// SPDX-License-Identifier: Apache-2.0
// Who gets what is idle, where growth does not pay for everybody (rule Q12).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/queue/plan.hpp"
#include "operator/decide/queue/testing/jobs.hpp"

namespace emj::queue {
namespace {

using namespace testing_queue;

// As fast as it has workers.
Demand steep(const std::string& name, int least, int most, double since = 0) {
  Demand demand = job(name, least, most, since);
  demand.curve = amdahl_curve(sizes(least, most), most, 1, Objective::Fair);
  return demand;
}

TEST(Growth, WhatDoesNotPayForOneIsForTheOthers) {
  QueueState state = machine(8);
  Demand costly = running(steep("costly", 2, 8), 2);  // a change costs it more than it has left
  costly.lost_seconds = 1e5;
  state.jobs = {costly, running(job("b", 2, 8, 1), 2)};
  const Plan plan = schedule(state, at(1000));
  EXPECT_EQ(grant_of(plan, 0), nullptr);
  ASSERT_NE(grant_of(plan, 1), nullptr);
  EXPECT_EQ(grant_of(plan, 1)->allocation.workers, 6) << "all four that are free";
}

TEST(Moves, AReceiverThatIsNotWorthItDoesNotStandInTheWayOfTheNext) {
  QueueState state = machine(8);
  state.rules.moves.min_ratio_percent = 150;
  Demand ending = running(steep("ending", 2, 8), 2);  // gains most by a worker, and is nearly over
  ending.work_left = 2;
  Demand long_one = running(steep("long", 2, 8, 1), 2);
  long_one.work_left = 40'000;
  Demand flat = running(job("flat", 2, 8, 2), 4);
  flat.curve = amdahl_curve(sizes(2, 8), 8, .1, Objective::Fair);
  flat.work_left = 40'000;
  state.jobs = {ending, long_one, flat};
  state.rules.objective = Objective::Fair;
  const Plan plan = schedule(state, at(10'000));
  ASSERT_NE(grant_of(plan, 2), nullptr);
  EXPECT_EQ(grant_of(plan, 2)->kind, Grant::Kind::Move);
  EXPECT_EQ(grant_of(plan, 2)->other, 1);
}

}  // namespace
}  // namespace emj::queue
