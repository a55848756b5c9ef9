// SPDX-License-Identifier: Apache-2.0
// What is promised about a job's end and about who may touch it, scenario by scenario. The clock moves only
// where a test moves it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing_world::make_job;
using testing_world::started;
using testing_world::World;

// --- end --------------------------------------------------------------------------------------------

TEST(End, AllWorkersEndingWellIsSuccess) {
  World world = started(2);
  world.lead.reachable = false;
  world.end_pod(0, 0);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Running);
  world.end_pod(1, 0);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Succeeded);
  EXPECT_TRUE(world.status().completion_time);
}

TEST(End, TheLeadsWordIsEnough) {
  World world = started(2);
  world.lead.program = ProgramState::Succeeded;
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Succeeded);
  EXPECT_FALSE(world.did<DeletePod>()) << "the agents may end on their own";
  world.now += Seconds(5);
  world.reconcile();
  EXPECT_EQ(world.of_type<DeletePod>().size(), 2u);
  EXPECT_PROMISES_KEPT(world);
}

TEST(End, AFailedMemberFailsTheJobAtOnceWithItsLastLines) {
  World world = started(3);
  world.end_pod(1, 139, "rank 1: Segmentation fault");
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
  const std::string message = find_condition(world.status(), "Failed")->message;
  EXPECT_THAT(message, HasSubstr("demo-w-1"));
  EXPECT_THAT(message, HasSubstr("139"));
  EXPECT_THAT(message, HasSubstr("Segmentation fault"));
  EXPECT_TRUE(world.did<StopJob>());
  EXPECT_EQ(world.of_type<DeletePod>().size(), 2u) << "the others do not run on";
}

// Who does not answer just then may be told all the same, or the others may.
TEST(End, AProgramIsToldToEndAlsoWhereNobodyAnswers) {
  World world = started(3);
  world.lead.reachable = false;
  world.end_pod(1, 139);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
  EXPECT_TRUE(world.did<StopJob>());
  EXPECT_PROMISES_KEPT(world);
}

TEST(End, AVanishedMemberFailsTheJob) {
  World world = started(3);
  world.vanish(2);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
  EXPECT_EQ(find_condition(world.status(), "Failed")->reason, "WorkerLost");
}

// A master-worker program: the lead drops a lost worker, maybe some moments later than its pod is seen to
// end.
TEST(End, AProgramThatSurvivesLossGoesOnAndIsFilledUpAgain) {
  for (const bool vanishes : {true, false}) {
    SCOPED_TRACE(vanishes);
    World world = started(3);
    world.lead.survives_loss = true;
    if (vanishes)
      world.vanish(2);
    else
      world.end_pod(2, 137, "rank 2 was killed by signal 9");
    world.reconcile();
    EXPECT_EQ(world.status().state, JobState::Running);
    world.lead.members.pop_back();
    ++world.lead.epoch;
    world.settle(12);
    EXPECT_EQ(world.status().state, JobState::Running);
    EXPECT_EQ(world.size(), 3) << "a new worker has taken its place";
    EXPECT_EQ(to_string(world.status().active_workers), "0-1,3");
    EXPECT_PROMISES_KEPT(world);
  }
}

TEST(End, TheLossOfTheLeadOfAMasterWorkerProgramIsNotSurvived) {
  World world = started(3);
  world.lead.survives_loss = true;
  world.end_pod(0, 137, "killed");
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
}

TEST(End, PodsThatVanishWithTheirOutcomeAreNoSuccess) {
  World world = started(2);
  world.lead.reachable = false;
  world.vanish(0);
  world.vanish(1);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
  EXPECT_EQ(find_condition(world.status(), "OutcomeUnknown")->status, "True");
}

TEST(End, AReleasedLeaversExitIsNoEvent) {
  World world = started(3);
  world.ask_for(2);
  world.reconcile();
  for (int i = 0; i < 4; ++i) world.advance_change();
  world.end_pod(2, 0);
  world.reconcile();
  world.advance_change();
  world.settle(4);
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(world.pods.size(), 2u);
}

TEST(End, RestartsFromTheStartWithinTheBackoffLimit) {
  World world = started(2, "  runPolicy: {backoffLimit: 1}\n");
  world.end_pod(1, 1, "out of memory");
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Pending);
  EXPECT_EQ(world.status().restarts, 1);
  EXPECT_FALSE(world.did<CreatePod>());
  world.settle(30);
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(to_string(world.status().active_workers), "2-3");
  EXPECT_PROMISES_KEPT(world);
  world.end_pod(3, 1, "out of memory");
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
}

CheckpointStatus whole(const World& world, std::int64_t number) {
  return {.number = number, .iteration = 100 * number, .time = world.now, .restored_from = ""};
}

