// What is promised about a job's life, scenario by scenario. The clock moves only where a test moves it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/testing/world.hpp"

namespace emj {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_world::make_job;
using testing_world::World;

World started(int size, const std::string& spec = "", int min = 1, int max = 8) {
  World world(make_job(spec, min, max, "    replicas: " + std::to_string(size) + "\n"));
  world.settle(4);
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(world.size(), size);
  world.events.clear();
  return world;
}

#define EXPECT_PROMISES_KEPT(world) EXPECT_THAT((world).broken, IsEmpty())

// --- start ------------------------------------------------------------------------------------------

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

// --- resize -----------------------------------------------------------------------------------------

TEST(Grow, CreatesPodsThenSendsOneChangeThenReportsIt) {
  World world = started(2);
  world.ask_for(4);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Resizing);
  EXPECT_FALSE(world.did<SendChange>());
  world.make_ready(2);
  world.reconcile();
  EXPECT_FALSE(world.did<SendChange>()) << "only when all newcomers are ready";
  world.make_ready(3);
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>());
  const SendChange change = world.of_type<SendChange>()[0];
  EXPECT_EQ(change.epoch, 1);
  EXPECT_EQ(change.add.size(), 2u);
  EXPECT_THAT(change.remove, IsEmpty());
  EXPECT_EQ(change.deadline, world.now + world.job.spec.resize.prepare_timeout);
  world.reconcile();
  EXPECT_EQ(world.status().resize->phase, ResizePhase::Preparing);
  EXPECT_FALSE(world.did<SendChange>()) << "the lead has it";
  world.finish_change();
  world.reconcile();
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(to_string(world.status().active_workers), "0-3");
  EXPECT_EQ(world.status().epoch, 2);
  ASSERT_TRUE(world.status().last_resize);
  EXPECT_EQ(world.status().last_resize->result, "Committed");
  EXPECT_EQ(world.status().last_resize->paused_millis, 7);
  EXPECT_TRUE(world.had_event("Resized"));
  EXPECT_PROMISES_KEPT(world);
}

TEST(Shrink, DeletesAPodOnlyAfterTheLeadHasReleasedIt) {
  World world = started(4);
  world.ask_for(2);
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>()) << "no pod is needed, so it goes out at once";
  EXPECT_EQ(world.of_type<SendChange>()[0].remove.size(), 2u);
  EXPECT_EQ(to_string(world.status().resize->remove), "2-3") << "the newest leave";
  for (int i = 0; i < 4; ++i) {  // Building, Ready, Window, committed and draining
    world.advance_change();
    world.reconcile();
    EXPECT_FALSE(world.did<DeletePod>());
  }
  EXPECT_EQ(world.status().joined_replicas, 2);
  EXPECT_EQ(world.status().resize->phase, ResizePhase::Draining);
  world.advance_change();  // released
  world.reconcile();
  ASSERT_EQ(world.of_type<DeletePod>().size(), 2u);
  for (const DeletePod& action : world.of_type<DeletePod>()) {
    EXPECT_EQ(action.reason, DeleteReason::Released);
    EXPECT_FALSE(action.uid.empty());
  }
  world.remove_terminating();
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(world.pods.size(), 2u);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Shrink, AWorkerOnItsWayOutLeavesBeforeTheNewest) {
  World world = started(4);
  world.pod(0)->disruption_target = true;  // the lead's own pod
  world.ask_for(3);
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>());
  EXPECT_EQ(to_string(world.status().resize->remove), "0");
}

TEST(Drain, IsOneMixedChange) {
  World world = started(3);
  world.pod(1)->terminating = true;
  world.reconcile();
  EXPECT_EQ(to_string(world.status().resize->add), "3");
  EXPECT_EQ(to_string(world.status().resize->remove), "1");
  world.make_ready(3);
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>());
  EXPECT_EQ(world.of_type<SendChange>()[0].add.size(), 1u);
  EXPECT_EQ(world.of_type<SendChange>()[0].remove.size(), 1u);
  world.finish_change();
  world.settle(4);
  EXPECT_EQ(to_string(world.status().active_workers), "0,2-3");
  EXPECT_PROMISES_KEPT(world);
}

