// SPDX-License-Identifier: Apache-2.0
// When a job will be over, what it costs, and what it says of its deadline and its budget.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "operator/decide/testing/policy_input.hpp"
#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_world::started;
using testing_world::World;

// The program has come as far in the next window.
void report(World& world, double progress, Seconds window = Seconds(10)) {
  Sample sample = testing_policy::sample_at(world.now, window, world.size(), .1);
  sample.epoch = world.lead.epoch;
  sample.progress = progress;
  world.samples.push_back(sample);
  world.now += window;
  world.reconcile();
}

World running(const std::string& spec, int size = 2) {
  World world = started(size, spec);
  world.job.metadata.creation_time = world.now;
  return world;
}

const Condition& condition_of(const World& world, const char* type) {
  static const Condition none{"none", "Absent", "", "", {}, 0};
  const Condition* found = find_condition(world.status(), type);
  return found ? *found : none;
}

TEST(Forecast, IsGivenForEveryJobThatReportsProgress) {
  World world = running("");
  report(world, .1);
  EXPECT_FALSE(world.status().forecast) << "from one report nobody can tell";
  report(world, .2);
  ASSERT_TRUE(world.status().forecast);
  EXPECT_EQ(world.status().forecast->source, ForecastSource::Progress);
  EXPECT_NEAR(world.status().forecast->seconds_left, 80, 1);
  EXPECT_NEAR(std::chrono::duration<double>(*world.status().forecast->finish - world.now).count(), 80, 1);
  EXPECT_EQ(world.status().forecast->workers, 2);
}

// Decision K6'.
TEST(Forecast, IsWrittenWhenItHasMovedByAUsefulAmount) {
  World world = running("");
  int written = 0;
  std::optional<ForecastStatus> before;
  for (int i = 1; i <= 180; ++i) {
    report(world, i / 400. * (i % 2 ? 1 : 1.004));
    written += !(world.status().forecast == before);
    before = world.status().forecast;
  }
  EXPECT_GE(written, 2);
  EXPECT_LE(written, 5) << "in half an hour of steady work";
  for (int i = 1; i <= 12; ++i) report(world, .452 + i / 1600.);
  EXPECT_GT(*world.status().forecast->finish, *before->finish + Seconds(60)) << "it has become slower";
}

// So many tasks of a second each have ended by the next window, of so many in this phase.
void report_tasks(World& world, int phase, int total, int done, int ended) {
  Sample sample = testing_policy::sample_at(world.now, Seconds(10), world.size(), .1);
  sample.epoch = world.lead.epoch;
  sample.iterations = 0;
  const int running = std::min(world.size(), total - done);
  sample.tasks = {phase, total, done, total - done - running, ended, double(ended), double(ended), 1, .98};
  world.samples.push_back(sample);
  world.now += Seconds(10);
  world.reconcile();
}

TEST(Forecast, OfAPhaseOfTasksThatIsOverIsFollowedByThatOfTheNext) {
  World world = running("");
  report_tasks(world, 1, 54, 20, 20);
  ASSERT_TRUE(world.status().forecast);
  EXPECT_EQ(world.status().forecast->source, ForecastSource::Tasks);
  EXPECT_NEAR(world.status().forecast->seconds_left, 17, 3);
  report_tasks(world, 1, 54, 40, 20);
  report_tasks(world, 2, 1000, 20, 20);
  EXPECT_NEAR(world.status().forecast->seconds_left, 490, 20) << "half a minute has not passed";
}

// The next one of the size that it had would be half a minute later.
TEST(Forecast, OfAnotherSizeIsMadeAnewOnceThatIsMeasured) {
  World world = running("");
  for (int i = 1; i <= 7; ++i) report(world, i / 100.);
  EXPECT_EQ(world.status().forecast->workers, 2);
  world.ask_for(4);
  world.settle(20);
  ASSERT_EQ(world.size(), 4);
  world.job.status.forecast->time = world.now;
  int windows = 0;
  for (double progress = .2; world.status().forecast->workers == 2 && windows < 20; ++windows)
    report(world, progress += .02, Seconds(2));
  EXPECT_EQ(windows, 4) << "the first one tells where it began, and one interval is no measure";
  EXPECT_NEAR(world.status().forecast->seconds_left, (1 - .28) / .01, 1);
}

TEST(Cost, CountsWorkersByTheSecondAndIsWrittenWhenTheirNumberChanges) {
  World world = running("", 2);
  ASSERT_TRUE(world.status().cost);
  EXPECT_EQ(world.status().cost->workers, 2);
  EXPECT_DOUBLE_EQ(world.status().cost->per_hour, 2) << "CPU hours: a worker of one slot is one CPU";
  const CostStatus before = *world.status().cost;
  for (int i = 0; i < 30; ++i) {
    world.now += Seconds(60);
    world.reconcile();
  }
  EXPECT_EQ(*world.status().cost, before) << "nothing to write while the size stays";
  world.ask_for(4);
  world.settle(12);
  EXPECT_EQ(world.size(), 4);
  EXPECT_EQ(world.status().cost->workers, 4);
  EXPECT_NEAR(world.status().cost->spent, 1, .05);
  world.now += Seconds(900);
  world.lead.program = ProgramState::Succeeded;
  world.settle(6);
  world.remove_terminating();
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Succeeded);
  EXPECT_NEAR(world.status().cost->spent, 2, .05);
}

