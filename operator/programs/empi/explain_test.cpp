// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emj::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Time at(int seconds) { return Time(Seconds(seconds)); }

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

ElasticMPIJob demo() {
  ElasticMPIJob job;
  job.metadata.name = "demo";
  job.spec.worker.max_replicas = 8;
  job.status.state = JobState::Running;
  job.status.joined_replicas = job.status.desired_replicas = 2;
  return job;
}

TEST(Why, OfAJobWithoutAnythingRecorded) {
  EXPECT_THAT(why_lines(demo(), at(0)),
              ElementsAre("demo  Running  2 workers", "  wanted: 2 workers; limits 1 to 8",
                          "  decided by: you (spec.autoscaling.mode is Off)", "decisions: none is recorded",
                          "nothing is measured yet"));
}

TEST(Why, SaysWhatADecisionWaitsFor) {
  ElasticMPIJob job = demo();
  job.spec.autoscaling.mode = AutoscalingMode::Auto;
  job.status.decisions = {
      {at(3600), 1, 2, "threshold", DecisionAction::Scale, "MTCT is low", DecisionCause::Grow},
      {at(3700), 2, 4, "threshold", DecisionAction::Wait, "not for long enough", DecisionCause::Stabilizing}};
  job.status.policy_state.up_since = at(3690);
  const std::string text = joined(why_lines(job, at(3705)));
  EXPECT_THAT(text, HasSubstr("decided by: policy threshold (mode Auto)\n"));
  EXPECT_THAT(text, HasSubstr("  01:00:00  1 -> 2  Scale  MTCT is low\n"));
  EXPECT_THAT(text, HasSubstr("  01:01:40  2 -> 4  Wait  not for long enough\n"
                              "  waits the wish to grow must hold, until 01:02:30\n"));
  job.status.state = JobState::Succeeded;
  EXPECT_THAT(joined(why_lines(job, at(9999))), Not(HasSubstr("waits")));
}

TEST(Why, SaysWhatTheChangeInHandWaitsFor) {
  ElasticMPIJob job = demo();
  job.status.desired_replicas = 4;
  job.spec.worker.replicas = 5;
  job.spec.resize.allowed_replicas = {2, 4};
  ResizeStatus& resize = job.status.resize.emplace();
  resize.from = 2;
  resize.to = 4;
  resize.start_time = at(100);
  resize.deadline = at(700);
  job.status.conditions = {
      {"WorkersReady", "True", "AllReady", "2 of 4 ready", at(1), 1},
      {"Resizing", "True", "CreatingPods", "2 -> 4 workers; missing: demo-w-3 (Unschedulable)", at(100), 1},
      {"ResizeBlocked", "False", "Clear", "", at(1), 1},
      {"SizeAdjusted", "True", "NotAllowed", "asked for 5 workers, running with 4", at(90), 1}};
  const std::string text = joined(why_lines(job, at(160)));
  EXPECT_THAT(text, HasSubstr("  wanted: 4 workers, asked for 5; limits 1 to 8, of these only 2 4\n"));
  EXPECT_THAT(text, HasSubstr("  changing for 1:00: 2 -> 4 workers; missing: demo-w-3 (Unschedulable); "
                              "CreatingPods: the newcomers' pods are created and started\n"
                              "    taken back unless it gets on within 9:00\n"));
  EXPECT_THAT(text,
              HasSubstr("  SizeAdjusted (NotAllowed) since 00:01:30: asked for 5 workers, running with 4\n"));
  EXPECT_THAT(text, Not(HasSubstr("AllReady")));
  EXPECT_THAT(text, Not(HasSubstr("Clear")));
}

TEST(Why, SaysWhatItsQueueLetsItHave) {
  ElasticMPIJob job = demo();
  job.spec.scheduling.queue_name = "main";
  EXPECT_THAT(why_lines(job, at(0)), Contains("  in queue main: has nothing yet"));
  job.status.queue.emplace().expected_start = at(3600);
  EXPECT_THAT(why_lines(job, at(0)), Contains("  in queue main: has nothing yet; starts at about 01:00:00"));
  job.status.queue->expected_start.reset();
  AllocationStatus& has = job.status.allocation.emplace();
  has.promised = 2;
  has.pool = "hpc";
  has.reason = "a lets go of 2";
  EXPECT_THAT(why_lines(job, at(0)),
              Contains("  in queue main: is promised 2 workers of pool hpc: a lets go of 2"));
  has.promised = 0;
  has.workers = 2;
  has.reason = "yields 6 workers to b";
  EXPECT_THAT(why_lines(job, at(0)),
              Contains("  in queue main: may have 2 workers of pool hpc: yields 6 workers to b"));
  job.status.state = JobState::Succeeded;
  EXPECT_THAT(joined(why_lines(job, at(0))), Not(HasSubstr("in queue")));
}

