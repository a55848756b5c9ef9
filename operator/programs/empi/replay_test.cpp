// SPDX-License-Identifier: Apache-2.0
// What a run leaves of its windows is what a policy reads again.

#include "operator/programs/empi/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/api/parse.hpp"
#include "operator/local/process.hpp"
#include "operator/programs/empi/recorder.hpp"

namespace emj::cli {
namespace {

using ::testing::HasSubstr;

ElasticMPIJob job_of(const std::string& policy, const std::string& more = "") {
  const auto job = parse_yaml(
      "apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticMPIJob\nmetadata: {name: demo}\nspec:\n" + more +
          "  autoscaling: {mode: Auto, windowSeconds: 1, windows: 2, scaleUpStabilizationSeconds: 1, "
          "scaleDownStabilizationSeconds: 2, cooldownSeconds: 4, policy: {name: " +
          policy +
          "}}\n  worker: {minReplicas: 1, maxReplicas: 8, template: {spec: {containers: [{name: worker, "
          "command: [p]}]}}}\n",
      "job.yaml");
  EXPECT_TRUE(job.ok()) << job.message();
  return job.value();
}

// One second of a program on four ranks that computes for `useful` of the time: 20 iterations.
empi::WindowSample window(std::int64_t index, double useful, double progress) {
  empi::WindowSample sample;
  sample.index = index;
  sample.width_s = 1;
  sample.epoch = 1;
  sample.ranks = sample.pods = 4;
  sample.elapsed_s = 4;
  sample.useful_s = 4 * useful;
  sample.max_useful_s = useful;
  sample.max_pod_useful_s = useful;
  sample.mpi_s = 4 * (1 - useful);
  sample.iterations = 20;
  sample.iteration_s = 1;
  sample.iteration_s2 = .05;
  sample.progress = progress;
  return sample;
}

class ReplayTest : public ::testing::Test {
 protected:
  ReplayTest() { std::filesystem::create_directories(folder_); }
  std::string folder_ = ::testing::TempDir() + "replay-" + local::random_uuid();
};

TEST_F(ReplayTest, ARunLeavesItsWindowsAndAPolicyReadsThemAgain) {
  {
    Recorder recorder(folder_, {});
    for (int i = 0; i < 60; ++i) recorder.look(Time(Seconds(1000 + i)), {}, 4, {window(1000 + i, .25, -1)});
  }
  const auto windows = read_windows(folder_);
  ASSERT_TRUE(windows) << windows.error();
  ASSERT_EQ(windows.value().size(), 60u);
  const auto verdicts = replay(job_of("threshold"), windows.value());
  ASSERT_GT(verdicts.size(), 50u);
  EXPECT_EQ(verdicts.front().result.verdict, Verdict::Wait) << "one window is not enough";
  EXPECT_EQ(verdicts.back().result.verdict, Verdict::Scale) << verdicts.back().result.line;
  EXPECT_LT(verdicts.back().result.wanted, 4)
      << verdicts.back().result.line << "three quarters of the time are communication";
  EXPECT_EQ(verdicts.back().workers, 4);
}

TEST_F(ReplayTest, ADeadlineCountsFromTheFirstWindow) {
  std::vector<empi::WindowSample> windows;
  for (int i = 0; i < 60; ++i) windows.push_back(window(1000 + i, .95, i / 600.0));
  const auto late = replay(job_of("deadline", "  scheduling: {deadlineSeconds: 400}\n"), windows);
  ASSERT_FALSE(late.empty());
  EXPECT_GT(late.back().result.wanted, 4) << late.back().result.line;
  const auto early = replay(job_of("deadline", "  scheduling: {deadlineSeconds: 4000}\n"), windows);
  EXPECT_LT(early.back().result.wanted, 4) << early.back().result.line;
}

TEST_F(ReplayTest, AWindowThatAPodIsMissingFromIsNoChangeOfSize) {
  std::vector<empi::WindowSample> windows;
  for (int i = 0; i < 60; ++i) windows.push_back(window(1000 + i, .95, i / 600.0));
  windows[30].pods = windows[30].ranks = 3;
  for (const Verdicts& verdict :
       replay(job_of("deadline", "  scheduling: {deadlineSeconds: 4000}\n"), windows))
    EXPECT_EQ(verdict.workers, 4);
}

TEST_F(ReplayTest, WhatCannotBeReadIsSaidByFileAndLine) {
  EXPECT_THAT(read_windows(folder_).error(),
              HasSubstr("windows.jsonl cannot be read: name the output folder"));
  local::write_file_atomically(folder_ + "/windows.jsonl", window_line(window(1, .5, -1)) + "{\"index\": \n");
  EXPECT_THAT(read_windows(folder_).error(), HasSubstr("windows.jsonl:2: is no window"));
}

}  // namespace
}  // namespace emj::cli