TEST(Cost, AWorkerIsWhatItsContainerAsksFor) {
  World world = running("  slotsPerWorker: 4\n", 2);
  EXPECT_DOUBLE_EQ(world.status().cost->per_hour, 8);
}

TEST(DeadlineAtRisk, IsWatchedForAnyJobThatHasADeadline) {
  World world = running("  scheduling: {deadlineSeconds: 110}\n");
  report(world, .1);
  report(world, .2);  // 80 s left, 20 s gone
  EXPECT_EQ(condition_of(world, condition::kDeadlineAtRisk).status, "Absent") << "all is well";
  world.samples.clear();
  for (int i = 1; i <= 5; ++i) report(world, .2 + .02 * i);
  const Condition risk = condition_of(world, condition::kDeadlineAtRisk);
  EXPECT_EQ(risk.status, "True");
  EXPECT_EQ(risk.reason, "Late");
  EXPECT_THAT(risk.message,
              AllOf(HasSubstr("the deadline of "), HasSubstr("on 2 workers it will be over at")));
  EXPECT_TRUE(world.had_event("DeadlineAtRisk"));
  EXPECT_EQ(world.status().reason, "DeadlineAtRisk");
  EXPECT_EQ(world.status().state, JobState::Running) << "nobody is killed for it";
  world.now += Seconds(60);
  world.reconcile();
  EXPECT_EQ(condition_of(world, condition::kDeadlineAtRisk).reason, "Passed");
  EXPECT_EQ(std::ranges::count(world.events, "DeadlineAtRisk", &RecordEvent::reason), 1) << "once";
  world.lead.program = ProgramState::Succeeded;
  world.settle(4);
  EXPECT_EQ(condition_of(world, condition::kDeadlineAtRisk).reason, "Missed");
}

TEST(DeadlineAtRisk, OfAJobThatEndsInTimeTurnsFalse) {
  World world = running("  scheduling: {deadlineSeconds: 60}\n");
  report(world, .1);
  report(world, .2);
  EXPECT_EQ(condition_of(world, condition::kDeadlineAtRisk).status, "True");
  world.lead.program = ProgramState::Succeeded;
  world.settle(4);
  EXPECT_EQ(condition_of(world, condition::kDeadlineAtRisk).status, "False");
  EXPECT_EQ(condition_of(world, condition::kDeadlineAtRisk).reason, "Met");
}

constexpr const char* kByDeadline =
    "  scheduling: {deadlineSeconds: 100}\n"
    "  autoscaling: {mode: Auto, policy: {name: deadline}, scaleUpStabilizationSeconds: 0, cooldownSeconds: "
    "0}\n";

// The words of a condition would else be another write for each window.
TEST(DeadlineAtRisk, OfPolicyDeadlineIsTheVerdictOnAllSizesAndHoldsItsWords) {
  World world = running(kByDeadline);
  std::set<std::string> told;
  for (int i = 1; i <= 9; ++i) {
    report(world, .001 * i);
    if (condition_of(world, condition::kDeadlineAtRisk).status == "True")
      told.insert(condition_of(world, condition::kDeadlineAtRisk).message);
  }
  ASSERT_FALSE(told.empty());
  EXPECT_THAT(*told.begin(), HasSubstr("the fastest, it will be over at about"));
  EXPECT_LE(told.size(), 3u);
  EXPECT_EQ(condition_of(world, condition::kDeadlineAtRisk).reason, "Infeasible");
  EXPECT_TRUE(world.had_event("Scaled")) << "it goes for the fastest size";
}

TEST(BudgetAtRisk, SaysWhatTheRunWillCost) {
  World world = running("  scheduling: {budget: \"0.1\"}\n", 4);
  for (int i = 1; i <= 4; ++i) report(world, .05 * i);  // 200 s on four workers
  const Condition risk = condition_of(world, condition::kBudgetAtRisk);
  EXPECT_EQ(risk.status, "True");
  EXPECT_EQ(risk.reason, "Dear");
  EXPECT_THAT(risk.message,
              AllOf(HasSubstr("on 4 workers it will have cost about 0.22"), HasSubstr("the budget is 0.1")));
  world.now += Seconds(3600);
  world.reconcile();
  EXPECT_EQ(condition_of(world, condition::kBudgetAtRisk).reason, "Exceeded");
  EXPECT_EQ(world.status().state, JobState::Running) << "nobody is killed for it";
}

}  // namespace
}  // namespace emj
