// SPDX-License-Identifier: Apache-2.0
// What else may happen to a job while the rest of a grow is awaited. The clock moves only where a test moves
// it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using testing::IsEmpty;
using testing_world::started;
using testing_world::three_of_four;
using testing_world::World;

TEST(Rest, ADrainedWorkerIsReplacedBesideIt) {
  World world = three_of_four();
  world.pod(1)->disruption_target = true;
  world.reconcile();
  EXPECT_EQ(to_string(world.status().resize->add), "3-4");
  EXPECT_EQ(to_string(world.status().resize->remove), "1");
  world.make_ready(4);
  world.settle(12);
  EXPECT_EQ(to_string(world.status().active_workers), "0,2,4") << "the one that is there took its place";
  EXPECT_EQ(to_string(world.status().awaited->workers), "3");
  EXPECT_EQ(world.causes, (std::set<std::string>{"manual", "drain"}));
  world.room = 4;
  world.settle(8);
  EXPECT_EQ(to_string(world.status().active_workers), "0,2-4");
  EXPECT_PROMISES_KEPT(world);
}

// A node takes a worker of a program that survives that.
TEST(Rest, ALostWorkerIsReplacedBesideIt) {
  for (const bool in_hand : {false, true}) {
    SCOPED_TRACE(in_hand);
    World world = started(2);
    world.lead.survives_loss = true;
    world.room = 3;
    world.ask_for(4);
    while (!world.did<SendChange>()) world.settle(1);
    ASSERT_EQ(to_string(world.status().awaited->workers), "3");
    if (in_hand)
      world.lead.change.clear();  // it came after the loss: refused as stale
    else
      world.settle(8);
    world.vanish(1);
    std::erase(world.lead.members, "uid-2");
    ++world.lead.epoch;
    world.settle(3);
    EXPECT_EQ(world.status().next_index, 5) << "one more, beside those that are there or awaited";
    world.room = SIZE_MAX;
    world.settle(12);
    EXPECT_EQ(to_string(world.status().active_workers), "0,2-4");
    EXPECT_EQ(world.pods.size(), 4u);
    EXPECT_PROMISES_KEPT(world);
  }
}

TEST(Rest, GoesWithASuspendedJob) {
  World world = three_of_four();
  world.job.spec.suspend = true;
  world.settle(5);
  EXPECT_EQ(world.status().state, JobState::Suspended);
  EXPECT_FALSE(world.status().awaited);
  EXPECT_THAT(world.pods, IsEmpty());
  world.job.spec.suspend = false;
  world.room = 4;
  world.settle(5);
  EXPECT_EQ(to_string(world.status().active_workers), "4-7");
  EXPECT_PROMISES_KEPT(world);
}

TEST(Rest, GoesWhenTheProgramIsEnding) {
  World world = three_of_four();
  world.lead.ending = true;
  world.reconcile();
  EXPECT_FALSE(world.status().awaited);
  ASSERT_EQ(world.of_type<DeletePod>().size(), 1u);
  EXPECT_EQ(world.of_type<DeletePod>()[0].name, "demo-w-3");
  EXPECT_PROMISES_KEPT(world);
}

// An operator that starts anew has what is stored, and nothing else.
TEST(Rest, OutlivesTheOperator) {
  World world = started(1);
  world.room = 3;
  world.ask_for(4);
  for (int i = 0; i < 30; ++i) {
    if (i == 15) {
      EXPECT_EQ(to_string(world.status().awaited->workers), "3");
      world.room = 4;
    }
    world.settle(1);
    const Result<JobStatus> stored = parse_status(status_to_json(world.status()));
    ASSERT_TRUE(stored.ok()) << stored.message();
    ASSERT_EQ(stored.value(), world.status());
  }
  EXPECT_EQ(to_string(world.status().active_workers), "0-3");
  EXPECT_EQ(world.status().next_index, 4);
  EXPECT_PROMISES_KEPT(world);
}

// The operator before this one writes the status without what it does not know.
TEST(Rest, AnOlderOperatorMayHaveWrittenTheStatus) {
  const auto as_before = [](World& world) {
    nlohmann::json status = status_to_json(world.status());
    status.erase("workers");
    status["resize"].erase("readyTime");
    status["resize"].erase("awaited");
    if (status["resize"].empty()) status.erase("resize");
    const Result<JobStatus> read = parse_status(status);
    ASSERT_TRUE(read.ok()) << read.message();
    world.job.status = read.value();
  };
  for (const int turns : {2, 12}) {  // while pods come up; while the rest is awaited
    SCOPED_TRACE(turns);
    World world = started(1);
    world.room = 3;
    world.ask_for(4);
    world.settle(turns);
    as_before(world);
    world.settle(12);
    EXPECT_EQ(world.size(), 3);
    EXPECT_TRUE(world.status().awaited || world.status().resize) << "still wanted";
    world.room = 4;
    world.settle(12);
    EXPECT_EQ(world.size(), 4);
    EXPECT_EQ(world.pods.size(), 4u);
    EXPECT_PROMISES_KEPT(world);
  }
}

