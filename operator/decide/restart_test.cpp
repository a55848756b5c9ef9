// SPDX-License-Identifier: Apache-2.0
// A restartable job: to change its size its program is told to end, and is started again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/testing/queued_job.hpp"
#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using testing_world::give;
using testing_world::running_with;
using testing_world::started;
using testing_world::World;

World restartable(int size, const std::string& restart = "signal: USR1") {
  return started(size, "  runtime: {mode: Restartable, restart: {" + restart + "}}\n");
}

std::string told(const World& world) {
  std::string names;
  for (const GiveNotice& notice : world.of_type<GiveNotice>())
    for (const MemberAddress& member : notice.members) names += (names.empty() ? "" : " ") + member.name;
  return names;
}

TEST(Restart, TheProgramIsToldAndBeginsAgainWithAnotherSize) {
  World world = restartable(2);
  world.ask_for(4);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Resizing);
  EXPECT_EQ(world.status().resize->phase, ResizePhase::Stopping);
  EXPECT_EQ(told(world), "demo-w-1 demo-w-0") << "the lead is the last: what it knows all know";
  EXPECT_FALSE(world.did<CreatePod>()) << "the program still runs";
  world.now += Seconds(30);
  world.reconcile();
  EXPECT_FALSE(world.did<GiveNotice>()) << "it was told";
  world.exit_program(0);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Pending);
  EXPECT_EQ(world.status().resize->phase, ResizePhase::Restarting);
  EXPECT_EQ(world.of_type<DeletePod>().size(), 2u);
  world.now += Seconds(10);
  world.settle(5);
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(to_string(world.status().active_workers), "2-5") << "a pod never runs a program twice";
  EXPECT_FALSE(world.status().resize);
  EXPECT_EQ(world.status().restarts, 0) << "nothing has failed";
  ASSERT_TRUE(world.status().last_resize);
  EXPECT_EQ(world.status().last_resize->result, ResizeResult::Committed);
  const SizeChange& change = world.status().policy_state.changes.back();
  EXPECT_EQ(change.from, 2);
  EXPECT_EQ(change.to, 4);
  EXPECT_GE(change.cost_seconds, 40) << "policies are to know what a restart costs";
  EXPECT_TRUE(world.had_event("Resized"));
  EXPECT_PROMISES_KEPT(world);
}

TEST(Restart, AFileOrACommandIsForTheFirstWorkersPod) {
  World world = restartable(3, "file: /work/stop");
  world.ask_for(1);
  world.reconcile();
  EXPECT_EQ(told(world), "demo-w-0");
}

TEST(Restart, AnEndThatOnlyPodsTellOfCounts) {
  World world = restartable(2, "signal: USR1, exitCode: 85");
  world.ask_for(1);
  world.reconcile();
  world.lead.reachable = false;  // it has ended
  world.end_pod(1, 85);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Pending) << "the others are ending";
  world.settle(6);
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(world.size(), 1);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Restart, AProgramThatFinishesMeanwhileHasFinishedWhereItsExitCodeTells) {
  World world = restartable(2, "signal: USR1, exitCode: 85");
  world.ask_for(4);
  world.reconcile();
  world.exit_program(0);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Succeeded);
}

TEST(Restart, AProgramThatFailsInsteadOfEndingHasFailed) {
  World world = restartable(2);
  world.ask_for(4);
  world.reconcile();
  world.exit_program(1);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
  EXPECT_EQ(find_condition(world.status(), "Failed")->reason, "ProgramFailed");
}

TEST(Restart, AnEndThatNobodyHasAskedForIsNoRestart) {
  World world = restartable(2);
  world.exit_program(0);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Succeeded);
}

TEST(Restart, WhoDoesNotEndIsToldOnceMoreAndRunsOn) {
  World world = restartable(2, "signal: USR1, graceSeconds: 60");
  world.ask_for(4);
  world.reconcile();
  const std::string first = world.of_type<GiveNotice>().at(0).id;
  world.now += Seconds(60);
  world.reconcile();
  ASSERT_EQ(world.of_type<GiveNotice>().size(), 1u);
  EXPECT_NE(world.of_type<GiveNotice>()[0].id, first);
  EXPECT_TRUE(world.had_event("NotEnding"));
  EXPECT_EQ(world.status().state, JobState::Resizing);
  world.now += Seconds(5);
  world.exit_program(0);
  world.settle(5);
  EXPECT_EQ(world.size(), 4) << "what ends late has not finished";
}

TEST(Restart, ASizeThatIsChangedMeanwhileIsTheOneItBeginsAgainWith) {
  World world = restartable(2);
  world.ask_for(4);
  world.reconcile();
  world.ask_for(3);
  world.reconcile();
  EXPECT_EQ(world.status().resize->to, 3);
  world.exit_program(0);
  world.settle(5);
  EXPECT_EQ(world.size(), 3);
  EXPECT_EQ(world.status().last_resize->to, 3);
}

TEST(Restart, AnOperatorThatDiesInBetweenIsNoMatter) {
  World world = restartable(2);
  world.ask_for(4);
  world.reconcile(true, 0);  // status written, nobody told
  EXPECT_EQ(world.status().resize->phase, ResizePhase::Stopping);
  world.reconcile();
  EXPECT_EQ(told(world), "demo-w-1 demo-w-0");
  world.exit_program(0);
  world.reconcile(true, 0);  // status written, no pod deleted
  EXPECT_EQ(world.status().state, JobState::Pending);
  world.settle(6);
  EXPECT_EQ(world.size(), 4);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Restart, APodThatIsLostMeanwhileFailsTheRunAsEver) {
  World world = restartable(2);
  world.ask_for(4);
  world.reconcile();
  world.vanish(1);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
}

TEST(Restart, SuspendingEndsTheChange) {
  World world = restartable(2);
  world.ask_for(4);
  world.reconcile();
  world.job.spec.suspend = true;
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Suspended);
  EXPECT_FALSE(world.status().resize);
}

// What its queue takes back it lets go of by a restart, and it keeps its place meanwhile.
TEST(Restart, InAQueueItYieldsByOneAndKeepsItsAllocation) {
  World world = running_with(4, 1, "  runtime: {mode: Restartable, restart: {signal: USR1}}\n");
  give(world, 2);
  world.reconcile();
  EXPECT_EQ(world.status().resize->phase, ResizePhase::Stopping);
  world.exit_program(0);
  world.reconcile();
  EXPECT_EQ(world.status().resize->phase, ResizePhase::Restarting);
  EXPECT_EQ(world.status().allocation->workers, 2) << "it does not queue again";
  world.now += Seconds(20);
  world.settle(5);
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(world.status().active_workers.size(), 2);
  EXPECT_EQ(world.status().restarts, 0);
  EXPECT_PROMISES_KEPT(world);
}

}  // namespace
}  // namespace emj