TEST(Checkpoint, ARestartSaysWhereItBegins) {
  World world = started(2, "  runPolicy: {backoffLimit: 2}\n");
  world.end_pod(1, 1);
  world.reconcile();
  EXPECT_THAT(world.events.back().message, HasSubstr("restart 1 of 2, from the start of the program, in "));
  world.settle(30);
  world.lead.checkpoint = whole(world, 7);
  world.end_pod(3, 1);
  world.reconcile();
  EXPECT_THAT(world.events.back().message,
              HasSubstr("restart 2 of 2, from checkpoint 7, iteration 700, in "));
  EXPECT_EQ(world.status().checkpoint->number, 7) << "what there is outlives the run";
}

TEST(Checkpoint, TheStatusIsWrittenOnceAMinute) {
  World world = started(1);
  world.lead.checkpoint = whole(world, 1);
  world.reconcile();
  ASSERT_TRUE(world.status().checkpoint);
  EXPECT_EQ(world.status().checkpoint->iteration, 100);
  world.now += Seconds(10);
  world.lead.checkpoint = whole(world, 2);
  world.reconcile();
  EXPECT_EQ(world.status().checkpoint->number, 1);
  world.now += Seconds(50);
  world.lead.checkpoint = whole(world, 7);
  world.reconcile();
  EXPECT_EQ(world.status().checkpoint->number, 7);
  world.lead.checkpoint.restored_from = "/volume/demo/program.000003.h5";
  world.reconcile();
  EXPECT_EQ(world.status().checkpoint->restored_from, "/volume/demo/program.000003.h5") << "at once";
}

TEST(Checkpoint, AVolumeThatFailsIsACondition) {
  World world = started(1);
  EXPECT_FALSE(find_condition(world.status(), "CheckpointFailing"));
  world.lead.checkpoint_trouble = "writing 4096 bytes to a file in /volume: No space left on device";
  world.reconcile();
  EXPECT_EQ(find_condition(world.status(), "CheckpointFailing")->status, "True");
  EXPECT_THAT(find_condition(world.status(), "CheckpointFailing")->message, HasSubstr("No space left"));
  EXPECT_EQ(world.status().reason, "CheckpointFailing");
  EXPECT_EQ(world.status().state, JobState::Running);
  world.lead.checkpoint_trouble.clear();
  world.reconcile();
  EXPECT_EQ(find_condition(world.status(), "CheckpointFailing")->status, "False");
}

TEST(End, ACorpseOnADeadNodeBlocksNothing) {
  World world = started(2, "  runPolicy: {backoffLimit: 1}\n");
  world.end_pod(1, 1);
  world.reconcile();
  world.make_all_ready();
  world.now += Seconds(30);
  world.reconcile();  // demo-w-0 and demo-w-1 stay Terminating for ever
  EXPECT_EQ(world.of_type<CreatePod>().size(), 2u);
  EXPECT_EQ(world.status().state, JobState::Starting);
}

TEST(End, CancelEndsTheJobAndItsPods) {
  World world = started(2);
  world.cancel_requested = true;
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
  EXPECT_EQ(find_condition(world.status(), "Failed")->reason, "Cancelled");
  EXPECT_TRUE(world.did<StopJob>());
  EXPECT_EQ(world.of_type<DeletePod>().size(), 2u);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
}

TEST(End, TheDeadlineEndsTheJob) {
  World world = started(1, "  runPolicy: {activeDeadlineSeconds: 100}\n");
  world.now = *world.status().start_time + Seconds(99);
  world.reconcile();
  ASSERT_TRUE(world.did<Requeue>());
  EXPECT_LE(world.of_type<Requeue>()[0].after, Seconds(1));
  world.now += Seconds(1);
  world.reconcile();
  EXPECT_EQ(find_condition(world.status(), "Failed")->reason, "DeadlineExceeded");
}

// Ten restarts are no ten times as long, and waiting for pods counts, too.
TEST(End, TheDeadlineCountsFromTheFirstStart) {
  World world = started(1, "  runPolicy: {activeDeadlineSeconds: 100, backoffLimit: 5}\n");
  const Time first = *world.status().start_time;
  world.end_pod(0, 1);
  world.reconcile();
  world.settle(20);
  ASSERT_EQ(world.status().state, JobState::Running);
  ASSERT_EQ(world.status().restarts, 1);
  EXPECT_EQ(world.status().start_time, first);
  world.now = first + Seconds(100);
  world.reconcile();
  EXPECT_EQ(find_condition(world.status(), "Failed")->reason, "DeadlineExceeded");

  World waiting(testing_world::make_job("  runPolicy: {activeDeadlineSeconds: 100}\n"));
  waiting.reconcile();
  ASSERT_EQ(waiting.status().state, JobState::Starting);
  waiting.now += Seconds(100);
  waiting.reconcile();
  EXPECT_EQ(find_condition(waiting.status(), "Failed")->reason, "DeadlineExceeded");
}