// The size in between is nobody's decision.
TEST(Rest, IsWaitedForByTheAutoscaler) {
  World world = started(2,
                        "  resize: {stepSize: 2, joinTimeoutSeconds: 60}\n"
                        "  autoscaling: {mode: Auto, policy: {name: stepping, stepping: {step: 2, "
                        "intervalSeconds: 10}}}\n");
  world.room = 3;
  while (world.size() < 3) {
    world.settle(1);
    ASSERT_LT(world.log.size(), 1000u);
  }
  const auto decisions = world.status().decisions.size();
  ASSERT_EQ(world.status().decisions.back().to, 4);
  world.settle(40);
  EXPECT_EQ(world.status().decisions.size(), decisions) << "until the rest has had its time";
  EXPECT_FALSE(world.status().decisions.back().achieved_seconds);
  EXPECT_EQ(world.job.spec.worker.replicas, 4);
  world.settle(40);
  EXPECT_EQ(world.job.spec.worker.replicas, 4) << "more would be missing as well";
  EXPECT_TRUE(std::ranges::any_of(world.status().decisions, [](const DecisionRecord& decision) {
    return decision.cause == DecisionCause::Blocked && decision.to == 5 &&
           decision.reason.find("demo-w-3: Unschedulable") != std::string::npos;
  }));
  const Condition* paused = find_condition(world.status(), "AutoscalingPaused");
  EXPECT_FALSE(paused && paused->status == "True");
  world.room = SIZE_MAX;
  world.settle(8);
  EXPECT_GE(world.size(), 4);
  world.settle(30);
  EXPECT_GT(world.size(), 4) << "it decides again";
  EXPECT_PROMISES_KEPT(world);
}

// Pods come when they like. At any time the job has the largest allowed size of those that have been ready
// for a while, nothing is made or thrown away on the way, and it does not change its size for each pod.
TEST(RandomHistories, AGrowTakesWhatComes) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto number = [&](int low, int high) { return std::uniform_int_distribution<>(low, high)(random); };
    const int from = number(1, 4), to = number(from + 1, 24), patience = number(0, 12);
    const std::string allowed = seed % 3 == 0 ? ", allowedReplicas: [1, 2, 3, 4, 8, 12, 24]" : "";
    World world =
        started(from, "  resize: {patienceSeconds: " + std::to_string(patience) + allowed + "}\n", 1, 24);
    world.ask_for(to);
    world.reconcile();
    const int wanted = world.status().desired_replicas;
    std::vector<Time> ready;  // when the newcomers that are ready became so
    const Time start = world.now;
    while (world.size() < wanted && world.now < start + Seconds(400)) {
      const bool some_come = number(0, 3) == 0;
      for (PodView& pod : world.pods) {
        if (!some_come || pod.phase != PodPhase::Pending || number(0, 2) != 0) continue;
        world.make_ready(pod.index);
        ready.push_back(world.now);
      }
      world.reconcile();
      world.advance_change();
      world.now += Seconds(1);
      // A change is six turns; two may be needed, for the first may just have begun.
      const int settled = from + static_cast<int>(std::ranges::count_if(ready, [&](Time since) {
                            return since + Seconds(2 * (patience + 8)) < world.now;
                          }));
      const int size = feasible_size(world.job.spec, settled);
      if (size <= settled) {
        ASSERT_GE(world.size(), size) << world.last_lines();
      }
      ASSERT_THAT(world.of_type<DeletePod>(), IsEmpty()) << world.last_lines();
    }
    EXPECT_EQ(world.size(), wanted) << world.last_lines();
    EXPECT_EQ(world.status().next_index, wanted) << "no pod was made twice";
    const auto seconds = std::chrono::duration_cast<Seconds>(world.now - start).count();
    EXPECT_LE(world.status().epoch - 1, seconds / std::max(1, patience) + 1);
    EXPECT_PROMISES_KEPT(world);
  }
}

}  // namespace
}  // namespace emj
