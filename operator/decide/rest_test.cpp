// SPDX-License-Identifier: Apache-2.0
// A grow takes what comes: what is promised about newcomers that are late. The clock moves only where a test
// moves it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing_world::pending;
using testing_world::started;
using testing_world::three_of_four;
using testing_world::World;

constexpr Seconds kPatience{5};  // the default

TEST(Grow, GoesOnWithWhatIsThereAfterItsPatience) {
  World world = started(1);
  world.room = 3;
  world.ask_for(4);
  world.reconcile();
  world.make_all_ready();
  world.reconcile();
  EXPECT_FALSE(world.did<SendChange>());
  ASSERT_TRUE(world.did<Requeue>());
  EXPECT_EQ(world.of_type<Requeue>()[0].after, kPatience);
  world.now += kPatience - Millis(1);
  world.reconcile();
  EXPECT_FALSE(world.did<SendChange>());
  world.now += Millis(1);
  world.reconcile();
  ASSERT_TRUE(world.did<SendChange>());
  EXPECT_EQ(world.of_type<SendChange>()[0].add.size(), 2u);
  EXPECT_EQ(world.of_type<SendChange>()[0].cause, "manual");
  EXPECT_EQ(world.status().resize->to, 3);
  EXPECT_TRUE(world.had_event("ResizePartial"));
  world.reconcile();
  EXPECT_FALSE(world.did<CancelChange>()) << "it is what is wanted, as far as it goes";
  world.finish_change();
  world.reconcile();
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(to_string(world.status().active_workers), "0-2");
  EXPECT_EQ(world.status().last_resize->result, ResizeResult::Committed);
  EXPECT_EQ(world.status().last_resize->to, 3);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Rest, IsSaidAndNeitherThrownAwayNorMadeAgain) {
  World world = three_of_four();
  EXPECT_EQ(to_string(world.status().awaited->workers), "3");
  EXPECT_THAT(pending(world),
              HasSubstr("WorkersMissing: 3 -> 4 workers waits: missing: demo-w-3: Unschedulable"));
  EXPECT_EQ(world.status().reason, "ResizePending");
  EXPECT_EQ(world.status().replicas, 4) << "on its way to be a worker";
  const JobStatus before = world.status();
  world.settle(600);
  EXPECT_EQ(world.status(), before) << "nothing to write";
  world.now += 2 * world.job.spec.resize.join_timeout;
  world.settle(5);
  ASSERT_TRUE(world.pod(3));
  EXPECT_FALSE(world.pod(3)->terminating);
  EXPECT_EQ(world.status().next_index, 4);
  EXPECT_FALSE(world.status().blocked);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Rest, JoinsWhenItComes) {
  World world = three_of_four();
  world.room = 4;
  world.settle(8);
  EXPECT_EQ(to_string(world.status().active_workers), "0-3");
  EXPECT_EQ(world.status().epoch, 3) << "two changes";
  EXPECT_EQ(world.status().next_index, 4);
  EXPECT_FALSE(world.status().awaited);
  EXPECT_EQ(pending(world), "");
  EXPECT_EQ(world.causes, std::set<std::string>{"manual"});
  EXPECT_PROMISES_KEPT(world);
}

