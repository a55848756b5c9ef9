// SPDX-License-Identifier: Apache-2.0
// Jobs of manifests in a simulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/testing/world.hpp"
#include "operator/simulate/metrics.hpp"
#include "operator/simulate/report.hpp"
#include "operator/simulate/schedule_run.hpp"
#include "operator/simulate/testing/random_trace.hpp"

namespace emj::simulate {
namespace {

using testing::HasSubstr;

constexpr const char* kLinear =
    "scalability: [{workers: 1, speedPercent: 100}, {workers: 8, speedPercent: 800}]";

ElasticMPIJob manifest(const std::string& name, const std::string& scheduling, const std::string& spec = "",
                       int min = 1, int max = 8) {
  ElasticMPIJob job = testing_world::make_job(
      "  scheduling: {queueName: main" + (scheduling.empty() ? "" : ", " + scheduling) + "}\n" + spec, min,
      max);
  job.metadata.name = name;
  return job;
}

QueueSpec queue_with(int cpus) {
  QueueSpec queue;
  queue.pools.emplace_back().name = "machine";
  queue.pools[0].quota.cpu = Quantity{std::to_string(cpus)};
  queue.priorities = {{"urgent", 10}};
  return queue;
}

empi::Expected<Job, std::string> read(const ElasticMPIJob& job, double after = 0, bool decides = false,
                                      int cpus = 8, Workload workload = {}) {
  workload.processors = cpus;
  return job_of({job, after}, workload, queue_with(cpus), queue::Objective::Fair, decides);
}

std::string refusal(const ElasticMPIJob& job, bool decides = false) {
  const auto made = read(job, 0, decides);
  return made.ok() ? "" : made.error();
}

TEST(ManifestJob, IsWhatTheQueueReadsInIt) {
  const auto job =
      read(manifest("a", std::string("expectedSeconds: 100, priorityClassName: urgent, ") + kLinear,
                    "  slotsPerWorker: 2\n", 2, 8),
           60, false, 16);
  ASSERT_TRUE(job.ok()) << job.error();
  EXPECT_EQ(job.value().name, "a");
  EXPECT_EQ(job.value().submit, kOrigin + Seconds(60));
  EXPECT_EQ(job.value().reference, 4) << "twice minReplicas";
  EXPECT_EQ(job.value().floor, 2);
  EXPECT_EQ(job.value().most, 8);
  EXPECT_TRUE(job.value().malleable);
  EXPECT_EQ(job.value().milli_cpu, 2000) << "a CPU for each slot";
  EXPECT_DOUBLE_EQ(job.value().run_seconds, 100);
  EXPECT_NEAR(job.value().curve->speed_of(8), 2, 1e-9) << "over that of four";
  EXPECT_EQ(job.value().asked->priority, 10);
}

TEST(ManifestJob, SaysWhatIsMissingAndWhatToWrite) {
  EXPECT_THAT(refusal(manifest("a", "")), HasSubstr("spec.scheduling.expectedSeconds: is missing"));
  EXPECT_THAT(refusal(manifest("a", "")),
              HasSubstr("on 2 workers: write scheduling: {expectedSeconds: 3600}"));
  EXPECT_THAT(refusal(manifest("a", "expectedSeconds: 9, deadline: \"2030-01-01T00:00:00Z\"")),
              HasSubstr("write deadlineSeconds"));
  EXPECT_THAT(refusal(manifest("a", "expectedSeconds: 9", "  suspend: true\n")), HasSubstr("set false"));
  const auto measured =
      manifest("a", "expectedSeconds: 9", "  autoscaling: {mode: Auto, policy: {name: threshold}}\n");
  EXPECT_THAT(refusal(measured), HasSubstr("add --full, or write policy: {name: throughput}"));
  EXPECT_EQ(refusal(measured, true), "");
  EXPECT_THAT(refusal(manifest("a", "expectedSeconds: 9", "", 8, 16)),
              HasSubstr("the machine has 8 processors"));
  EXPECT_THAT(refusal(manifest("a", "expectedSeconds: 9, pools: [other]")),
              HasSubstr("names other, and the queue has machine"));
}

// Four workers are all that is free, the rest is the rigid job's.
TEST(ManifestJob, RunsAmongThoseOfATrace) {
  Trace trace{.name = "t", .processors = 8};
  trace.jobs = {{.number = 7, .submit = 1000, .run_seconds = 500, .processors = 4, .estimate = 500}};
  Workload workload = make_workload(trace, 8, {.malleable_percent = 0});
  auto job = read(manifest("a", std::string("expectedSeconds: 100, ") + kLinear), 10, false, 8, workload);
  ASSERT_TRUE(job.ok()) << job.error();
  add(workload, job.value());
  ASSERT_EQ(workload.jobs.size(), 2u);
  EXPECT_EQ(workload.jobs[1].name, "a");
  EXPECT_EQ(workload.jobs[1].number, 8);
  EXPECT_EQ(workload.jobs[1].submit, workload.jobs[0].submit + Seconds(10)) << "after the first of the trace";
  const ScheduleRun run = run_elastic(workload, {});
  EXPECT_NEAR(seconds_between(workload.jobs[1].submit, run.jobs[1].end), 50, 1)
      << "twice as fast as on the two that it is made for";
  EXPECT_NEAR(run.jobs[1].processor_seconds, 200, 4);
  EXPECT_THAT(jobs_csv(workload, run), HasSubstr("\na,malleable,1010.000,1010.000,"));
  EXPECT_THAT(schedule_swf(workload, run), HasSubstr("; Note: job 8 is a\n"));
  EXPECT_NEAR(seconds_between(run_easy(workload).jobs[1].start, run_easy(workload).jobs[1].end), 100, 1e-9);
}

TEST(ManifestJob, OfHigherPriorityStartsFirst) {
  Workload workload;
  workload.processors = 8;
  const auto come = [&](const std::string& name, double after, const std::string& more) {
    auto job = read(manifest(name, "expectedSeconds: 100" + more, "  runtime: {mode: Rigid}\n", 8, 8), after,
                    false, 8, workload);
    ASSERT_TRUE(job.ok()) << job.error();
    add(workload, job.value());
  };
  come("first", 0, "");
  come("second", 1, "");
  come("third", 2, ", priorityClassName: urgent");
  const ScheduleRun run = run_elastic(workload, {});
  EXPECT_LT(run.jobs[2].start, run.jobs[1].start);
  const ScheduleRun easy = run_easy(workload);
  EXPECT_LT(easy.jobs[1].start, easy.jobs[2].start) << "which knows of no priorities";
}

// A worker of two slots takes two processors, everywhere.
TEST(ManifestJob, HoldsTheCpusOfItsWorkers) {
  Workload workload;
  workload.processors = 8;
  for (const char* name : {"a", "b", "c"}) {
    auto job =
        read(manifest(name, "expectedSeconds: 100", "  slotsPerWorker: 2\n  runtime: {mode: Rigid}\n", 2, 2),
             0, false, 8, workload);
    ASSERT_TRUE(job.ok()) << job.error();
    add(workload, job.value());
  }
  ElasticOptions options;
  options.timeline = true;
  for (const ScheduleRun& run : {run_easy(workload), run_elastic(workload, options)}) {
    EXPECT_EQ(run.jobs[0].start, kOrigin);
    EXPECT_EQ(run.jobs[1].start, kOrigin);
    EXPECT_EQ(run.jobs[2].start, kOrigin + Seconds(100));
    EXPECT_DOUBLE_EQ(run.jobs[0].processor_seconds, 400);
    ASSERT_FALSE(run.timeline.empty());
    EXPECT_DOUBLE_EQ(run.timeline.front().held, 8);
  }
}

// It keeps what it has been given, whoever waits.
TEST(ManifestJob, ThatMayNotBeShrunkIsNot) {
  Workload workload;
  workload.processors = 8;
  const auto come = [&](const ElasticMPIJob& manifest, double after) {
    auto job = read(manifest, after, false, 8, workload);
    ASSERT_TRUE(job.ok()) << job.error();
    add(workload, job.value());
  };
  const std::string keeps = std::string("expectedSeconds: 1000, preemption: None, ") + kLinear;
  come(manifest("a", keeps), 0);
  come(manifest("b", "expectedSeconds: 100", "  runtime: {mode: Rigid}\n", 4, 4), 10);
  EXPECT_GE(run_elastic(workload, {}).jobs[1].start, run_elastic(workload, {}).jobs[0].end);
}

}  // namespace
}  // namespace emj::simulate
