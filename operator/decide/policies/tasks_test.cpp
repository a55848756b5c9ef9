// SPDX-License-Identifier: Apache-2.0
// Policy tasks on phases whose tasks are known.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "operator/decide/policies/task_model.hpp"
#include "operator/decide/testing/synthetic_phase.hpp"
#include "operator/decide/testing/world.hpp"

namespace emj {
namespace {

using namespace testing_policy;
using testing::HasSubstr;

AutoscalingSpec by_tasks() {
  AutoscalingSpec spec;
  spec.mode = AutoscalingMode::Auto;
  spec.policy.name = PolicyName::Tasks;
  spec.scale_up_stabilization = spec.scale_down_stabilization = spec.cooldown = Seconds(4);
  spec.window = Seconds(2);
  return spec;
}

SyntheticPhase after(PhaseSetup setup, int start, const AutoscalingSpec& spec = by_tasks()) {
  SyntheticPhase phase(std::move(setup), start, spec);
  phase.run();
  EXPECT_TRUE(phase.over());
  return phase;
}

double seconds_without_changes(PhaseSetup setup, int size) {
  AutoscalingSpec off = by_tasks();
  off.mode = AutoscalingMode::Off;
  return after(std::move(setup), size, off).seconds();
}

TEST(Tasks, ALongQueueGrowsTheJobToItsLimit) {
  for (const int start : {1, 4, 16}) {
    const SyntheticPhase phase = after({.tasks = 5000, .mean = 1, .deviation = .5}, start);
    EXPECT_EQ(*std::max_element(phase.sizes.begin(), phase.sizes.end()), 16) << start;
    EXPECT_TRUE(std::is_sorted(phase.sizes.begin(), phase.sizes.end() - (phase.sizes.back() < 16)));
    EXPECT_LT(phase.seconds(), 1.5 * 5000 / 16.0) << testing::PrintToString(phase.sizes);
  }
}

TEST(Tasks, AShortQueueIsNotWorthAChange) {
  // 10 s of work are left when enough tasks have ended to tell.
  const SyntheticPhase phase = after({.tasks = 60, .mean = .5}, 2);
  EXPECT_THAT(phase.sizes, testing::ElementsAre(2)) << phase.last.line;
}

TEST(Tasks, TheCostOfAChangeDecides) {
  const PhaseSetup cheap{.tasks = 200, .mean = 1, .delay = 3, .cost = .5};
  PhaseSetup dear = cheap;
  dear.delay = 100;
  dear.cost = 60;
  EXPECT_GT(after(cheap, 2).sizes.size(), 1u);
  SyntheticPhase phase(dear, 2, by_tasks());
  phase.input.history.push_back({t0 - Seconds(1000), 1, 2, dear.cost, 0, dear.delay});
  phase.run(30);
  EXPECT_THAT(phase.sizes, testing::ElementsAre(2));
  EXPECT_THAT(phase.last.line,
              testing::AnyOf(HasSubstr("would not pay"), HasSubstr("would not finish earlier")));
}

TEST(Tasks, TheTailShrinksTheJob) {
  // Ten tasks of the last ones take minutes: 16 workers for 3 tasks.
  const PhaseSetup setup{.tasks = 200, .mean = 20, .deviation = 30, .cost = .2, .seed = 3};
  const SyntheticPhase phase = after(setup, 16);
  ASSERT_GT(phase.sizes.size(), 1u) << phase.last.line;
  EXPECT_LT(phase.sizes.back(), 8) << testing::PrintToString(phase.sizes);
  EXPECT_TRUE(std::is_sorted(phase.sizes.rbegin(), phase.sizes.rend()));
  EXPECT_NEAR(phase.seconds(), seconds_without_changes(setup, 16), 25) << "nobody waits for a shrink";
  EXPECT_LT(phase.worker_seconds(), .95 * 16 * phase.seconds());
}

TEST(Tasks, AShortTailIsLeftAlone) {
  const SyntheticPhase phase = after({.tasks = 2000, .mean = .5}, 16);
  EXPECT_THAT(phase.sizes, testing::ElementsAre(16));
}

TEST(Tasks, AMasterThatCannotServeMoreIsNotGivenMore) {
  // The master needs .1 s for a task: beyond 10 ranks they queue for it.
  const auto overhead = [](int ranks) { return std::max(0.02, 0.1 * ranks - 1.0); };
  for (const int start : {1, 16}) {
    const SyntheticPhase phase = after({.tasks = 5000, .mean = 1, .overhead = overhead}, start);
    EXPECT_GE(phase.sizes.back(), 8) << phase.last.line;
    EXPECT_LE(phase.sizes.size(), 6u) << "swings: " << testing::PrintToString(phase.sizes);
  }
  const auto worse = [](int ranks) { return 0.2 * ranks; };
  for (const int start : {1, 4, 16}) {
    const SyntheticPhase phase = after({.tasks = 5000, .mean = 1, .overhead = worse}, start);
    EXPECT_LE(phase.sizes.back(), 8) << phase.last.line;
    EXPECT_GE(phase.sizes.back(), 2) << phase.last.line;
    EXPECT_LE(phase.sizes.size(), 5u) << "swings: " << testing::PrintToString(phase.sizes);
  }
}

TEST(Tasks, ThePredictedFinishIsRight) {
  for (const double deviation : {0.0, .3, 1.0}) {
    AutoscalingSpec off = by_tasks();
    off.mode = AutoscalingMode::Off;
    SyntheticPhase phase({.tasks = 2000, .mean = 1, .deviation = deviation}, 4, off);
    phase.run(100);
    const auto model = task_model(phase.input, phase.state);
    ASSERT_TRUE(model);
    const double predicted = phase.seconds() + model->seconds_left(4);
    phase.run();
    EXPECT_NEAR(predicted, phase.seconds(), .05 * phase.seconds()) << deviation;
  }
}

TEST(Tasks, MissingSamplesAndNoPhaseDecideNothing) {
  SyntheticPhase phase({.tasks = 5000}, 4, by_tasks());
  phase.run(5);
  PolicyState state;
  phase.input.now += Seconds(100);
  EXPECT_THAT(autoscale(by_tasks(), phase.input, state).line, HasSubstr("sample is 100.0 s old"));
  phase.input.now -= Seconds(100);
  phase.input.windows.back().tasks.total = 0;
  const AutoscaleResult result = autoscale(by_tasks(), phase.input, state);
  EXPECT_EQ(result.verdict, Verdict::Wait);
  EXPECT_THAT(result.line, HasSubstr("no phase of tasks is running"));
}

TEST(Tasks, BoundsAllowedSizesAndModesHold) {
  SyntheticPhase phase({.tasks = 20000}, 2, by_tasks());
  phase.input.max = 12;
  phase.input.allowed = {2, 4, 7, 16};
  phase.run(200);
  EXPECT_THAT(phase.sizes, testing::ElementsAre(2, 4, 7));
  AutoscalingSpec recommend = by_tasks();
  recommend.mode = AutoscalingMode::Recommend;
  SyntheticPhase asked({.tasks = 20000}, 2, recommend);
  asked.run(20);
  EXPECT_THAT(asked.sizes, testing::ElementsAre(2));
  EXPECT_EQ(asked.last.verdict, Verdict::Recommend);
  EXPECT_EQ(asked.last.wanted, 4);
}

TEST(Tasks, AnotherPhaseIsMeasuredAnew) {
  SyntheticPhase phase({.tasks = 5000}, 4, by_tasks());
  phase.run(60);
  ASSERT_FALSE(phase.state.measured.empty());
  Sample& newest = phase.input.windows.back();
  newest.tasks.phase = 2;
  newest.tasks.ended = 3;
  const AutoscaleResult result = autoscale(by_tasks(), phase.input, phase.state);
  EXPECT_THAT(result.line, HasSubstr("3 tasks of phase 2 have ended, 10 needed"));
  EXPECT_TRUE(phase.state.measured.empty());
}

TEST(Tasks, StatusShowsThePhaseAndItsFinishAtMostEachHalfMinute) {
  testing_world::World world(testing_world::make_job("", 1, 8, "    replicas: 2\n"));
  world.settle(4);
  int writes = 0;
  std::optional<TaskStatus> before;
  for (int i = 0; i < 60; ++i) {
    Sample sample = sample_at(world.now, Seconds(1), 2, .1);
    sample.tasks = {1, 1000, 10 * i, 1000 - 10 * i - 2, 10, 2, .4, .2, 1};
    world.samples.push_back(sample);
    world.now += Seconds(1);
    world.reconcile();
    ASSERT_TRUE(world.status().tasks);
    writes += world.status().tasks != before;
    before = world.status().tasks;
  }
  EXPECT_LE(writes, 3);
  EXPECT_EQ(before->total, 1000);
  EXPECT_NEAR(before->mean_seconds, .2, 1e-9);
  ASSERT_TRUE(before->predicted_finish);
  // 10 tasks a second were done: a hundred seconds from the start.
  EXPECT_NEAR(std::chrono::duration<double>(*before->predicted_finish - world.samples.front().start).count(),
              100, 3);
}

// A job with policy tasks, on 2 of at most 8 workers.
testing_world::World job_by_tasks(const std::string& worker = "") {
  testing_world::World world(
      testing_world::make_job("  resize: {joinTimeoutSeconds: 30}\n"
                              "  autoscaling: {mode: Auto, policy: {name: tasks}, "
                              "scaleUpStabilizationSeconds: 2, cooldownSeconds: 2}\n",
                              1, 8, worker + "    replicas: 2\n"));
  world.settle(4);
  return world;
}

// The next second of it: `done` of 100,000 tasks of .2 s, or no phase.
void add_window(testing_world::World& world, std::int64_t phase, std::int64_t done) {
  Sample sample = sample_at(world.now, Seconds(1), 2, .1);
  if (phase > 0) sample.tasks = {phase, 100'000, done, 100'000 - done - 2, 10, 2, .4, .2, 1};
  world.samples.push_back(sample);
  world.now += Seconds(1);
  world.reconcile();
}

TEST(Tasks, ManyShortPhasesDoNotWriteTheStatusForEachOfThem) {
  testing_world::World world(testing_world::make_job("", 1, 8, "    replicas: 2\n"));
  world.settle(4);
  int writes = 0;
  std::optional<TaskStatus> before;
  for (int i = 0; i < 90; ++i) {
    add_window(world, i % 3 == 0 ? 0 : i, 50);  // each third window without a phase
    writes += world.status().tasks != before;
    before = world.status().tasks;
  }
  EXPECT_LE(writes, 4);
  EXPECT_GT(before->phase, 55);
  for (int i = 0; i < 31; ++i) add_window(world, 0, 0);
  EXPECT_FALSE(world.status().tasks) << "no phase for half a minute";
}

TEST(Tasks, TheFinishIsPredictedWhileTheJobRunsOnly) {
  testing_world::World world(testing_world::make_job("", 1, 8, "    replicas: 2\n"));
  world.settle(4);
  for (int i = 0; i < 5; ++i) add_window(world, 1, 10 * i);
  ASSERT_TRUE(world.status().tasks->predicted_finish);
  world.now += Seconds(100);
  world.reconcile();
  EXPECT_FALSE(world.status().tasks->predicted_finish) << "its samples are old";
  for (int i = 5; i < 40; ++i) add_window(world, 1, 10 * i);
  ASSERT_TRUE(world.status().tasks->predicted_finish);
  world.lead.program = ProgramState::Succeeded;
  for (const int worker : {0, 1}) world.end_pod(worker, 0);
  world.settle(3);
  ASSERT_EQ(world.status().state, JobState::Succeeded);
  EXPECT_FALSE(world.status().tasks);
}

TEST(Tasks, AQuotaIsNotRunAgainstAgainAndAgain) {
  testing_world::World world = job_by_tasks();
  world.quota = 2;
  std::int64_t done = 0;
  const auto run_until = [&](const std::function<bool()>& reached) {
    for (int i = 0; i < 120 && !reached(); ++i) {
      world.make_all_ready();
      world.remove_terminating();
      world.advance_change();
      add_window(world, 1, done += 10);
    }
    return reached();
  };
  ASSERT_TRUE(run_until([&] { return world.did<CreatePod>(); })) << world.autoscaling;
  EXPECT_EQ(world.status().desired_replicas, 4);
  ASSERT_TRUE(run_until([&] { return world.status().blocked.has_value(); })) << world.last_lines();
  EXPECT_EQ(world.status().blocked->target, 4);
  EXPECT_THAT(world.status().blocked->reason, HasSubstr("exceeded quota of 2 pods"));
  EXPECT_EQ(world.size(), 2) << "the job goes on as it was";
  while (world.now + Seconds(2) < world.status().blocked->retry_after) {
    add_window(world, 1, done += 10);
    ASSERT_FALSE(world.did<CreatePod>() || world.did<SendChange>());
  }
  EXPECT_THAT(world.autoscaling, HasSubstr("not yet: the last attempt failed"));
  world.quota = 8;
  EXPECT_TRUE(run_until([&] { return world.size() == 4; })) << world.last_lines();
  EXPECT_THAT(world.broken, testing::IsEmpty()) << world.last_lines();
}

}  // namespace
}  // namespace emj
