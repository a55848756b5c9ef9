// SPDX-License-Identifier: Apache-2.0
// Who gets what is idle, where growth does not pay for everybody (rule Q12).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/queue/draft.hpp"
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

// A worker that asks for memory or a GPU alone takes its part of the pool all the same.
TEST(Growth, WhatAskedForNoCPUIsWorthNoMoreThanAnother) {
  const auto gpu = device_of_nodes("example.com/growth-gpu");
  ASSERT_TRUE(gpu);
  QueueState state = machine(32);
  state.pools[0].capacity.memory_mib = 32 << 10;
  state.pools[0].capacity.devices[*gpu] = 32;
  state.rules.growth.time_value_percent = 4;
  const auto grown = [&](const Resources& worker) {
    Demand one = running(job("a", 2, 32), 2);
    one.worker = worker;
    state.jobs = {one};
    const Plan plan = schedule(state, at(1000));
    return grant_of(plan, 0) ? grant_of(plan, 0)->allocation.workers : 2;
  };
  const int by_cpu = grown({1000, 0});
  ASSERT_LT(by_cpu, 32) << "it is worth all in any case";
  Resources one_gpu;
  one_gpu.devices[*gpu] = 1;
  for (const Resources& worker : {Resources{0, 1024}, Resources{10, 1024}, one_gpu}) {
    EXPECT_EQ(grown(worker), by_cpu);
    Demand demand = job("a", 2, 32);
    demand.worker = worker;
    EXPECT_DOUBLE_EQ(factor(state, demand, 0, at(0)), factor(state, job("b", 2, 32), 0, at(0)));
  }
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