TEST(Why, SaysWhichSizeIsNotTried) {
  ElasticMPIJob job = demo();
  job.status.blocked = BlockedTarget{6, 1, "demo-w-4 never came", 2, at(200)};
  EXPECT_THAT(why_lines(job, at(100)), Contains("  not tried: 6 workers, after 2 attempts, until 00:03:20: "
                                                "demo-w-4 never came"));
}

// Times of 1, 2 and 4 workers, of which the busiest rank computes .9, .45 and .225 s: what follows is the
// model's.
TEST(Why, ShowsTheCurveOfAnIteration) {
  ElasticMPIJob job = demo();
  job.status.policy_state.measured = {{1, 98, 1.0, at(1), .98, .98, 0, 1}, {2, 70, .7, at(2), .5, .49, 0, 2}};
  const auto lines = why_lines(job, at(0));
  const std::string text = joined(lines);
  EXPECT_THAT(text, HasSubstr("what an iteration takes, by the number of workers:\n"));
  EXPECT_THAT(text,
              HasSubstr("   1        1 s        98 %        measuring  ##############################\n"));
  EXPECT_THAT(text, HasSubstr("*  2        700 ms     70 %        measuring  #####################"));
  EXPECT_THAT(text, HasSubstr("the model"));
  EXPECT_EQ(std::ranges::count_if(lines, [](const auto& line) { return line.ends_with(" shortest"); }), 1);
  job.status.joined_replicas = 0;  // over: the last size
  job.status.policy_state.changes = {{at(1), 0, 2}};
  EXPECT_THAT(joined(why_lines(job, at(0))), HasSubstr("*  2 "));
  job.status.policy_state.changes = {{at(1), 0, 3}};
  EXPECT_THAT(joined(why_lines(job, at(0))), HasSubstr("with 3 workers is not known yet"));
}

TEST(Why, ACurveOfManySizesIsShownWhereItTellsSomething) {
  ElasticMPIJob job = demo();
  job.spec.worker.max_replicas = 1000;
  job.status.joined_replicas = 100;
  job.status.policy_state.measured = {{100, 80, 1.0, at(1), .9, .8, 0, 1},
                                      {60, 90, 1.5, at(1), 1.4, 1.3, 0, 1}};
  EXPECT_LT(why_lines(job, at(0)).size(), 16u);
}

TEST(Why, ProgramsOfTasksHaveAPace) {
  ElasticMPIJob job = demo();
  job.status.policy_state.task_phase = 2;
  job.status.policy_state.measured = {{2, 90, .5, at(1), .4, .4, 0, 1}, {1, 99, 0, at(1), .4, .4, 0, 1}};
  EXPECT_THAT(joined(why_lines(job, at(0))), HasSubstr("  1 workers: unknown at 99 % efficiency\n"
                                                       "  2 workers: 500 ms at 90 % efficiency\n"));
}

TEST(History, ListsChangesDecisionsAndTheLastChange) {
  ElasticMPIJob job = demo();
  job.status.policy_state.changes = {{at(0), 0, 1}, {at(60), 1, 2, .02, 0, 1.5}};
  job.status.decisions = {{at(59), 1, 2, "threshold", DecisionAction::Scale, "MTCT is low"}};
  job.status.last_resize = LastResize{1, 2, ResizeResult::Committed, "", 900, 600, 3, at(60)};
  job.status.recoveries = RecoveriesStatus{2, 5, at(90), "pod w-1 is gone", 1, 12, 640};
  EXPECT_THAT(
      history_lines(job),
      ElementsAre("changes of size (the last 2):", "  00:00:00  started with 1 worker",
                  "  00:01:00  1 -> 2 workers, took 1.5 s, cost 20 ms",
                  "decisions (the last 1):", "  00:00:59  Scale  MTCT is low",
                  "last change: 1 -> 2 workers, Committed; pods ready after 900 ms, committed after "
                  "another 600 ms, paused 3 ms",
                  "went on without lost members 2 times; the last time at 00:01:30, with 1 worker "
                  "left: pod w-1 is gone; the others went on after 640 ms and did 12 iterations again"));
}

}  // namespace
}  // namespace emj::cli