TEST(Drain, ShrinksWhenThereIsNoRoomForAReplacement) {
  World world = started(3, "  resize: {joinTimeoutSeconds: 30}\n");
  world.pod(2)->disruption_target = true;
  world.reconcile();
  world.pod(3)->message = "no node has room";
  world.now += Seconds(30);
  world.reconcile();
  EXPECT_TRUE(world.had_event("ResizeRolledBack"));
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>());
  EXPECT_THAT(world.of_type<SendChange>()[0].add, IsEmpty());
  EXPECT_EQ(world.of_type<SendChange>()[0].remove.size(), 1u);
  world.finish_change();
  world.reconcile();
  EXPECT_EQ(world.size(), 2);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Drain, OfTheOnlyWorkerBringsAnotherFirst) {
  World world = started(1);
  world.pod(0)->disruption_target = true;
  for (int i = 0; i < 30; ++i) {
    world.reconcile();
    world.make_all_ready();
    world.advance_change();
    world.remove_terminating();
  }
  EXPECT_EQ(world.size(), 1);
  EXPECT_EQ(to_string(world.status().active_workers), "1");
  EXPECT_PROMISES_KEPT(world);
}

TEST(Rollback, BlocksTheTargetInsteadOfTryingAgainAtOnce) {
  World world = started(2);
  world.ask_for(4);
  world.reconcile();
  world.make_all_ready();
  world.reconcile();
  world.roll_back_change("joiner demo-w-3 died: exit code 9");
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Running);
  ASSERT_TRUE(world.status().blocked);
  EXPECT_EQ(world.status().blocked->target, 4);
  EXPECT_EQ(world.status().blocked->attempts, 1);
  EXPECT_THAT(world.status().blocked->reason, HasSubstr("exit code 9"));
  EXPECT_EQ(world.of_type<DeletePod>().size(), 2u) << "the newcomers go";
  EXPECT_EQ(world.size(), 2) << "the members do not";
  world.remove_terminating();
  world.now = world.status().blocked->retry_after - Millis(1);
  world.reconcile();
  EXPECT_FALSE(world.did<CreatePod>());
  ASSERT_TRUE(world.did<Requeue>());
  EXPECT_EQ(world.of_type<Requeue>()[0].after, Millis(1));
  world.now += Millis(1);
  world.reconcile();
  EXPECT_TRUE(world.did<CreatePod>());
  world.make_all_ready();
  world.reconcile();
  const Time first_retry = world.status().blocked->retry_after;
  world.roll_back_change("again");
  world.reconcile();
  EXPECT_EQ(world.status().blocked->attempts, 2);
  EXPECT_GT(world.status().blocked->retry_after - world.now, Seconds(30));
  EXPECT_GT(world.status().blocked->retry_after, first_retry);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Rollback, ANewTargetIsTriedAtOnce) {
  World world = started(2);
  world.ask_for(4);
  world.reconcile();
  world.make_all_ready();
  world.reconcile();
  world.roll_back_change("no");
  world.reconcile();
  world.ask_for(3);
  world.reconcile();
  EXPECT_TRUE(world.did<CreatePod>());
  EXPECT_FALSE(world.status().blocked);
}

TEST(Rollback, NewcomersThatNeverGetReadyAreGivenUp) {
  World world = started(2, "  resize: {joinTimeoutSeconds: 30}\n");
  world.ask_for(3);
  world.reconcile();
  world.pod(2)->message = "pulling image";
  world.now += Seconds(30);
  world.reconcile();
  ASSERT_TRUE(world.status().blocked);
  EXPECT_THAT(world.status().blocked->reason, HasSubstr("pulling image"));
  EXPECT_EQ(world.of_type<DeletePod>()[0].name, "demo-w-2");
  EXPECT_EQ(world.of_type<DeletePod>()[0].reason, DeleteReason::NeverJoined);
  EXPECT_EQ(world.status().last_resize->result, "RolledBack");
}

TEST(Rollback, OnTimeoutFailFailsTheJob) {
  World world = started(2, "  resize: {joinTimeoutSeconds: 30, onTimeout: Fail}\n");
  world.ask_for(3);
  world.reconcile();
  world.now += Seconds(30);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
  EXPECT_EQ(find_condition(world.status(), "Failed")->reason, "ResizeTimeout");
}

TEST(NewTarget, BeforeTheChangeIsSentReusesTheNewcomers) {
  World world = started(2);
  world.ask_for(5);
  world.reconcile();
  world.ask_for(3);
  world.reconcile();
  EXPECT_EQ(to_string(world.status().resize->add), "2");
  EXPECT_EQ(world.of_type<DeletePod>().size(), 2u);
  world.settle(10);
  EXPECT_EQ(world.size(), 3);
  EXPECT_EQ(world.pods.size(), 3u);
  EXPECT_PROMISES_KEPT(world);
}

