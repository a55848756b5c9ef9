// SPDX-License-Identifier: Apache-2.0
// How a program is told that it is to end: once, as its agents were begun, and without a fuss.

#include <gtest/gtest.h>

#include <algorithm>

#include "operator/controller/testing/memory_job.hpp"

namespace emj {
namespace {

using testing::ControllerTest;

TEST_F(ControllerTest, CancelStopsTheProgramAndDeletesThePodsEvenWhenTheLeadCannotBeTold) {
  start();
  cluster.record->cancel_requested = true;
  const ReconcileResult cancelled = pass();
  EXPECT_TRUE(cancelled.terminal);
  EXPECT_EQ(runtime.stops, 1);
  EXPECT_TRUE(cluster.pods.empty());
}

TEST_F(ControllerTest, ADeletedJobsProgramIsEnded) {
  start();
  EXPECT_EQ(runtime.stops, 0);
  cluster.record.reset();
  EXPECT_TRUE(pass().gone);
  EXPECT_EQ(runtime.stops, 1);
  pass();
  EXPECT_EQ(runtime.stops, 1);
}

// The lead has not confirmed it yet, and may have begun.
TEST_F(ControllerTest, SoIsThatOfOneWhichWasOnlyAskedToStart) {
  pass();
  make_pods_ready();
  pass();
  ASSERT_EQ(runtime.starts, 1);
  ASSERT_EQ(cluster.record->job.status.epoch, 0);
  cluster.record.reset();
  pass();
  EXPECT_EQ(runtime.stops, 1);
  EXPECT_EQ(runtime.told_pods.size(), 2u);
}

// Somebody's finalizer keeps it: it was told at each pass, and accounted for.
TEST_F(ControllerTest, AJobThatIsBeingDeletedIsToldUntilItHasHeardAndAccountedForOnce) {
  start();
  int accounted = 0;
  ControllerOptions options;
  options.account = [&](const JobKey&, const std::string&) { ++accounted; };
  Controller next{cluster, runtime, [this] { return time; }, [](const JobKey&, const std::string&) {},
                  options};
  const auto look = [&] {
    time += Seconds(1);
    next.reconcile(key);
  };
  look();
  cluster.record->job.metadata.deletion_time = time;
  look();
  look();
  EXPECT_EQ(runtime.stops, 2);
  runtime.stop_outcome = Outcome::done();
  for (int i = 0; i < 4; ++i) look();
  EXPECT_EQ(runtime.stops, 3);
  EXPECT_EQ(accounted, 1);
}

// Most often all of them have ended by then, as after any crash.
TEST_F(ControllerTest, ThatNobodyHearsWhereNobodyAnsweredIsNoNews) {
  for (const bool answers : {false, true}) {
    SCOPED_TRACE(answers);
    cluster.record->job.status = {};
    cluster.pods.clear();
    runtime.view = {};
    start();
    log.clear();
    runtime.view.reachable = answers;
    cluster.pods[1].phase = PodPhase::Failed;
    cluster.pods[1].exit_code = 139;
    EXPECT_EQ(pass().status.state, JobState::Failed);
    const auto told = std::ranges::count_if(
        log, [](const std::string& line) { return line.find("stop the program") != std::string::npos; });
    EXPECT_EQ(told, answers ? 1 : 0);
  }
  EXPECT_EQ(runtime.stops, 2);
}

// With certificates: without, the job's token went out in plain text, and was not heard.
TEST_F(ControllerTest, TheAgentsOfARunAreSpokenToAsTheyWereBegunThoughItIsForgotten) {
  start();
  cluster.record->job.spec.run_policy.backoff_limit = 1;
  cluster.record->job.status.mutual_tls = true;
  cluster.pods.pop_back();
  const ReconcileResult again = pass();
  ASSERT_EQ(again.status.restarts, 1);
  EXPECT_FALSE(again.status.mutual_tls) << "what the next run will have is not known";
  ASSERT_EQ(runtime.told.size(), 1u);
  EXPECT_TRUE(runtime.told[0].mutual_tls);
}

}  // namespace
}  // namespace emj
