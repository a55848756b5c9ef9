// SPDX-License-Identifier: Apache-2.0
// The warm pool, spec.worker.standby: what is promised about workers that wait for a grow.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using testing::HasSubstr;
using testing_world::make_job;
using testing_world::World;

// `size` members, and the pool as full as it gets.
World with_pool(int size, int standby, int max = 8, const std::string& spec = "") {
  World world(
      make_job(spec, 1, max,
               "    replicas: " + std::to_string(size) + "\n    standby: " + std::to_string(standby) + "\n"));
  world.settle(12);
  EXPECT_EQ(world.size(), size);
  world.events.clear();
  return world;
}

std::string pool_of(const World& world) {
  const auto& pool = world.status().standby;
  return pool ? to_string(pool->workers) : "none";
}

TEST(Standby, ThePoolIsStartedOnceTheProgramRuns) {
  World world(make_job("", 1, 8, "    replicas: 2\n    standby: 2\n"));
  world.reconcile();
  EXPECT_EQ(world.pods.size(), 2u) << "the program's own workers first";
  world.make_all_ready();
  world.settle(6);
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(pool_of(world), "2-3");
  EXPECT_EQ(world.status().standby->ready, 2);
  EXPECT_EQ(world.size(), 2) << "nobody has called them in";
  EXPECT_EQ(world.status().replicas, 2) << "they are not what /scale asks for";
  const JobStatus before = world.status();
  world.settle(100);
  EXPECT_EQ(world.status(), before) << "nothing to write";
  EXPECT_PROMISES_KEPT(world);
}

TEST(Standby, AGrowTakesThemAtOnceAndTheyAreReplaced) {
  World world = with_pool(2, 2);
  world.ask_for(4);
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>()) << "in the very pass that sees the new size";
  EXPECT_FALSE(world.did<CreatePod>()) << "pods that start would slow those that join";
  ASSERT_EQ(world.of_type<SendChange>()[0].add.size(), 2u);
  EXPECT_EQ(world.of_type<SendChange>()[0].add[0].index, 2);
  EXPECT_EQ(world.status().resize->created, (IndexSet{2, 3}));
  EXPECT_EQ(pool_of(world), "");
  world.settle(12);
  EXPECT_EQ(to_string(world.status().active_workers), "0-3");
  EXPECT_EQ(pool_of(world), "4-5");
  EXPECT_EQ(world.status().standby->ready, 2);
  EXPECT_EQ(world.pods.size(), 6u);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Standby, ThoseThatAreReadyGoFirst) {
  World world = with_pool(2, 2);
  world.pod(2)->ready = false;
  world.reconcile();
  world.ask_for(3);
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>());
  EXPECT_EQ(world.of_type<SendChange>()[0].add[0].index, 3);
  EXPECT_EQ(pool_of(world), "2");
  EXPECT_PROMISES_KEPT(world);
}

TEST(Standby, ALargerGrowStartsTheOthers) {
  World world = with_pool(2, 1);
  world.ask_for(5);
  world.reconcile();
  EXPECT_EQ(world.of_type<CreatePod>().size(), 2u);
  EXPECT_EQ(world.status().resize->add, (IndexSet{2, 3, 4}));
  world.settle(20);
  EXPECT_EQ(world.size(), 5);
  EXPECT_EQ(pool_of(world), "5");
  EXPECT_PROMISES_KEPT(world);
}

TEST(Standby, NoMoreThanCouldStillJoin) {
  World world = with_pool(2, 4, 4);
  EXPECT_EQ(pool_of(world), "2-3");
  world.ask_for(4);
  world.settle(12);
  EXPECT_EQ(world.size(), 4);
  EXPECT_EQ(pool_of(world), "");
  EXPECT_EQ(world.pods.size(), 4u);
  world.ask_for(3);
  world.settle(12);
  EXPECT_EQ(world.status().standby->workers.size(), 1);
  EXPECT_EQ(world.pods.size(), 4u);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Standby, OneThatIsEvictedIsReplaced) {
  World world = with_pool(2, 1);
  world.pod(2)->disruption_target = true;
  world.settle(3);
  EXPECT_EQ(pool_of(world), "3");
  EXPECT_FALSE(world.pod(2)) << "it is of no use any more";
  world.vanish(3);
  world.settle(3);
  EXPECT_EQ(pool_of(world), "4");
  EXPECT_PROMISES_KEPT(world);
}

