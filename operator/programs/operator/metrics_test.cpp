// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/operator/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace emj::manager {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

JobStatus resized(int second, ResizeResult result) {
  JobStatus status;
  status.state = JobState::Running;
  status.desired_replicas = 4;
  status.joined_replicas = 3;
  status.last_resize = LastResize{2, 4, result, "", 900, 400, 20, Time(Seconds(second))};
  return status;
}

TEST(OperatorMetrics, CountsAResizeOnceAndNotThoseBeforeThisProcess) {
  OperatorMetrics metrics;
  const JobKey job{"default", "demo"};
  metrics.look(job, resized(1, ResizeResult::Committed));
  EXPECT_THAT(metrics.text({}), Not(HasSubstr("empi_operator_resizes_total{")));
  JobStatus draining = resized(2, ResizeResult::Committed);
  draining.resize.emplace();
  draining.last_resize->paused_millis = 0;  // not known before the leavers are gone
  metrics.look(job, draining);
  metrics.look(job, resized(2, ResizeResult::Committed));
  metrics.look(job, resized(2, ResizeResult::Committed));
  metrics.look(job, resized(3, ResizeResult::RolledBack));
  const std::string text = metrics.text({});
  EXPECT_THAT(text, HasSubstr("empi_operator_resizes_total{result=\"Committed\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("empi_operator_resizes_total{result=\"RolledBack\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("empi_operator_resize_phase_seconds_sum{phase=\"join\"} 0.4\n"));
  EXPECT_THAT(text, HasSubstr("empi_operator_resize_phase_seconds_bucket{phase=\"pause\",le=\"0.025\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("empi_operator_jobs{state=\"Running\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("empi_operator_workers{count=\"joined\"} 3\n"));
  metrics.forget(job);
  EXPECT_THAT(metrics.text({}), HasSubstr("empi_operator_jobs{state=\"Running\"} 0\n"));
}

TEST(OperatorMetrics, CountsDecisionsByPolicyActionAndReason) {
  OperatorMetrics metrics;
  const JobKey job{"default", "demo"};
  JobStatus status;
  metrics.look(job, status);
  status.decisions = {
      {Time(Seconds(1)), 2, 4, "threshold", DecisionAction::Scale, "why", DecisionCause::Grow},
      {Time(Seconds(2)), 4, 4, "threshold", DecisionAction::Keep, "why", DecisionCause::Limit}};
  metrics.look(job, status);
  metrics.look(job, status);
  const std::string text = metrics.text({});
  EXPECT_THAT(
      text,
      HasSubstr("empi_operator_decisions_total{policy=\"threshold\",action=\"Keep\",reason=\"Limit\"} 1\n"));
  EXPECT_THAT(
      text,
      HasSubstr("empi_operator_decisions_total{policy=\"threshold\",action=\"Scale\",reason=\"Grow\"} 1\n"));
}

TEST(OperatorMetrics, CountsJobsThatAreNotAsAskedForByWhy) {
  OperatorMetrics metrics;
  JobStatus status;
  status.state = JobState::Running;
  metrics.look({"default", "well"}, status);
  status.reason = condition::kResizePending;
  metrics.look({"default", "waits"}, status);
  metrics.look({"other", "waits"}, status);
  JobStatus queued;
  queued.state = JobState::Queued;
  queued.reason = "Promised";
  queued.conditions = {{condition::kQueued, "True", "Promised", "", {}, 1}};
  metrics.look({"default", "queued"}, queued);
  status.state = JobState::Failed;
  status.reason = "WorkerLost";
  metrics.look({"default", "ended"}, status);
  std::string text = metrics.text({});
  EXPECT_THAT(text, HasSubstr("empi_operator_impaired_jobs{reason=\"ResizePending\"} 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("WorkerLost")));
  EXPECT_THAT(text, Not(HasSubstr("Promised"))) << "to wait for one's turn is no trouble";
  metrics.forget({"other", "waits"});
  EXPECT_THAT(metrics.text({}), HasSubstr("empi_operator_impaired_jobs{reason=\"ResizePending\"} 1\n"));
}

TEST(OperatorMetrics, ShowsRequestsAndPasses) {
  OperatorMetrics metrics;
  metrics.reconciled(OperatorMetrics::Result::Ok, .02);
  metrics.waited(OperatorMetrics::Wait::Look, Millis(20));
  metrics.waited(OperatorMetrics::Wait::Agent, Seconds(2));
  OperatorMetrics::Now now;
  now.requests = {{"create", "pods", 201, 7}};
  now.leading = true;
  const std::string text = metrics.text(now);
  EXPECT_THAT(
      text,
      HasSubstr("empi_operator_api_requests_total{verb=\"create\",resource=\"pods\",status=\"201\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("empi_operator_reconcile_duration_seconds_bucket{le=\"0.025\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("empi_operator_leader 1\n"));
  EXPECT_THAT(text, HasSubstr("empi_operator_wait_seconds_bucket{at=\"look\",le=\"0.025\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("empi_operator_wait_seconds_sum{at=\"agent\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("empi_operator_wait_seconds_count{at=\"news\"} 0\n"));
}

// A plan of queue `main` that starts a job that has waited 40 s.
void plan_a_start(OperatorMetrics& metrics) {
  const Time now{Seconds(1000)};
  QueueStatus status;
  status.running = 2;
  status.queued = 1;
  status.pools = {{"p", 1, 8000, 3000, 2000, 500, 1000, {{"memory", 8 << 20, 4 << 20, 0, 1 << 20, 0}}}};
  queue::QueueState state;
  state.jobs.emplace_back();
  state.jobs[0].since = now - Seconds(40);
  queue::Plan plan;
  plan.grants = {{.job = 0, .kind = queue::Grant::Kind::Start, .allocation = {}}};
  metrics.planned({"main", status, state, plan, now});
  metrics.scheduled({{{"main", true}}, Millis(2)});
}

TEST(OperatorMetrics, ShowsWhatQueuesHaveAndGive) {
  OperatorMetrics metrics;
  plan_a_start(metrics);
  OperatorMetrics::Now now;
  now.queues = true;
  const std::string text = metrics.text(now);
  for (const char* line :
       {"empi_queue_jobs{queue=\"main\",state=\"queued\"} 1",
        "empi_capacity_cores{queue=\"main\",pool=\"p\",state=\"held\"} 3",
        "empi_capacity_cores{queue=\"main\",pool=\"p\",state=\"promised\"} 2",
        "empi_capacity_cores{queue=\"main\",pool=\"p\",state=\"free\"} 2",
        "empi_capacity_cores{queue=\"main\",pool=\"p\",state=\"unplaceable\"} 1",
        "empi_capacity_resources{queue=\"main\",pool=\"p\",resource=\"memory\",state=\"held\"} 4194304",
        "empi_capacity_resources{queue=\"main\",pool=\"p\",resource=\"memory\",state=\"foreign\"} 1048576",
        "empi_scheduler_grants_total{queue=\"main\",reason=\"start\"} 1",
        "empi_queue_wait_seconds_sum{queue=\"main\"} 40", "empi_scheduler_pass_seconds_count 1"})
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
  metrics.scheduled({{}, Millis(1)});
  EXPECT_THAT(metrics.text(now), Not(HasSubstr("queue=\"main\""))) << "it is gone";
  EXPECT_THAT(OperatorMetrics().text({}), Not(HasSubstr("empi_queue"))) << "there can be none";
}

TEST(OperatorMetrics, AddUpWhatNamespacesCost) {
  OperatorMetrics metrics;
  const Time start{Seconds(1000)};
  const QueueStatus status;
  queue::QueueState state;
  state.pools = {{.name = "cheap", .capacity = {}, .price = .5},
                 {.name = "dear", .capacity = {}, .price = 3}};
  queue::Demand& job = state.jobs.emplace_back();
  job.namespace_name = "team";
  job.worker = {2000, 0};
  job.allocation.workers = job.held = 4;
  job.allocation.pool = 0;
  queue::Plan plan;
  metrics.planned({"main", status, state, plan, start});
  // It goes to the dear pool, with two pods left in the other.
  job.allocation = {.workers = 1, .pool = 1};
  job.held = 1;
  job.left = {{0, 2}};
  plan.grants = {{.job = 0, .kind = queue::Grant::Kind::Leave, .allocation = {}}};
  metrics.planned({"main", status, state, plan, start + Seconds(1800)});
  state.jobs.clear();
  metrics.planned({"main", status, state, {}, start + Seconds(2700)});
  metrics.planned({"main", status, state, {}, start + Seconds(9000)});
  OperatorMetrics::Now now;
  now.queues = true;
  // 8 CPUs at .5 for half an hour, then 2 at 3 and 4 at .5 for a quarter.
  EXPECT_THAT(metrics.text(now), HasSubstr("empi_cost_total{queue=\"main\",namespace=\"team\"} 4\n"));
  EXPECT_THAT(metrics.text(now),
              HasSubstr("empi_scheduler_grants_total{queue=\"main\",reason=\"leave\"} 1\n"));
}

// Namespaces are charged by what is counted, and the time between two plans is paid for, too.
TEST(OperatorMetrics, GoOnCountingWhereAQueueWasNotPlannedForMeanwhile) {
  OperatorMetrics metrics;
  const Time start{Seconds(1000)};
  const QueueStatus status;
  queue::QueueState state;
  state.pools = {{.name = "p", .capacity = {}, .price = 1}};
  queue::Demand& job = state.jobs.emplace_back();
  job.namespace_name = "team";
  job.worker = {1000, 0};
  job.allocation = {.workers = 4, .pool = 0};
  job.held = 4;
  plan_a_start(metrics);
  metrics.planned({"main", status, state, {}, start});
  metrics.planned({"main", status, state, {}, start + Seconds(1800)});
  metrics.scheduled({{{"main", false}}, Millis(1)});  // somebody has written its status a moment before
  OperatorMetrics::Now now;
  now.queues = true;
  EXPECT_THAT(metrics.text(now), Not(HasSubstr("empi_queue_jobs{queue=\"main\""))) << "nobody knows";
  metrics.planned({"main", status, state, {}, start + Seconds(3600)});
  metrics.scheduled({{{"main", true}}, Millis(1)});
  const std::string text = metrics.text(now);
  EXPECT_THAT(text, HasSubstr("empi_cost_total{queue=\"main\",namespace=\"team\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("empi_scheduler_grants_total{queue=\"main\",reason=\"start\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("empi_queue_jobs{queue=\"main\",state=\"running\"} 0\n"));
}

// Every metric there is, before Prometheus' own judge: names, units, types, help texts.
TEST(OperatorMetrics, PassPromtool) {
  if (!*EMPI_PROMTOOL) GTEST_SKIP() << "promtool is not installed: it is in the package prometheus";
  OperatorMetrics metrics;
  const JobKey job{"default", "demo"};
  metrics.look(job, {});
  JobStatus status = resized(2, ResizeResult::Committed);
  status.decisions = {
      {Time(Seconds(1)), 2, 4, "threshold", DecisionAction::Scale, "why", DecisionCause::Grow}};
  metrics.look(job, status);
  metrics.reconciled(OperatorMetrics::Result::Ok, .02);
  metrics.reacted(.01);
  plan_a_start(metrics);
  OperatorMetrics::Now now;
  now.queues = true;
  now.watches = {{"pods", 1, 2}};
  now.requests = {{"create", "pods", 201, 7}};
  const std::string text = metrics.text(now);
  for (const char* name : {"decisions_total", "resize_phase_seconds", "resizes_total", "watch_age_seconds"})
    EXPECT_THAT(text, HasSubstr(std::string("\nempi_operator_") + name)) << "is not put to the test";
  const std::string file = ::testing::TempDir() + "operator-metrics." + std::to_string(getpid());
  std::ofstream(file) << text;
  FILE* promtool = popen(("'" EMPI_PROMTOOL "' check metrics <'" + file + "' 2>&1").c_str(), "r");
  ASSERT_NE(promtool, nullptr);
  std::string said;
  for (int c; (c = std::fgetc(promtool)) != EOF;) said += static_cast<char>(c);
  EXPECT_EQ(pclose(promtool), 0) << said << text;
  EXPECT_EQ(said, "");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace emj::manager
