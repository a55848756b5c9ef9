// SPDX-License-Identifier: Apache-2.0
// A job's side of its bargain with a queue.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/testing/queued_job.hpp"
#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using ::testing::HasSubstr;
using testing_world::allocated;
using testing_world::give;
using testing_world::make_job;
using testing_world::queued;
using testing_world::running_with;
using testing_world::say;
using testing_world::World;

TEST(Queued, WaitsWithoutAPodUntilSomethingIsGranted) {
  World world = queued();
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Queued);
  EXPECT_FALSE(world.did<CreatePod>());
  EXPECT_EQ(find_condition(world.status(), "Queued")->reason, "Waiting");
  EXPECT_EQ(world.status().reason, "Waiting") << "a list of jobs says it in a word";
  give(world, 0, 3);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Queued);
  EXPECT_EQ(world.status().queue->cause, QueueCause::Promised);
  EXPECT_EQ(world.status().reason, "Promised");
  EXPECT_TRUE(world.had_event("Promised"));
  EXPECT_FALSE(world.did<CreatePod>());
  give(world, 3);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Starting);
  EXPECT_EQ(world.of_type<CreatePod>().size(), 3u);
  world.settle(6);
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(world.size(), 3);
  EXPECT_EQ(find_condition(world.status(), "Queued")->status, "False");
  EXPECT_EQ(world.status().reason, "");
  EXPECT_PROMISES_KEPT(world);
}

// The word to start may have arrived.
TEST(Queued, IsToldToEndWhereItsGrantGoesWhileItStarts) {
  World world = queued();
  give(world, 2);
  for (int turn = 0; turn < 4 && !world.did<StartJob>(); ++turn) {
    world.make_all_ready();
    world.reconcile(true, world.status().start && world.status().start->requested ? 0 : SIZE_MAX);
  }
  ASSERT_TRUE(world.status().start && world.status().start->requested);
  world.lead.reachable = false;
  world.job.status.allocation->workers = 0;
  world.grant.reset();
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Queued);
  EXPECT_TRUE(world.did<StopJob>());
  EXPECT_PROMISES_KEPT(world);
}

TEST(Queued, WithoutAQueueThereIsNothingOfIt) {
  World world(make_job());
  give(world, 5);
  world.settle(6);
  EXPECT_EQ(world.size(), 1);
  EXPECT_FALSE(world.status().allocation || world.status().queue || world.status().forecast);
  EXPECT_EQ(find_condition(world.status(), "Queued"), nullptr);
}

TEST(Queued, TakesAGrantForThePresentVersionOnly) {
  World world = queued();
  world.reconcile();
  give(world, 3);
  world.grant->allocation->sequence += 1;
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Queued);
  give(world, 3);
  world.settle(6);
  ASSERT_EQ(world.size(), 3);
  world.settle(3);  // the same grant once more is none
  EXPECT_EQ(world.status().allocation->sequence, 1);
}

TEST(Queued, SaysWhatItsQueueSaysAndKeepsThatWhileNobodySpeaks) {
  World world = queued();
  world.reconcile();
  EXPECT_THAT(world.status().queue->reason, HasSubstr("has not looked at it yet"));
  say(world, QueueCause::Waiting, "needs 4 workers");
  world.reconcile();
  EXPECT_EQ(world.status().queue->reason, "needs 4 workers");
  const JobStatus before = world.status();
  world.grant.reset();  // the operator begins anew
  world.reconcile();
  EXPECT_EQ(world.status(), before);
}

TEST(Queued, TakesItsRestOfTheWordsOnlyWithAnotherCause) {
  World world = queued();
  say(world, QueueCause::Waiting, "3 jobs before it", world.now + Seconds(1000));
  world.reconcile();
  const JobStatus before = world.status();
  say(world, QueueCause::Waiting, "2 jobs before it", world.now + Seconds(1010));
  world.reconcile();
  EXPECT_EQ(world.status(), before);
  say(world, QueueCause::Waiting, "2 jobs before it", world.now + Seconds(2000));
  world.reconcile();
  EXPECT_EQ(world.status().queue->expected_start, world.now + Seconds(2000));
  say(world, QueueCause::TooLarge, "needs 9");
  world.reconcile();
  EXPECT_EQ(world.status().queue->reason, "needs 9");
  EXPECT_EQ(find_condition(world.status(), "Queued")->reason, "TooLarge");
}