TEST(Standby, OneThatEndsByItselfIsReplacedEverLater) {
  World world = with_pool(2, 1);
  for (const int seconds : {30, 60, 120}) {
    ASSERT_EQ(world.status().standby->workers.size(), 1);
    world.end_pod(*world.status().standby->workers.begin(), 1, "no such program");
    world.reconcile();
    EXPECT_TRUE(world.had_event("StandbyFailed"));
    EXPECT_THAT(world.status().standby->reason, HasSubstr("exit code 1): no such program"));
    EXPECT_EQ(pool_of(world), "");
    world.reconcile();
    ASSERT_TRUE(world.did<Requeue>());
    EXPECT_EQ(world.of_type<Requeue>()[0].after, Seconds(seconds));
    world.now += Seconds(seconds);
    world.reconcile();
    EXPECT_TRUE(world.did<CreatePod>());
    world.remove_terminating();
  }
  EXPECT_EQ(world.status().state, JobState::Running) << "the program has nothing to do with it";
  world.settle(4);
  EXPECT_EQ(world.status().standby->attempts, 0) << "all are well";
  EXPECT_PROMISES_KEPT(world);
}

TEST(Standby, AGrowThatIsTakenBackInTimeGivesThemBack) {
  World world = with_pool(2, 1);
  world.ask_for(4);
  world.reconcile();
  EXPECT_EQ(pool_of(world), "");
  world.ask_for(2);
  world.reconcile();
  EXPECT_FALSE(world.status().resize);
  EXPECT_EQ(pool_of(world), "2");
  world.settle(6);
  EXPECT_EQ(world.pods.size(), 3u);
  EXPECT_EQ(world.status().standby->ready, 1);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Standby, ADrainedMemberIsReplacedByOneOfThem) {
  World world = with_pool(3, 1);
  world.pod(1)->disruption_target = true;
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>());
  EXPECT_EQ(world.of_type<SendChange>()[0].add[0].index, 3);
  world.settle(12);
  EXPECT_EQ(to_string(world.status().active_workers), "0,2-3");
  EXPECT_EQ(pool_of(world), "4");
  EXPECT_PROMISES_KEPT(world);
}

TEST(Standby, AQuotaWithoutRoomForThemIsSaidAndHoldsNothingUp) {
  World world(make_job("", 1, 8, "    replicas: 2\n    standby: 2\n"));
  world.quota = 3;
  world.settle(6);
  EXPECT_EQ(world.pods.size(), 3u);
  const Condition* blocked = find_condition(world.status(), "PodCreationBlocked");
  ASSERT_TRUE(blocked && blocked->status == "True");
  EXPECT_THAT(blocked->message, HasSubstr("exceeded quota"));
  world.ask_for(3);
  world.settle(6);
  EXPECT_EQ(world.size(), 3) << "what is there may join";
  world.ask_for(1);
  world.settle(10);
  EXPECT_EQ(world.size(), 1);
  EXPECT_EQ(world.status().standby->ready, 2);
  EXPECT_EQ(find_condition(world.status(), "PodCreationBlocked")->status, "False");
  EXPECT_PROMISES_KEPT(world);
}

TEST(Standby, TheyGoWithTheJobWhateverStaysForItsLogs) {
  for (const char* policy : {"Running", "All", "None"}) {
    World world = with_pool(2, 2, 8, std::string("  runPolicy: {cleanPodPolicy: \"") + policy + "\"}\n");
    world.end_pod(0, 0);
    world.end_pod(1, 0);
    world.reconcile();
    EXPECT_EQ(world.status().state, JobState::Succeeded);
    EXPECT_TRUE(world.pod(2)->terminating) << policy;
    EXPECT_TRUE(world.pod(3)->terminating) << policy;
    world.settle(10);
    EXPECT_FALSE(world.status().standby) << policy;
    EXPECT_FALSE(world.pod(2)) << policy;
    EXPECT_PROMISES_KEPT(world);
  }
}

TEST(Standby, NewcomersThatNeverJoinedGoWithTheJobToo) {
  World world = testing_world::three_of_four("  runPolicy: {cleanPodPolicy: \"None\"}\n");
  for (const int index : {0, 1, 2}) world.end_pod(index, 0);
  world.settle(3);
  EXPECT_EQ(world.status().state, JobState::Succeeded);
  EXPECT_FALSE(world.pod(3)) << "it would wait for ever";
  EXPECT_TRUE(world.pod(0)) << "kept for its log";
  EXPECT_PROMISES_KEPT(world);
}

TEST(Standby, APoolThatIsNoLongerWantedGoes) {
  World world = with_pool(2, 2);
  world.job.spec.worker.standby = 1;
  world.settle(3);
  EXPECT_EQ(pool_of(world), "2");
  EXPECT_EQ(world.pods.size(), 3u);
  world.job.spec.worker.standby = 0;
  world.settle(3);
  EXPECT_EQ(pool_of(world), "none");
  EXPECT_EQ(world.pods.size(), 2u);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Standby, ASuspendedJobHasNone) {
  World world = with_pool(2, 2);
  world.job.spec.suspend = true;
  world.settle(5);
  EXPECT_TRUE(world.pods.empty());
  EXPECT_EQ(pool_of(world), "none");
  world.job.spec.suspend = false;
  world.settle(10);
  EXPECT_EQ(world.size(), 2);
  EXPECT_EQ(world.status().standby->ready, 2);
  EXPECT_PROMISES_KEPT(world);
}

}  // namespace
}  // namespace emj
