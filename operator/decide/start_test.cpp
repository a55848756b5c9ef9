// SPDX-License-Identifier: Apache-2.0
// What is promised about a job's start, scenario by scenario. The clock moves only where a test moves it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing_world::make_job;
using testing_world::World;

TEST(Start, CreatesTheWorkersThenStartsThemWhenAllAreReady) {
  World world(make_job("", 1, 8, "    replicas: 3\n"));
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Starting);
  EXPECT_EQ(world.pods.size(), 3u);
  world.make_ready(0);
  world.make_ready(1);
  world.reconcile();
  EXPECT_FALSE(world.did<StartJob>());
  world.make_ready(2);
  world.reconcile();
  ASSERT_TRUE(world.did<StartJob>());
  const StartJob start = world.of_type<StartJob>()[0];
  ASSERT_EQ(start.members.size(), 3u);
  EXPECT_EQ(start.members[0].name, "demo-w-0");
  EXPECT_EQ(start.lead_uid, start.members[0].uid);
  EXPECT_EQ(start.fence, 1);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(world.status().epoch, 1);
  EXPECT_EQ(to_string(world.status().active_workers), "0-2");
  EXPECT_EQ(world.status().joined_replicas, 3);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Start, ThatTakesLongNamesTheWorkerThatIsMissing) {
  World world(make_job("", 1, 8, "    replicas: 3\n"));
  world.reconcile();
  const auto ready = [&] { return *find_condition(world.status(), "WorkersReady"); };
  EXPECT_EQ(ready().message, "0 of 3 ready");
  world.make_ready(0);
  world.make_ready(2);
  world.reconcile();
  EXPECT_EQ(ready().message, "2 of 3 ready");
  world.now += Seconds(10);
  world.reconcile();
  EXPECT_EQ(ready().status, "False");
  EXPECT_EQ(ready().reason, "Starting");
  EXPECT_THAT(ready().message, HasSubstr("2 of 3 ready; missing: demo-w-1"));
  world.make_ready(1);
  world.settle(5);
  EXPECT_EQ(ready().message, "3 of 3 ready");
  EXPECT_EQ(ready().status, "True");
  EXPECT_PROMISES_KEPT(world);
}

TEST(Start, WritesTheSizeThatTheSpecLeftOut) {
  World world(make_job("", 2, 8));
  world.settle(5);
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(world.job.spec.worker.replicas, 2) << "absent would be zero to a HorizontalPodAutoscaler";
  world.ask_for(4);
  world.settle(5);
  EXPECT_EQ(world.size(), 4);
  EXPECT_FALSE(world.did<WriteScale>());
  EXPECT_PROMISES_KEPT(world);
}

TEST(Start, WithoutReplicasBeginsAtTheMinimum) {
  World world(make_job("", 2, 8));
  world.reconcile();
  EXPECT_EQ(world.pods.size(), 2u);
}

TEST(Start, RoundsDownToAnAllowedSizeAndSaysSo) {
  World world(make_job("  resize: {allowedReplicas: [1, 2, 4]}\n", 1, 8, "    replicas: 3\n"));
  world.reconcile();
  EXPECT_EQ(world.pods.size(), 2u);
  const Condition* adjusted = find_condition(world.status(), "SizeAdjusted");
  ASSERT_NE(adjusted, nullptr);
  EXPECT_EQ(adjusted->status, "True");
}

TEST(Start, StatusKnowsTheIndicesBeforeAnyPodIsCreated) {
  World world(make_job("", 1, 8, "    replicas: 2\n"));
  world.reconcile(true, 0);  // killed after the status was written
  EXPECT_THAT(world.pods, IsEmpty());
  world.reconcile();
  ASSERT_EQ(world.pods.size(), 2u);
  EXPECT_EQ(world.pods[0].name, "demo-w-0");
  EXPECT_EQ(world.status().next_index, 2);
}

TEST(Start, AtTheDeadlineStartsSmaller) {
  World world(make_job("  resize: {joinTimeoutSeconds: 60}\n", 2, 8, "    replicas: 4\n"));
  world.reconcile();
  for (const int index : {0, 2, 3}) world.make_ready(index);
  world.pod(1)->message = "0/3 nodes are available";
  world.now += Seconds(59);
  world.reconcile();
  EXPECT_FALSE(world.did<StartJob>());
  world.now += Seconds(1);
  world.reconcile();
  ASSERT_TRUE(world.did<StartJob>());
  EXPECT_EQ(world.of_type<StartJob>()[0].members.size(), 3u);
  EXPECT_TRUE(world.had_event("StartingSmaller"));
  ASSERT_EQ(world.of_type<DeletePod>().size(), 1u) << "the pending pod goes";
  EXPECT_EQ(world.of_type<DeletePod>()[0].name, "demo-w-1");
  EXPECT_PROMISES_KEPT(world);
}

