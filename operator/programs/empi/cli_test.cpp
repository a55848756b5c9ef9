// SPDX-License-Identifier: Apache-2.0
// The pure parts of the command line: overrides, views, what is recorded.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "operator/api/condition_types.hpp"
#include "operator/local/process.hpp"
#include "operator/programs/empi/manifest.hpp"
#include "operator/programs/empi/recorder.hpp"
#include "operator/programs/empi/view.hpp"

namespace emj::cli {
namespace {

using testing::HasSubstr;

constexpr char kManifest[] = R"(apiVersion: elasticmpi.io/v1alpha1
kind: ElasticMPIJob
metadata: {name: demo}
spec:
  slotsPerWorker: 2
  worker:
    minReplicas: 1
    maxReplicas: 4
    template: {spec: {containers: [{name: worker, command: ["program"], args: ["a"]}]}}
)";

TEST(LoadManifest, OverridesFieldsAndAppendsArguments) {
  const auto job = load_manifest(kManifest, "demo.yaml",
                                 {{"worker.maxReplicas=8", "spec.autoscaling.mode=Auto"}, {"--size", "9"}});
  ASSERT_TRUE(job) << job.message();
  EXPECT_EQ(job.value().spec.worker.max_replicas, 8);
  EXPECT_EQ(job.value().spec.autoscaling.mode, AutoscalingMode::Auto);
  EXPECT_EQ(job.value().spec.worker.pod.args, (std::vector<std::string>{"a", "--size", "9"}));
}

TEST(LoadManifest, RefusesWhatTheManifestCouldNotSayEither) {
  for (const char* bad : {"worker.maxReplicas", "=3", "worker.maxReplicas=0", "worker.nonsense=1",
                          "worker.maxReplicas.deeper=1"}) {
    const auto job = load_manifest(kManifest, "demo.yaml", {{bad}, {}});
    EXPECT_FALSE(job) << bad;
    EXPECT_FALSE(job.message().empty()) << bad;
  }
}

TEST(LoadManifest, RefusesWhatLeavesNoProgram) {
  for (const char* field :
       {"worker", "worker.template", "worker.template.spec", "worker.template.spec.containers"}) {
    for (const char* value : {"8", "x", "{}", "[]", "[x]"}) {
      for (const std::vector<std::string>& arguments : {std::vector<std::string>{}, {"--more"}}) {
        const std::string set = std::string(field) + "=" + value;
        const auto job = load_manifest(kManifest, "demo.yaml", {{set}, arguments});
        EXPECT_FALSE(job) << set;
        EXPECT_THAT(job.message(), HasSubstr("spec.worker")) << set;
      }
    }
  }
}

TEST(LoadManifest, KeepsTheLineOfWhatIsWrong) {
  std::string text = kManifest;
  text.replace(text.find("minReplicas: 1"), 14, "minReplicas: x");
  EXPECT_THAT(load_manifest(text, "demo.yaml", {}).message(),
              HasSubstr("demo.yaml:7: spec.worker.minReplicas: "));
}

TEST(View, SaysSizeEfficiencyEmulationAndDecision) {
  ElasticMPIJob job;
  job.metadata.name = "demo";
  job.spec.slots_per_worker = 2;
  job.spec.local = LocalSpec{.slowdown_factor = 8};
  job.status.state = JobState::Running;
  job.status.joined_replicas = 4;
  job.status.decisions = {{Time(Seconds(3600)), 2, 4, "threshold", DecisionAction::Scale,
                           "MTCT 0.05 is below 0.10", DecisionCause::Grow, .4, .21, .2}};
  const auto lines = view_lines(job, {true, 8, 0.834, 0.9, 0.927, 0}, 62, "50 %");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0],
            "demo  Running  4 workers x 2 = 8 ranks (emulated)  efficiency 83 % (balance 90 %, communication "
            "93 %)  1:02");
  job.status.ranks = 8;
  EXPECT_EQ(view_lines(job, {true, 8, 0.834, 0.9, 0.927, 0}, 62, "50 %"), lines) << "as they should be";
  job.status.ranks = 7;
  EXPECT_THAT(view_lines(job, {}, 62, "").front(), HasSubstr("4 workers x 2 = 8 ranks, of which 7 run"));
  EXPECT_EQ(lines[1], "  emulated: ranks 8x slower by sleeping");
  EXPECT_EQ(lines[2],
            "  last decision 01:00:00  Scale  MTCT 0.05 is below 0.10 (predicted 0.21 s, measured 0.2 s)");
  EXPECT_EQ(lines[3], "  50 %");
}