TEST(Rest, ComesInAFewChangesAndNotInOneForEachPod) {
  World world = started(1, "", 1, 40);
  world.room = 1;
  world.ask_for(31);
  for (int i = 0; i < 40; ++i) {
    world.room += 1;
    world.settle(1);
  }
  world.settle(10);
  EXPECT_EQ(world.size(), 31);
  EXPECT_LE(world.status().epoch, 1 + 30 / 5 + 1);
  EXPECT_EQ(world.status().next_index, 31);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Rest, OnlyAllowedSizesAreMade) {
  World world = started(2, "  resize: {allowedReplicas: [1, 2, 4, 8]}\n");
  world.room = 5;
  world.ask_for(8);
  world.settle(12);
  EXPECT_EQ(to_string(world.status().active_workers), "0-3") << "the oldest of those that are ready";
  EXPECT_EQ(to_string(world.status().awaited->workers), "4-7");
  world.room = 7;
  world.settle(12);
  EXPECT_EQ(world.size(), 4) << "7 are not allowed";
  EXPECT_THAT(pending(world), HasSubstr("demo-w-7: Unschedulable"));
  world.room = 8;
  world.settle(8);
  EXPECT_EQ(world.size(), 8);
  EXPECT_EQ(world.status().epoch, 3);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Grow, OfWhichNothingCanJoinIsRolledBack) {
  World world = started(1, "  resize: {joinTimeoutSeconds: 30, allowedReplicas: [1, 4]}\n");
  world.room = 3;
  world.ask_for(4);
  world.settle(29);
  EXPECT_TRUE(world.status().resize);
  world.settle(3);
  EXPECT_EQ(world.size(), 1);
  ASSERT_TRUE(world.status().blocked);
  EXPECT_EQ(world.status().blocked->target, 4);
  EXPECT_FALSE(world.status().awaited);
  EXPECT_EQ(world.pods.size(), 1u);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Grow, AllOrNoneIsAPatienceOfItsWholeTime) {
  World world = started(1, "  resize: {joinTimeoutSeconds: 30, patienceSeconds: 30}\n");
  world.room = 3;
  world.ask_for(4);
  world.settle(33);
  EXPECT_EQ(world.size(), 1);
  ASSERT_TRUE(world.status().blocked);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Grow, WhatCameInTheLastMomentJoins) {
  World world = started(1, "  resize: {joinTimeoutSeconds: 30}\n");
  world.room = 1;
  world.ask_for(3);
  world.settle(28);
  world.room = 2;
  world.settle(12);
  EXPECT_EQ(world.size(), 2);
  EXPECT_FALSE(world.status().blocked);
  EXPECT_TRUE(world.status().awaited);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Rest, OnTimeoutFailHoldsForItToo) {
  World world = three_of_four("  resize: {joinTimeoutSeconds: 30, onTimeout: Fail}\n");
  world.now += Seconds(30);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Failed);
  EXPECT_EQ(find_condition(world.status(), "Failed")->reason, "ResizeTimeout");
  EXPECT_FALSE(world.status().awaited);
  world.settle(10);
  EXPECT_THAT(world.pods, IsEmpty());
}

// A newer size, while the rest of an older one is awaited.
TEST(Rest, IsForgottenWithTheSizeThatItWasFor) {
  for (const int size : {3, 2, 1}) {
    SCOPED_TRACE(size);
    World world = three_of_four();
    world.ask_for(size);
    world.settle(10);
    EXPECT_EQ(world.size(), size);
    EXPECT_FALSE(world.status().awaited);
    EXPECT_EQ(static_cast<int>(world.pods.size()), size) << "the one that waited is gone";
    EXPECT_EQ(pending(world), "");
    EXPECT_PROMISES_KEPT(world);
  }
}

TEST(Rest, IsPartOfALargerSize) {
  World world = three_of_four();
  world.ask_for(6);
  world.settle(3);
  world.room = 5;
  world.settle(12);
  EXPECT_EQ(to_string(world.status().active_workers), "0-4");
  world.room = 6;
  world.settle(8);
  EXPECT_EQ(to_string(world.status().active_workers), "0-5");
  EXPECT_EQ(world.status().next_index, 6);
  EXPECT_PROMISES_KEPT(world);
}

// Of a smaller one, too: those that are there stay, those that are not go.
TEST(Rest, OfASmallerSizeAreThoseThatAreThere) {
  World world = started(1);
  world.ask_for(4);
  world.reconcile();
  world.make_ready(3);
  world.ask_for(2);
  world.reconcile();
  EXPECT_EQ(to_string(world.status().resize->add), "3");
  world.settle(5);
  EXPECT_EQ(to_string(world.status().active_workers), "0,3");
  EXPECT_PROMISES_KEPT(world);
}