TEST(Start, BelowTheMinimumReleasesAllAndBacksOff) {
  World world(make_job("  resize: {joinTimeoutSeconds: 60}\n", 3, 8));
  world.reconcile();
  world.make_ready(0);
  world.pod(1)->message = "image not found";
  world.now += Seconds(60);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Pending);
  EXPECT_EQ(world.of_type<DeletePod>().size(), 3u);
  ASSERT_TRUE(world.status().blocked);
  EXPECT_THAT(world.status().blocked->reason, HasSubstr("image not found"));
  world.remove_terminating();
  world.now += Seconds(1);
  world.reconcile();
  EXPECT_THAT(world.pods, IsEmpty()) << "not before the back-off is over";
  world.now += Seconds(10);
  world.reconcile();
  EXPECT_EQ(world.pods.size(), 3u);
  EXPECT_EQ(world.pods[0].index, 3) << "indices are not used again";
  EXPECT_PROMISES_KEPT(world);
}

// The word may have arrived, and only the answer been lost.
TEST(Start, ThatIsNotConfirmedInTimeIsTakenBackInWords) {
  World world(make_job("  resize: {joinTimeoutSeconds: 60}\n"));
  world.reconcile();
  world.make_all_ready();
  world.reconcile(true, 0);
  ASSERT_TRUE(world.did<StartJob>());
  world.lead.reachable = false;
  world.now += Seconds(61);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Pending);
  EXPECT_TRUE(world.did<StopJob>());
  EXPECT_PROMISES_KEPT(world);
}

TEST(Start, ReplacesAWorkerThatIsEvictedBeforeTheProgramRuns) {
  World world(make_job("", 1, 8, "    replicas: 2\n"));
  world.reconcile();
  world.reconcile();
  world.vanish(1);
  world.reconcile();
  world.make_all_ready();
  world.reconcile();
  world.reconcile();
  EXPECT_EQ(to_string(world.status().active_workers), "0,2");
  EXPECT_PROMISES_KEPT(world);
}

TEST(Start, AWorkerThatFailsBeforeTheStartFailsTheJobWithItsWords) {
  World world(make_job("", 1, 8, "    replicas: 2\n"));
  world.reconcile();
  world.end_pod(1, 1, "Open MPI 4.1 found, 5.0 needed");
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
  EXPECT_THAT(find_condition(world.status(), "Failed")->message, HasSubstr("Open MPI 4.1 found"));
}

TEST(Start, FollowsANewerSizeAsLongAsNothingRuns) {
  World world(make_job("", 1, 8, "    replicas: 2\n"));
  world.reconcile();
  world.ask_for(4);
  world.reconcile();
  EXPECT_EQ(world.pods.size(), 4u);
  world.ask_for(1);
  world.settle(4);
  EXPECT_EQ(world.size(), 1);
  EXPECT_EQ(world.pods.size(), 1u);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Start, ARefusedTemplateFailsTheJobWithTheServersWords) {
  World world(make_job());
  world.invalid_template = "spec.containers[0].image: Required value";
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
  EXPECT_EQ(find_condition(world.status(), "Failed")->reason, "InvalidTemplate");
  EXPECT_EQ(find_condition(world.status(), "Failed")->message, world.invalid_template);
}

// A first install as a rule: the network does not let the operator through, or the token is another one.
TEST(Start, ThatTheLeadRefusesSaysWhy) {
  World world(testing_world::make_job("", 1, 8, "    replicas: 1\n"));
  world.reconcile();
  world.make_all_ready();
  world.reconcile();
  ASSERT_TRUE(world.did<StartJob>());
  world.lead.reachable = false;
  world.lead_problem = "starting the job at agent 10.0.0.1:7400: 401 wrong token";
  world.reconcile();
  world.now += Seconds(10);
  world.reconcile();
  EXPECT_NE(find_condition(world.status(), "WorkersReady")->message.find("401 wrong token"),
            std::string::npos);
  world.now += world.job.spec.resize.join_timeout;
  world.reconcile();
  ASSERT_TRUE(world.status().blocked);
  EXPECT_NE(world.status().blocked->reason.find("401 wrong token"), std::string::npos);
}

}  // namespace
}  // namespace emj