// Each attempt ends before the job does, and the next one is an attempt of the same job.
TEST(End, TheDeadlineCountsFromTheFirstStartAlsoWhenStartsFail) {
  World world(testing_world::make_job(
      "  runPolicy: {activeDeadlineSeconds: 700}\n  resize: {joinTimeoutSeconds: 600}\n"));
  const Time first = world.now;
  world.reconcile();
  ASSERT_EQ(world.status().state, JobState::Starting);
  for (int look = 0; look < 200 && !is_terminal(world.status().state); ++look) {
    world.now += Seconds(10);
    world.remove_terminating();
    world.reconcile();
  }
  ASSERT_EQ(world.status().state, JobState::Failed);
  EXPECT_EQ(find_condition(world.status(), "Failed")->reason, "DeadlineExceeded");
  EXPECT_EQ(world.now, first + Seconds(700));
}

TEST(End, TheDeadlineCountsFromTheFirstStartAlsoWhenAWorkerEndsBeforeTheProgramHasStarted) {
  World world(testing_world::make_job("  runPolicy: {activeDeadlineSeconds: 100, backoffLimit: 100}\n"));
  const Time first = world.now;
  for (int look = 0; look < 200 && !is_terminal(world.status().state); ++look) {
    world.remove_terminating();
    world.reconcile();
    if (!world.pods.empty() && !world.pods.front().terminating) world.end_pod(world.pods.front().index, 1);
    world.now += Seconds(1);
  }
  ASSERT_EQ(world.status().state, JobState::Failed);
  EXPECT_EQ(find_condition(world.status(), "Failed")->reason, "DeadlineExceeded");
  EXPECT_LE(world.now - first, Seconds(102));
}

TEST(End, CleanPodPolicySaysWhichPodsStay) {
  for (const auto& [policy, deleted] :
       std::vector<std::pair<std::string, std::size_t>>{{"None", 0}, {"Running", 1}, {"All", 2}}) {
    World world = started(2, "  runPolicy: {cleanPodPolicy: " + policy + "}\n");
    world.end_pod(1, 1);
    world.reconcile();
    EXPECT_EQ(world.of_type<DeletePod>().size(), deleted) << policy;
  }
}

TEST(Suspend, ReleasesEverythingAndStartsAnewWhenResumed) {
  World world = started(2);
  world.job.spec.suspend = true;
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Suspended);
  EXPECT_EQ(world.of_type<DeletePod>().size(), 2u);
  EXPECT_EQ(world.of_type<DeletePod>()[0].reason, DeleteReason::Suspended);
  EXPECT_EQ(find_condition(world.status(), "Suspended")->status, "True");
  world.remove_terminating();
  world.reconcile();
  EXPECT_FALSE(world.did<CreatePod>());
  world.job.spec.suspend = false;
  world.settle(5);
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(to_string(world.status().active_workers), "2-3");
  EXPECT_EQ(find_condition(world.status(), "Suspended")->status, "False");
  EXPECT_PROMISES_KEPT(world);
}

// --- control ----------------------------------------------------------------------------------------

TEST(Fence, AnOlderControllerDoesNothing) {
  World world = started(2);
  world.fence = 5;
  world.reconcile();
  EXPECT_EQ(world.status().fence, 5);
  const JobStatus before = world.status();
  world.fence = 4;
  world.ask_for(4);
  world.reconcile();
  EXPECT_THAT(world.actions, IsEmpty());
  EXPECT_EQ(world.status(), before);
}

TEST(ManagedBy, AnotherControllersJobIsLeftAlone) {
  World world(make_job("  managedBy: example.com/other\n"));
  world.reconcile();
  EXPECT_THAT(world.actions, IsEmpty());
  EXPECT_EQ(world.status(), JobStatus{});
}

TEST(Conditions, TransitionTimeMovesOnlyWhenTheStatusFlips) {
  World world = started(2);
  const Time since = find_condition(world.status(), "Running")->last_transition_time;
  world.now += Seconds(100);
  world.reconcile();
  EXPECT_EQ(find_condition(world.status(), "Running")->last_transition_time, since);
  world.job.spec.suspend = true;
  world.reconcile();
  EXPECT_EQ(find_condition(world.status(), "Running")->last_transition_time, world.now);
}

TEST(Idempotence, ASteadyJobChangesNothing) {
  World world = started(2);
  world.reconcile();
  const JobStatus before = world.status();
  world.reconcile();
  EXPECT_THAT(world.actions, IsEmpty());
  EXPECT_EQ(world.status(), before);
}

}  // namespace
}  // namespace emj
