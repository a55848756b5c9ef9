// SPDX-License-Identifier: Apache-2.0
// The loop over a cluster and a runtime that live in memory: what is promised is the order of writing and
// acting, and that nothing is remembered that matters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/testing/memory_job.hpp"

namespace emj {
namespace {

using ::testing::Contains;
using testing::ControllerTest;
using ::testing::HasSubstr;

TEST_F(ControllerTest, StatusIsWrittenBeforeAnythingIsDone) {
  pass();
  EXPECT_EQ(cluster.calls, (std::vector<std::string>{"status", "create demo-w-0", "create demo-w-1"}));
}

TEST_F(ControllerTest, NothingIsDoneWhenTheStatusCannotBeWritten) {
  cluster.fail_status = true;
  const ReconcileResult first = pass();
  EXPECT_TRUE(cluster.pods.empty());
  EXPECT_LE(first.requeue_after, Millis(50));
}

TEST_F(ControllerTest, AProblemThatStaysIsSaidNowAndThen) {
  const auto said = [&](const std::string& words) {
    return std::ranges::count_if(log, [&](const auto& line) { return line.find(words) != line.npos; });
  };
  cluster.fail_status = true;
  for (int i = 0; i < 4; ++i) pass();
  EXPECT_EQ(said("somebody else wrote"), 0) << "the ordinary course of things: look again";
  for (int i = 0; i < 20; ++i) pass();
  EXPECT_EQ(said("somebody else wrote"), 1);
  time += Seconds(600);
  pass();
  EXPECT_EQ(said("somebody else wrote"), 2);
  cluster.fail_status = false;
  cluster.quota = "exceeded quota";
  for (int i = 0; i < 5; ++i) pass();
  EXPECT_EQ(said("exceeded quota"), 1);
  cluster.quota.clear();
  pass();
  cluster.quota = "exceeded quota";
  cluster.pods.clear();
  pass();
  EXPECT_EQ(said("exceeded quota"), 2) << "it was over in between";
}

TEST_F(ControllerTest, ALeadThatRefusesAChangeIsQuotedInTheCondition) {
  start();
  runtime.change_outcome = {Outcome::Kind::Conflict, "epoch 3 is stale"};
  cluster.record->job.spec.worker.replicas = 1;
  ++cluster.record->job.metadata.generation;
  for (int i = 0; i < 20; ++i) pass();
  const Condition* resizing = find_condition(cluster.record->job.status, "Resizing");
  ASSERT_TRUE(resizing);
  EXPECT_THAT(resizing->message, HasSubstr("the lead does not take it: epoch 3 is stale"));
}

TEST_F(ControllerTest, StartsTheProgramOnceAllPodsAreReady) {
  pass();
  pass();
  EXPECT_EQ(runtime.starts, 0);
  make_pods_ready();
  pass();
  EXPECT_EQ(runtime.starts, 1);
  const ReconcileResult running = pass();
  EXPECT_EQ(running.status.state, JobState::Running);
  EXPECT_EQ(running.status.joined_replicas, 2);
}

// The kubelet says so a second later.
TEST_F(ControllerTest, ANewControllerGoesOnWhereTheOldOneWasKilled) {
  start();
  cluster.record->job.spec.worker.replicas = 3;
  ++cluster.record->job.metadata.generation;
  pass();
  make_pods_ready();
  Controller fresh(cluster, runtime, [this] { return time; }, [](const JobKey&, const std::string&) {}, {});
  time += Seconds(1);
  fresh.reconcile(key);
  ASSERT_EQ(runtime.changes.size(), 1u);
  EXPECT_EQ(runtime.changes[0].add.size(), 1u);
  EXPECT_EQ(runtime.starts, 1);
}

TEST_F(ControllerTest, ARefusedChangeIsSentAgainLater) {
  start();
  runtime.change_outcome = {Outcome::Kind::Conflict, "stale epoch"};
  cluster.record->job.spec.worker.replicas = 3;
  ++cluster.record->job.metadata.generation;
  pass();
  make_pods_ready();
  for (int i = 0; i < 5; ++i) pass();
  runtime.change_outcome = Outcome::done();
  pass();
  ASSERT_GE(runtime.changes.size(), 2u);
  EXPECT_EQ(runtime.changes[0].id, runtime.changes[1].id);
  EXPECT_THAT(log, Contains(HasSubstr("stale epoch")));
}

// Of a job that has failed.
const Condition& failure_of(const JobStatus& status) {
  EXPECT_EQ(status.state, JobState::Failed);
  static const Condition none;
  const Condition* failed = find_condition(status, "Failed");
  EXPECT_TRUE(failed);
  return failed ? *failed : none;
}

TEST_F(ControllerTest, ATemplateThatTheServerRefusesFailsTheJobWithItsWords) {
  cluster.refusal = "spec.containers[0].image: Required value";
  pass();
  const ReconcileResult second = pass();
  EXPECT_EQ(failure_of(second.status).reason, "InvalidTemplate");
  EXPECT_THAT(failure_of(second.status).message, HasSubstr("Required value"));
}

TEST_F(ControllerTest, PodsThatMayNotBeMadeNowAreAConditionUntilTheyCan) {
  cluster.quota = "pods \"demo-w-0\" is forbidden: exceeded quota";
  pass();
  const ReconcileResult second = pass();
  EXPECT_EQ(second.status.state, JobState::Starting);
  const Condition* blocked = find_condition(second.status, "PodCreationBlocked");
  ASSERT_TRUE(blocked);
  EXPECT_EQ(blocked->status, "True");
  EXPECT_THAT(blocked->message, HasSubstr("exceeded quota"));
  cluster.quota.clear();
  pass();
  EXPECT_EQ(find_condition(pass().status, "PodCreationBlocked")->status, "False");
}

// Its pods go first, and none is made any more: a job that waited for others would hold the namespace up.
TEST_F(ControllerTest, AJobEndsWithItsNamespace) {
  cluster.ending = "pods \"demo-w-0\" is forbidden: because it is being terminated";
  pass();
  const ReconcileResult second = pass();
  EXPECT_EQ(failure_of(second.status).reason, "NamespaceTerminating");
}

// What a deleted job of this name has left behind goes within moments, as a rule.
TEST_F(ControllerTest, WhatDoesNotGoAwayByItselfIsAConditionAfterAWhile) {
  cluster.conflict = "Secret demo-token is of a deleted job of this name, it goes soon";
  pass();
  EXPECT_FALSE(find_condition(pass().status, "PodCreationBlocked")) << "no fuss at once";
  for (int i = 0; i < 5; ++i) pass();
  const ReconcileResult later = pass();
  const Condition* blocked = find_condition(later.status, "PodCreationBlocked");
  ASSERT_TRUE(blocked);
  EXPECT_THAT(blocked->message, HasSubstr("of a deleted job"));
  cluster.conflict.clear();
  pass();
  EXPECT_EQ(find_condition(pass().status, "PodCreationBlocked")->status, "False");
}

TEST_F(ControllerTest, AJobThatCannotRunHereFailsAndSaysWhy) {
  cluster.record->invalid = "spec.local: is for local runs (empi run) only";
  const ReconcileResult first = pass();
  EXPECT_EQ(first.status.state, JobState::Failed);
  EXPECT_THAT(find_condition(first.status, "Failed")->message, HasSubstr("spec.local"));
  EXPECT_TRUE(cluster.pods.empty());
}

TEST_F(ControllerTest, AJobThatIsGoneIsForgotten) {
  cluster.record.reset();
  EXPECT_TRUE(pass().gone);
}

// A defect of ours that one job meets is told by that job, and the process goes on.
TEST_F(ControllerTest, APassThatThrowsIsAConditionOfItsJob) {
  for (std::string* defect : {&cluster.defect_in_reading, &cluster.defect_in_writing}) {
    *defect = "type must be string, but is boolean";
    cluster.record->job.status = {};
    cluster.pods.clear();
    cluster.calls.clear();
    ReconcileResult broken;
    for (int i = 0; i < 3; ++i) {
      broken = pass();
      EXPECT_TRUE(broken.failed && broken.broken);
      EXPECT_FALSE(broken.at_rest());
    }
    const Condition* told = find_condition(cluster.record->job.status, "InternalError");
    ASSERT_TRUE(told);
    EXPECT_EQ(told->status, "True");
    EXPECT_THAT(told->message, HasSubstr("type must be string"));
    EXPECT_LE(std::ranges::count(cluster.calls, "status"), 2) << "told once";
    defect->clear();
    EXPECT_FALSE(pass().broken);
    EXPECT_EQ(find_condition(pass().status, "InternalError")->status, "False");
    EXPECT_EQ(cluster.pods.size(), 2u) << "and the job goes on";
  }
  EXPECT_THAT(log, Contains(HasSubstr("a defect of the operator")));
}

TEST_F(ControllerTest, AnAgentWithAStaleTokenGetsTheNewOne) {
  start();
  EXPECT_THAT(cluster.calls, ::testing::Not(Contains("renew token")));
  runtime.view.stale_token = true;
  pass();
  EXPECT_THAT(cluster.calls, Contains("renew token"));
}

// Of a newer version, say: whoever cannot read it must not end it.
TEST_F(ControllerTest, AJobThatCannotBeReadIsLeftRunningAndToldSo) {
  start();
  cluster.calls.clear();
  cluster.record->unreadable = "spec.autoscaling.mode: is Telepathic";
  for (int i = 0; i < 3; ++i) {
    const ReconcileResult result = pass();
    EXPECT_FALSE(result.gone);
    EXPECT_TRUE(result.failed) << "looked at again, with patience";
  }
  EXPECT_EQ(runtime.stops, 0);
  EXPECT_THAT(cluster.calls, ::testing::Each("unreadable spec.autoscaling.mode: is Telepathic"));
  cluster.record->unreadable.clear();
  EXPECT_EQ(pass().status.state, JobState::Running);
  EXPECT_EQ(runtime.stops, 0);
}

// kubectl replace --force, and the deletion was never seen by itself.
TEST_F(ControllerTest, AJobOfTheSameNameIsAnotherJob) {
  cluster.refusal = "spec.containers[0].image: Required value";
  pass();
  ASSERT_EQ(pass().status.state, JobState::Failed);
  const auto made_again = [&](const std::string& uid) {
    cluster.record->job.metadata.uid = uid;
    cluster.record->job.metadata.generation = 1;
    cluster.record->job.status = {};
    cluster.pods.clear();
    runtime.view = {};
  };
  cluster.refusal.clear();
  made_again("second");
  start();
  made_again("third");
  const ReconcileResult first = pass();
  EXPECT_EQ(first.status.state, JobState::Starting);
  EXPECT_EQ(runtime.stops, 1) << "the second one was deleted: its program ends";
  EXPECT_EQ(cluster.pods.size(), 2u);
}

// Their pods stay for their logs, for ever unless there is a TTL: a thousand ended jobs must cost nothing.
TEST_F(ControllerTest, AnEndedJobWhosePodsHaveEndedIsAtRest) {
  start();
  for (PodView& pod : cluster.pods) {
    pod.phase = PodPhase::Succeeded;
    pod.exit_code = 0;
  }
  EXPECT_EQ(pass().status.state, JobState::Succeeded);
  const ReconcileResult ended = pass();
  EXPECT_EQ(ended.pods.size(), 2u);
  EXPECT_TRUE(ended.at_rest());
  cluster.pods[0].phase = PodPhase::Running;
  EXPECT_FALSE(pass().at_rest());
}

class RaisesFences : public ControllerTest {
 protected:
  Controller other{cluster,
                   runtime,
                   [this] { return time; },
                   [](const JobKey&, const std::string&) {},
                   {.fence = 0, .build = {}}};
};

TEST_F(RaisesFences, ANewLeaderTakesTheJobFromTheOldOne) {
  Controller leader{cluster,
                    runtime,
                    [this] { return time; },
                    [](const JobKey&, const std::string&) {},
                    {.fence = 0, .build = {}}};
  leader.reconcile(key);
  EXPECT_EQ(cluster.record->job.status.fence, 1);
  other.reconcile(key);
  EXPECT_EQ(cluster.record->job.status.fence, 2);
  cluster.calls.clear();
  cluster.pods.clear();
  leader.reconcile(key);
  EXPECT_TRUE(cluster.calls.empty()) << "the old leader must leave the job alone";
}

// The other one has gone: nobody else would look after the job.
TEST_F(RaisesFences, AFenceThatNobodyHoldsAnyMoreIsOvertakenAfterAWhile) {
  Controller leader{cluster,
                    runtime,
                    [this] { return time; },
                    [](const JobKey&, const std::string&) {},
                    {.fence = 0, .build = {}}};
  leader.reconcile(key);
  other.reconcile(key);
  ASSERT_EQ(cluster.record->job.status.fence, 2);
  leader.reconcile(key);
  time += Seconds(59);
  leader.reconcile(key);
  EXPECT_EQ(cluster.record->job.status.fence, 2);
  time += Seconds(1);
  leader.reconcile(key);
  EXPECT_EQ(cluster.record->job.status.fence, 3);
  EXPECT_THAT(cluster.events, Contains("Fenced"));
}

// A status from a backup: nobody holds the fence that the agents know, and they would refuse every command.
TEST_F(RaisesFences, AFenceAboveTheStatusIsOvertaken) {
  start();
  runtime.view.fence = 7;
  cluster.record->job.status.fence = 3;
  other.reconcile(key);
  EXPECT_EQ(cluster.record->job.status.fence, 8);
  cluster.record->job.status.fence = 9;  // somebody else has taken the job since
  cluster.calls.clear();
  other.reconcile(key);
  EXPECT_TRUE(cluster.calls.empty());
}

TEST_F(RaisesFences, AFenceThatWasNotWrittenIsNotHeld) {
  cluster.fail_status = true;
  other.reconcile(key);
  cluster.fail_status = false;
  cluster.record->job.status.fence = 1;  // another leader has come first, with the number we had in mind
  other.reconcile(key);
  EXPECT_EQ(cluster.record->job.status.fence, 2);
}

TEST_F(RaisesFences, JobsThatHaveEndedAreLeftAlone) {
  cluster.record->job.status.state = JobState::Succeeded;
  cluster.record->job.status.observed_generation = cluster.record->job.metadata.generation;
  cluster.record->job.status.selector = worker_selector("demo");
  other.reconcile(key);
  EXPECT_TRUE(cluster.calls.empty());
}

TEST_F(ControllerTest, AnEndedJobIsDeletedWhenItsTimeIsOver) {
  cluster.record->job.spec.run_policy.ttl_after_finished = Seconds(60);
  cluster.record->job.status.state = JobState::Succeeded;
  cluster.record->job.status.completion_time = time;
  EXPECT_LE(pass().requeue_after, Millis(60'000));
  EXPECT_THAT(cluster.calls, ::testing::Not(Contains(HasSubstr("delete job"))));
  time += Seconds(60);
  pass();
  EXPECT_THAT(cluster.calls, Contains("delete job job-uid"));
  EXPECT_TRUE(pass().gone);
}

// A user may ask for ten thousand workers: made in one go they would hold a thread for minutes and look like
// a pass that hangs, for which the kubelet ends the operator.
TEST_F(ControllerTest, AJobOfManyPodsTakesTurnsWithTheOthers) {
  cluster.record->job.spec.worker.max_replicas = 1000;
  cluster.record->job.spec.worker.replicas = 250;
  std::size_t before = 0;
  for (int turn = 0; turn < 3; ++turn) {
    const ReconcileResult result = pass();
    EXPECT_LE(cluster.pods.size() - before, 100u);
    EXPECT_FALSE(result.failed);
    EXPECT_LE(result.requeue_after, Millis(50)) << "it goes on at once, behind those that wait";
    before = cluster.pods.size();
  }
  EXPECT_EQ(before, 250u);
  cluster.record->cancel_requested = true;
  EXPECT_FALSE(pass().at_rest());
  EXPECT_EQ(cluster.pods.size(), 150u);
  for (int turn = 0; turn < 3; ++turn) pass();
  EXPECT_TRUE(cluster.pods.empty());
}

TEST_F(ControllerTest, TheOtherObjectsOfARunningJobAreLookedAfter) {
  pass();
  EXPECT_EQ(cluster.children_kept, 0) << "they are made with the first pod";
  make_pods_ready();
  pass();
  pass();
  ASSERT_EQ(cluster.record->job.status.state, JobState::Running);
  pass();
  EXPECT_GT(cluster.children_kept, 0);
  const int kept = cluster.children_kept;
  cluster.record->job.status.fence = 9;  // another operator's
  pass();
  cluster.record->job.status.fence = 1;
  cluster.record->cancel_requested = true;
  pass();
  pass();
  EXPECT_EQ(cluster.children_kept, kept);
}

}  // namespace
}  // namespace emj