// It has become the first, or is so no more.
TEST(Queued, SaysItsExpectedStartAsSoonAsThereIsOneAndNoLonger) {
  World world = queued();
  say(world, QueueCause::Waiting, "3 jobs before it");
  world.reconcile();
  EXPECT_FALSE(world.status().queue->expected_start);
  say(world, QueueCause::Waiting, "0 jobs before it", world.now + Seconds(1000));
  world.reconcile();
  EXPECT_EQ(world.status().queue->expected_start, world.now + Seconds(1000));
  EXPECT_EQ(world.status().queue->reason, "0 jobs before it");
  const JobStatus before = world.status();
  world.grant.reset();  // the operator begins anew
  world.reconcile();
  EXPECT_EQ(world.status(), before);
  say(world, QueueCause::Waiting, "1 jobs before it");
  world.reconcile();
  EXPECT_FALSE(world.status().queue->expected_start) << "a more urgent one has come";
}

TEST(Queued, YieldsAndGrowsAsItIsTold) {
  World world = running_with(4);
  give(world, 2);
  world.settle(10);
  EXPECT_EQ(world.size(), 2);
  EXPECT_TRUE(world.had_event("Yielding"));
  EXPECT_FALSE(world.had_event("Resizing")) << "it would say the same, by one write more";
  give(world, 6);
  world.settle(10);
  EXPECT_EQ(world.size(), 6);
  EXPECT_EQ(allocated(world), 6);
  EXPECT_FALSE(world.did<WriteScale>());
  EXPECT_PROMISES_KEPT(world);
}

// Kubernetes tells when a job was made in whole seconds.
TEST(Queued, OfJobsOfOneSecondWhoWasSeenFirstIsFirst) {
  World first = queued(), second = queued();
  const Time made = std::chrono::floor<Seconds>(first.now);
  for (World* world : {&first, &second}) world->job.metadata.creation_time = made;
  first.now = made + Millis(400);
  second.now = made + Millis(900);
  first.reconcile();
  second.reconcile();
  EXPECT_LT(first.status().queue->since, second.status().queue->since);
  // Who could not be seen at once has waited as long as it may have.
  World late = queued();
  late.job.metadata.creation_time = made;
  late.now = made + Seconds(50);
  late.reconcile();
  EXPECT_EQ(late.status().queue->since, made + Millis(999));
  // Of whom it is known better it stays.
  World local = queued();
  local.job.metadata.creation_time = made + Millis(1);
  local.now = made + Seconds(50);
  local.reconcile();
  EXPECT_EQ(local.status().queue->since, made + Millis(1));
}

TEST(Queued, SuspensionGivesAllBackAndAnOldGrantDoesNotReturn) {
  World world = running_with(4);
  give(world, 6);  // not taken before
  world.job.spec.suspend = true;
  world.settle(3);
  EXPECT_EQ(world.status().state, JobState::Suspended);
  EXPECT_EQ(allocated(world), 0);
  world.job.spec.suspend = false;
  world.now += Seconds(100);
  world.settle(3);
  EXPECT_EQ(world.status().state, JobState::Queued);
  EXPECT_TRUE(world.pods.empty());
  EXPECT_GE(world.status().queue->since, world.now - Seconds(4)) << "it waits from its return on";
}

// Of a start that it has never taken, seen by the pass that suspends it or made meanwhile.
TEST(Queued, SuspensionIsStrongerThanAStartThatWasNotTaken) {
  World world = queued();
  world.reconcile();
  give(world, 4);
  world.job.spec.suspend = true;
  world.settle(2);
  ASSERT_EQ(world.status().state, JobState::Suspended);
  world.job.spec.suspend = false;
  world.now += Seconds(100);
  world.settle(3);
  EXPECT_EQ(world.status().state, JobState::Queued) << "its workers are others' by now";
  EXPECT_TRUE(world.pods.empty());
}

TEST(Queued, AnEndAndARestartGiveAllBack) {
  World world = running_with(2, 1, "  runPolicy: {backoffLimit: 1}\n");
  const Time since = world.status().queue->since;
  world.end_pod(1, 3);
  world.settle(4);
  EXPECT_EQ(world.status().state, JobState::Queued);
  EXPECT_EQ(world.status().restarts, 1);
  EXPECT_EQ(allocated(world), 0);
  EXPECT_EQ(world.status().queue->since, since) << "it keeps its place";
  world.now += Seconds(20);
  give(world, 2);
  world.settle(8);
  ASSERT_EQ(world.size(), 2);
  for (const PodView& pod : std::vector<PodView>(world.pods)) world.end_pod(pod.index, 0);
  world.settle(2);
  EXPECT_EQ(world.status().state, JobState::Succeeded);
  EXPECT_EQ(allocated(world), 0);
}