// While the change with those that were there is with the lead.
TEST(Rest, ANewerSizeCancelsOnlyWhatIsTooMuch) {
  for (const int size : {1, 3, 4, 6}) {
    SCOPED_TRACE(size);
    World world = started(1);
    world.room = 3;
    world.ask_for(4);
    while (!world.did<SendChange>()) world.settle(1);
    world.ask_for(size);
    world.reconcile();
    EXPECT_EQ(world.did<CancelChange>(), size < 3);
    world.room = SIZE_MAX;
    world.settle(20);
    EXPECT_EQ(world.size(), size);
    EXPECT_EQ(static_cast<int>(world.pods.size()), size);
    EXPECT_PROMISES_KEPT(world);
  }
}

TEST(Rest, AChangeThatIsRolledBackWithoutItBlocksTheSizeThatWasAskedFor) {
  World world = started(1);
  world.room = 3;
  world.ask_for(4);
  while (!world.did<SendChange>()) world.settle(1);
  world.roll_back_change("joiner demo-w-2 died");
  world.reconcile();
  ASSERT_TRUE(world.status().blocked);
  EXPECT_EQ(world.status().blocked->target, 4);
  EXPECT_FALSE(world.status().awaited);
  world.remove_terminating();
  world.reconcile();
  EXPECT_FALSE(world.did<CreatePod>());
  EXPECT_PROMISES_KEPT(world);
}

TEST(Rest, ThatFailsIsTriedAgainAfterAWhile) {
  World world = three_of_four();
  world.end_pod(3, 1, "bad image");
  world.reconcile();
  EXPECT_TRUE(world.had_event("ResizeRolledBack"));
  ASSERT_TRUE(world.status().blocked);
  EXPECT_EQ(world.status().blocked->target, 4);
  EXPECT_THAT(world.status().blocked->reason, HasSubstr("bad image"));
  EXPECT_EQ(world.size(), 3);
  world.settle(5);
  EXPECT_EQ(world.pods.size(), 3u);
  world.now = world.status().blocked->retry_after;
  world.room = 4;
  world.settle(8);
  EXPECT_EQ(to_string(world.status().active_workers), "0-2,4");
  EXPECT_PROMISES_KEPT(world);
}

TEST(Rest, ThatIsEvictedIsReplaced) {
  World world = three_of_four();
  world.pod(3)->terminating = true;
  world.settle(3);
  EXPECT_EQ(to_string(world.status().awaited->workers), "4");
  world.room = 4;
  world.settle(8);
  EXPECT_EQ(to_string(world.status().active_workers), "0-2,4");
  EXPECT_PROMISES_KEPT(world);
}

// A quota: no pod, so nothing to wait for, and no request each few seconds for ever.
TEST(Rest, ThatMayNotBeMadeIsGivenUpInTime) {
  World world = started(1, "  resize: {joinTimeoutSeconds: 30}\n");
  world.quota = 3;
  world.ask_for(4);
  world.settle(14);
  EXPECT_EQ(to_string(world.status().active_workers), "0-2");
  EXPECT_THAT(pending(world), HasSubstr("demo-w-3 was not created: exceeded quota"));
  EXPECT_EQ(find_condition(world.status(), "PodCreationBlocked")->status, "True");
  EXPECT_TRUE(world.did<CreatePod>()) << "the quota may change";
  world.now += Seconds(30);
  world.reconcile();
  ASSERT_TRUE(world.status().blocked);
  EXPECT_THAT(world.status().blocked->reason, HasSubstr("exceeded quota"));
  world.reconcile();
  EXPECT_FALSE(world.did<CreatePod>());
  EXPECT_EQ(world.size(), 3);
  EXPECT_PROMISES_KEPT(world);
}

}  // namespace
}  // namespace emj