TEST(NewTarget, BackToThePresentSizeEndsTheResize) {
  World world = started(2);
  world.ask_for(4);
  world.reconcile();
  world.ask_for(2);
  world.reconcile();
  EXPECT_FALSE(world.status().resize);
  EXPECT_EQ(world.status().last_resize->result, "Superseded");
  world.settle(3);
  EXPECT_EQ(world.pods.size(), 2u);
  EXPECT_PROMISES_KEPT(world);
}

TEST(NewTarget, BeforeReadyCancelsAndTakesTheLatest) {
  for (const int steps : {0, 1}) {  // Preparing, Building
    World world = started(2);
    world.ask_for(4);
    world.reconcile();
    world.make_all_ready();
    world.reconcile();
    for (int i = 0; i < steps; ++i) world.advance_change();
    world.ask_for(1);
    world.reconcile();
    ASSERT_TRUE(world.did<CancelChange>());
    EXPECT_EQ(world.of_type<CancelChange>()[0].id, "change-1");
    EXPECT_FALSE(world.did<DeletePod>());
    world.advance_change();
    world.reconcile();
    EXPECT_FALSE(world.status().blocked) << "a cancelled size is not a failed one";
    world.settle(12);
    EXPECT_EQ(world.size(), 1);
    EXPECT_PROMISES_KEPT(world);
  }
}

TEST(NewTarget, FromReadyOnTheChangeFinishesFirst) {
  World world = started(2);
  world.ask_for(4);
  world.reconcile();
  world.make_all_ready();
  world.reconcile();
  world.advance_change();
  world.advance_change();
  ASSERT_EQ(world.lead.state, ChangeState::Ready);
  world.ask_for(1);
  world.reconcile();
  EXPECT_FALSE(world.did<CancelChange>());
  world.finish_change();
  world.reconcile();
  EXPECT_EQ(world.status().joined_replicas, 4);
  world.settle(12);
  EXPECT_EQ(world.size(), 1);
  EXPECT_PROMISES_KEPT(world);
}

TEST(LostMessages, AChangeThatNeverArrivedIsSentAgain) {
  World world = started(2);
  world.ask_for(3);
  world.reconcile();
  world.make_all_ready();
  world.reconcile(true, 0);  // status knows, the lead does not
  EXPECT_EQ(world.status().resize->phase, ResizePhase::Requested);
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>());
  EXPECT_EQ(world.of_type<SendChange>()[0].id, "change-1") << "the same change";
  EXPECT_PROMISES_KEPT(world);
}

TEST(LostMessages, AMissedCommitIsFoundByTheEpoch) {
  World world = started(4);
  world.ask_for(2);
  world.reconcile();
  world.lead.reachable = false;
  world.finish_change();
  world.lead.ended.reset();  // the lead that knew has left
  world.reconcile();
  EXPECT_FALSE(world.did<DeletePod>());
  EXPECT_EQ(find_condition(world.status(), "Degraded")->status, "True");
  world.lead.reachable = true;
  world.settle(4);
  EXPECT_EQ(to_string(world.status().active_workers), "0-1");
  EXPECT_EQ(world.pods.size(), 2u);
  EXPECT_PROMISES_KEPT(world);
}

TEST(LostMessages, NothingIsBegunWhileTheLeadIsSilent) {
  World world = started(2);
  world.lead.reachable = false;
  world.ask_for(4);
  world.reconcile();
  EXPECT_FALSE(world.did<CreatePod>());
}

TEST(LostMessages, NoSecondChangeBesideAForeignOne) {
  World world = started(2);
  world.lead.change = "change-of-an-earlier-controller";
  world.ask_for(1);
  world.reconcile();
  EXPECT_FALSE(world.did<SendChange>());
}

TEST(Ending, NoChangeIsBegunOnceARankHasFinalised) {
  World world = started(2);
  world.lead.ending = true;
  world.ask_for(4);
  world.reconcile();
  EXPECT_FALSE(world.did<CreatePod>());
}

TEST(Rigid, KeepsItsSizeAndSaysSo) {
  World world = started(2, "  runtime: {mode: Rigid}\n");
  world.ask_for(4);
  world.settle(5);
  EXPECT_EQ(world.size(), 2);
  EXPECT_EQ(find_condition(world.status(), "SizeAdjusted")->reason, "Rigid");
}

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

TEST(End, AVanishedMemberFailsTheJob) {
  World world = started(3);
  world.vanish(2);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
  EXPECT_EQ(find_condition(world.status(), "Failed")->reason, "WorkerLost");
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