// Rule Q16.
TEST(Queued, APolicyWishesAndWritesNoSize) {
  World world = running_with(
      2, 1,
      "  autoscaling: {mode: Auto, policy: {name: stepping, stepping: {step: 2, intervalSeconds: 10}}}\n");
  bool wrote = false;
  for (int i = 0; i < 12; ++i) {
    world.settle(1);
    wrote = wrote || world.did<WriteScale>();
  }
  EXPECT_FALSE(wrote);
  EXPECT_EQ(world.status().policy_state.wish, 4);
  EXPECT_EQ(world.size(), 2) << "wishing is not having";
  const auto& decisions = world.status().decisions;
  EXPECT_EQ(std::ranges::count(decisions, DecisionAction::Ask, &DecisionRecord::action), 1);
  EXPECT_EQ(std::ranges::count(decisions, DecisionAction::Scale, &DecisionRecord::action), 0);
  give(world, 4);
  world.settle(6);
  EXPECT_EQ(world.size(), 4);
}

TEST(Queued, WhatIsNotWantedAnyMoreIsGivenBack) {
  World world = running_with(6, 1, "", "    replicas: 6\n");
  world.ask_for(3);
  world.settle(12);
  EXPECT_EQ(world.size(), 3);
  EXPECT_EQ(allocated(world), 3);
  EXPECT_TRUE(world.had_event("GivenBack"));
  world.ask_for(6);
  world.settle(12);
  EXPECT_EQ(world.size(), 3) << "the queue has it now";
}

TEST(Queued, WishesByWhoSaysTheSize) {
  JobSpec spec = make_job("  scheduling: {queueName: main}\n", 2, 8).spec;
  EXPECT_EQ(queue_wish(spec, {}), 8) << "nobody has said a size";
  spec.worker.replicas = 5;
  EXPECT_EQ(queue_wish(spec, {}), 5);
  spec.worker.replicas.reset();
  spec.autoscaling.mode = AutoscalingMode::Auto;
  EXPECT_EQ(queue_wish(spec, {}), 4) << "until the policy knows better";
  PolicyState state;
  state.wish = 6;
  EXPECT_EQ(queue_wish(spec, state), 6);
  spec.autoscaling.policy.name = PolicyName::Throughput;
  EXPECT_EQ(queue_wish(spec, {}), 8);
}

// MPIX_Wish_adapt. What it says that it needs: operator/controller/program_floor_test.cpp.
TEST(Queued, WhatTheProgramCannotUseIsGivenBack) {
  World world = running_with(6, 1, "", "    replicas: 6\n");
  Sample sample;
  sample.workers = 6;
  sample.wish_min = 2;
  sample.wish_max = 3;
  world.samples.push_back(sample);
  world.settle(12);
  EXPECT_EQ(world.size(), 3);
  EXPECT_EQ(allocated(world), 3);
  EXPECT_EQ(queue_wish(world.job.spec, world.status().policy_state), 3);
  world.samples.push_back(Sample{});
  world.settle(2);
  EXPECT_EQ(queue_wish(world.job.spec, world.status().policy_state), 6) << "taken back: the queue decides";
}

// Rule Q12.
TEST(Queued, ProgressTellsHowLongItWillTake) {
  World world = running_with(2);
  for (int i = 0; i < 4; ++i) {
    Sample sample;
    sample.start = world.now + i * Seconds(10);
    sample.end = sample.start + Seconds(10);
    sample.workers = 2;
    sample.progress = .1 * (i + 1);
    sample.ci_halfwidth = .05;
    world.samples.push_back(sample);
  }
  world.now += Seconds(40);
  world.reconcile();
  ASSERT_TRUE(world.status().forecast);
  EXPECT_NEAR(world.status().forecast->seconds_left, 60, .1);
  EXPECT_EQ(world.status().forecast->source, ForecastSource::Progress);
  EXPECT_EQ(world.status().forecast->error_percent, 5);
}

}  // namespace
}  // namespace emj