TEST(View, SaysWhyASizeWaits) {
  ElasticMPIJob job;
  job.metadata.name = "demo";
  job.status.conditions = {{"ResizePending", "True", "WorkersMissing", "3 -> 4 workers waits: x", {}, 1}};
  EXPECT_EQ(view_lines(job, {}, 0, "").at(1), "  3 -> 4 workers waits: x");
  job.status.conditions[0].status = "False";
  EXPECT_EQ(view_lines(job, {}, 0, "").size(), 1u);
}

TEST(View, SaysHowManyWorkersAreWanted) {
  JobStatus status;
  status.joined_replicas = status.desired_replicas = 1;
  EXPECT_EQ(sizes_text(status), "1 worker");
  status.desired_replicas = 4;
  EXPECT_EQ(sizes_text(status), "1 worker (4 wanted)");
  status.joined_replicas = 8;
  EXPECT_EQ(sizes_text(status), "8 workers (4 wanted)");
}

TEST(View, ProgressOfTheApplicationAndWhatIsLeft) {
  RemainingTime remaining;
  EXPECT_EQ(progress_text("", 0, remaining), "");
  EXPECT_EQ(progress_text("{\"cells\": \"many\"}", 0, remaining), "");
  EXPECT_EQ(
      progress_text(R"({"time_s": 360, "end_s": 3600, "cells": 12345, "progress": 0.1})", 100, remaining),
      "10 %, simulated 6:00 of 1:00:00, 12345 cells");
  EXPECT_EQ(progress_text(R"({"phase": "surrogate of 30 points"})", 105, remaining),
            "surrogate of 30 points");
  EXPECT_EQ(progress_text(R"({"progress": 0.2})", 110, remaining), "20 %, about 1:20 left");
  EXPECT_EQ(progress_text(R"({"time_s": 900, "end_s": 3600, "cells": 5, "progress": 0.25})", 115, remaining),
            "25 %, about 1:15 left, simulated 15:00 of 1:00:00, 5 cells");
  RemainingTime unknown;
  EXPECT_EQ(progress_text(R"({"time_s": 1771200, "end_s": 6912000})", 0, unknown),
            "simulated 20.5 of 80.0 days");
}

TEST(RemainingTimeTest, GoesByTheRateOfTheLastMinuteAndStartsAnewWhenProgressFallsBack) {
  RemainingTime remaining;
  remaining.add(0, 0);
  for (int t = 1000; t <= 1100; t += 10) remaining.add(t, 0.001 * (t - 1000) + 0.1);
  ASSERT_TRUE(remaining.seconds());
  EXPECT_NEAR(*remaining.seconds(), 800, 1e-6);
  remaining.add(1110, 0);
  EXPECT_FALSE(remaining.seconds());
}

class RecorderTest : public testing::Test {
 public:
  ~RecorderTest() override { std::filesystem::remove_all(folder_); }

 protected:
  RecorderTest() { std::filesystem::create_directories(folder_); }
  nlohmann::json summary() {
    return nlohmann::json::parse(local::read_file(folder_ + "/summary.json").value());
  }

  std::string folder_ = testing::TempDir() + "recorder-" + local::random_uuid();
  Time start_ = std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now());
};

TEST_F(RecorderTest, AddsUpCoreSecondsAndChanges) {
  ElasticMPIJob job;
  Recorder recorder(folder_, job);
  JobStatus status;
  status.start_time = start_;
  recorder.look(start_, status, 2, {});
  recorder.look(start_ + Seconds(10), status, 4, {});
  recorder.look(start_ + Seconds(15), status, 4, {});
  status.completion_time = start_ + Seconds(15);
  status.conditions.push_back(
      {condition::kDeadlineAtRisk, "True", "Missed", "ended at 12:00:01, the deadline of 12:00:00", {}, 0});
  empi::ChangeRecord grow{"change-1", "grow", "", empi::ChangeOutcome::Committed, 2, 4, {}};
  grow.times.pause_ms = 30;
  grow.times.lost_ms = 150;
  grow.moved_bytes = 4096;
  empi::ChangeRecord failed{"change-2", "grow", "a joiner died", empi::ChangeOutcome::RolledBack, 4, 6, {}};
  failed.times.pause_ms = 5;
  recorder.write_summary(status, {grow, failed}, 7.5);
  const auto s = summary();
  EXPECT_DOUBLE_EQ(s["core_seconds"], 2 * 10 + 4 * 5);
  EXPECT_DOUBLE_EQ(s["cpu_seconds"], 7.5);
  EXPECT_DOUBLE_EQ(s["run_time_s"], 15);
  EXPECT_DOUBLE_EQ(s["finish_s"], 15);
  EXPECT_EQ(s["risks"][0]["reason"], "Missed");
  EXPECT_DOUBLE_EQ(s["pause_total_s"], 0.03);
  EXPECT_DOUBLE_EQ(s["adaptation_share"], 0.01);
  EXPECT_EQ(s["changes"][0]["moved_bytes"], 4096);
  EXPECT_EQ(s["changes"][1]["reason"], "a joiner died");
  EXPECT_TRUE(s["emulated"].is_null());
}

