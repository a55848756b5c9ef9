// SPDX-License-Identifier: Apache-2.0
// When a job is looked at again, and what is asked of its pods' agents meanwhile.

#include <gtest/gtest.h>

#include <random>

#include "operator/controller/testing/memory_job.hpp"

namespace emj {
namespace {

using testing::ControllerTest;

// Whatever a job and its world look like: unless the job has ended and left nothing behind, a pass is
// followed by another one, soon while something moves.
TEST_F(ControllerTest, EveryPassThatIsNotAtRestHasANext) {
  std::mt19937 random(1);
  const auto number = [&](int low, int high) { return std::uniform_int_distribution<>(low, high)(random); };
  int rests = 0;
  for (int i = 0; i < 2000; ++i) {
    JobStatus& status = cluster.record->job.status;
    status.state = static_cast<JobState>(number(0, static_cast<int>(JobState::Failed)));
    status.epoch = number(0, 3);
    status.resize.reset();
    status.start.reset();
    if (number(0, 1)) {
      status.resize.emplace();
      status.resize->phase = static_cast<ResizePhase>(number(0, static_cast<int>(ResizePhase::Draining)));
      status.resize->to = number(1, 4);
      status.resize->requested_time = time;
    }
    status.active_workers = {};
    cluster.pods.clear();
    for (int worker = 0; worker < number(0, 4); ++worker) {
      if (number(0, 3)) status.active_workers.insert(worker);
      if (number(0, 3) == 0) continue;
      PodView pod;
      pod.name = worker_name("demo", worker);
      pod.uid = "uid-" + std::to_string(worker);
      pod.index = worker;
      pod.phase = static_cast<PodPhase>(number(0, 4));
      pod.ready = number(0, 1);
      pod.terminating = number(0, 4) == 0;
      cluster.pods.push_back(pod);
    }
    runtime.view = {};
    runtime.view.reachable = number(0, 3);
    runtime.view.lead_silent = number(0, 3) == 0;
    runtime.view.epoch = number(0, 4);
    runtime.view.ending = number(0, 5) == 0;
    for (const int worker : status.active_workers)
      runtime.view.members.push_back("uid-" + std::to_string(worker));
    if (number(0, 2) == 0) runtime.view.change = ChangeView{"change-9", ChangeState::Building};
    cluster.fail_status = number(0, 3) == 0;
    cluster.record->job.spec.worker.replicas = number(1, 4);
    const ReconcileResult after = pass();
    if (after.at_rest()) {
      ++rests;
      ASSERT_TRUE(is_terminal(after.status.state));
      for (const PodView& pod : after.pods)
        ASSERT_TRUE(pod.terminating || pod.phase == PodPhase::Succeeded || pod.phase == PodPhase::Failed);
      continue;
    }
    ASSERT_GE(after.requeue_after, Millis(1));
    ASSERT_LE(after.requeue_after, Millis(1000)) << "the longest time between two looks";
    const bool moves = after.status.resize || after.status.state == JobState::Starting;
    if (moves && !after.failed) {
      ASSERT_LE(after.requeue_after, Millis(200)) << "two or three random states may be the same one";
    }
  }
  EXPECT_GT(rests, 0);
}

TEST_F(ControllerTest, BelievesNewcomersThatTheyAreUp) {
  pass();
  pass();
  EXPECT_EQ(runtime.asked, std::vector<std::string>{"demo-w-0"})
      << "all are waited for: one that is not up will do";
  runtime.up = {"uid-0", "uid-1"};
  pass();
  EXPECT_EQ(runtime.starts, 1);
  pass();
  const auto asked = runtime.asked.size();
  pass();
  EXPECT_EQ(runtime.asked.size(), asked) << "members are the lead's business";
  cluster.record->job.spec.worker.replicas = 3;
  ++cluster.record->job.metadata.generation;
  pass();
  pass();
  EXPECT_EQ(runtime.asked.back(), "demo-w-2");
  EXPECT_TRUE(runtime.changes.empty());
  runtime.up.insert("uid-2");
  pass();
  EXPECT_EQ(runtime.changes.size(), 1u);
}

// While the agents are being asked nothing is decided, and nothing is waited for.
TEST_F(ControllerTest, APassWithoutAnAnswerIsMadeAgain) {
  start();
  cluster.record->job.spec.worker.replicas = 3;
  ++cluster.record->job.metadata.generation;
  runtime.has_answer = false;
  const auto calls = cluster.calls;
  const ReconcileResult waits = pass();
  EXPECT_TRUE(waits.asking);
  EXPECT_FALSE(waits.failed);
  EXPECT_FALSE(waits.at_rest());
  EXPECT_EQ(cluster.calls, calls);
  runtime.has_answer = true;
  EXPECT_FALSE(pass().asking);
  EXPECT_EQ(cluster.pods.size(), 3u);
}

// A grow takes what comes: a newcomer that no node has room for yet is no reason not to ask the others.
TEST_F(ControllerTest, AsksNewcomersBesideOneThatHasNoPlaceYet) {
  start();
  cluster.record->job.spec.worker.replicas = 4;
  ++cluster.record->job.metadata.generation;
  pass();
  ASSERT_EQ(cluster.pods.size(), 4u);
  cluster.pods[2].ip.clear();
  runtime.up.insert("uid-3");
  pass();
  time += Seconds(5);
  pass();
  ASSERT_EQ(runtime.changes.size(), 1u);
  ASSERT_EQ(runtime.changes[0].add.size(), 1u);
  EXPECT_EQ(runtime.changes[0].add[0].name, "demo-w-3");
}

TEST_F(ControllerTest, LooksOftenWhileItMovesAndSeldomWhenItRuns) {
  EXPECT_LE(pass().requeue_after, Millis(50));
  make_pods_ready();
  pass();
  pass();
  EXPECT_GE(pass().requeue_after, Millis(500));
}

TEST_F(ControllerTest, LooksLessOftenTheLongerNothingHappens) {
  pass();
  pass();  // the pods are there, and wait for a node
  time += Seconds(4);
  const Millis patient = pass().requeue_after;
  EXPECT_GE(patient, Millis(300));
  EXPECT_LE(patient, Millis(600)) << "a tenth of the wait";
  time += Seconds(20);
  pass();  // says in the status which worker is missing
  time += Seconds(40);
  EXPECT_EQ(pass().requeue_after, Millis(1000)) << "the longest time between two looks";
  cluster.pods[0].phase = PodPhase::Unknown;
  EXPECT_LE(pass().requeue_after, Millis(50)) << "something happened";
}

}  // namespace
}  // namespace emj