TEST_F(RecorderTest, EmulatedJobsCountTheCoresTheyHold) {
  ElasticMPIJob job;
  job.spec.local = LocalSpec{.slowdown_factor = 8};
  Recorder recorder(folder_, job);
  JobStatus status;
  recorder.look(start_, status, 8, {});
  recorder.look(start_ + Seconds(10), status, 8, {});
  recorder.write_summary(status, {}, 12);
  EXPECT_DOUBLE_EQ(summary()["cpu_seconds"], 80);
  EXPECT_THAT(summary()["cpu_seconds_is"].get<std::string>(), HasSubstr("emulated"));
}

TEST_F(RecorderTest, TakesTheApplicationsResultButNotAnOldOneNorOurKeys) {
  local::write_file_atomically(folder_ + "/old.json", R"({"stale": 1})");
  std::filesystem::last_write_time(folder_ + "/old.json",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  Recorder recorder(folder_, {});
  recorder.look(start_, {}, 1, {});
  local::write_file_atomically(folder_ + "/tsunami.json",
                               R"({"cells_final": 42, "gauges": [{"id": "32412"}], "result": "mine"})");
  local::write_file_atomically(folder_ + "/broken.json", "{");
  local::write_file_atomically(folder_ + "/progress.json", R"({"cells": 1})");
  JobStatus status;
  status.state = JobState::Succeeded;
  recorder.write_summary(status, {}, 0);
  const auto s = summary();
  EXPECT_EQ(s["cells_final"], 42);
  EXPECT_EQ(s["gauges"][0]["id"], "32412");
  EXPECT_EQ(s["result"], "Succeeded");
  EXPECT_FALSE(s.contains("stale"));
  EXPECT_FALSE(s.contains("cells"));
}

TEST_F(RecorderTest, WritesEachWindowOnceIntoTheProfile) {
  Recorder recorder(folder_, {});
  empi::WindowSample window;
  window.index = start_.time_since_epoch().count() / 1000 + 1;
  window.width_s = 1;
  window.ranks = 2;
  window.elapsed_s = 2;
  window.useful_s = 1.5;
  window.max_useful_s = 1;
  window.work_units = 500;
  recorder.look(start_, {}, 2, {window});
  recorder.look(start_ + Seconds(1), {}, 2, {window});
  const std::string text = local::read_file(folder_ + "/profile.csv").value();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_THAT(text, HasSubstr(",2,0.75,0.75,1,0,500,"));
  EXPECT_TRUE(recorder.figures().known);
  EXPECT_DOUBLE_EQ(recorder.figures().efficiency, 0.75);
}

TEST_F(RecorderTest, CountsWhatAMasterWorkerProgramLeavesIdle) {
  Recorder recorder(folder_, {});
  empi::WindowSample window;
  window.width_s = 1;
  window.ranks = 2;
  window.elapsed_s = 2;
  window.tasks.queue.pattern = empi::Pattern::MasterWorker;
  JobStatus status;
  status.start_time = start_;
  status.completion_time = start_ + Seconds(2);
  for (int second = 0; second < 3; ++second) {
    window.index = second;
    window.tasks.busy_s = second < 2 ? 1.5 : 0;
    window.adapt_s = second == 1 ? .02 : 0;
    recorder.look(start_ + Seconds(second), status, 2, {window});
  }
  recorder.write_summary(status, {}, 0);
  const auto s = summary();
  EXPECT_DOUBLE_EQ(s["idle_share"], .25) << "3 of 4 rank seconds were tasks";
  EXPECT_DOUBLE_EQ(s["adaptation_share"], .005) << ".02 of 4 rank seconds";
  EXPECT_DOUBLE_EQ(s["lost_rank_seconds"], .02);
  EXPECT_TRUE(s["lost_total_s"].is_null());
}

}  // namespace
}  // namespace emj::cli
