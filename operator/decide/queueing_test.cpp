// SPDX-License-Identifier: Apache-2.0
// A job's side of its bargain with a queue; the test is the scheduler.

#include "operator/decide/queueing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using ::testing::HasSubstr;
using testing_world::make_job;
using testing_world::World;

World queued(int min = 1, int max = 8, const std::string& spec = "", const std::string& worker = "") {
  return World(make_job("  scheduling: {queueName: main}\n" + spec, min, max, worker));
}

void give(World& world, int workers, int promised = 0) {
  AllocationStatus next = world.status().allocation.value_or(AllocationStatus{});
  next.workers = workers;
  next.promised = promised;
  next.pool = "cores";
  ++next.sequence;
  next.time = world.now;
  next.reason = "the test says so";
  world.grant = QueueGrant{next, QueueCause::Unknown, "", {}};
}

void say(World& world, QueueCause cause, const std::string& reason,
         std::optional<Time> start = std::nullopt) {
  world.grant = QueueGrant{std::nullopt, cause, reason, start};
}

int allocated(const World& world) { return world.status().allocation->workers; }

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

World running_with(int workers, int min = 1, const std::string& spec = "", const std::string& worker = "") {
  World world = queued(min, 8, spec, worker);
  give(world, workers);
  world.settle(6);
  EXPECT_EQ(world.size(), workers);
  return world;
}

TEST(Queued, YieldsAndGrowsAsItIsTold) {
  World world = running_with(4);
  give(world, 2);
  world.settle(10);
  EXPECT_EQ(world.size(), 2);
  EXPECT_TRUE(world.had_event("Yielding"));
  give(world, 6);
  world.settle(10);
  EXPECT_EQ(world.size(), 6);
  EXPECT_EQ(allocated(world), 6);
  EXPECT_FALSE(world.did<WriteScale>());
  EXPECT_PROMISES_KEPT(world);
}

TEST(Queued, AStartThatFailsGoesBackAndComesAgainLater) {
  World world = queued();
  give(world, 2);
  world.reconcile();
  world.now += Seconds(600);
  world.reconcile();
  const JobStatus& status = world.status();
  EXPECT_EQ(status.state, JobState::Queued);
  EXPECT_EQ(allocated(world), 0);
  EXPECT_EQ(status.queue->attempts, 1);
  EXPECT_EQ(status.queue->retry_after, world.now + Seconds(30));
  EXPECT_EQ(status.queue->cause, QueueCause::StartFailed);
  EXPECT_EQ(world.of_type<DeletePod>().size(), 2u);
  world.remove_terminating();
  world.settle(2);
  EXPECT_TRUE(world.pods.empty());
  give(world, 2);
  world.reconcile();
  world.now += Seconds(600);
  world.reconcile();
  EXPECT_EQ(world.status().queue->retry_after, world.now + Seconds(60));
  give(world, 2);
  world.settle(8);
  EXPECT_EQ(world.size(), 2);
}

TEST(Queued, StartsWithThoseThatCameAndGivesTheOthersBack) {
  World world = queued(2);
  give(world, 4);
  world.reconcile();
  world.room = 3;
  world.make_all_ready();
  world.now += Seconds(600);
  world.settle(8);
  EXPECT_EQ(world.size(), 3);
  EXPECT_EQ(allocated(world), 3);
  EXPECT_FALSE(world.status().resize);
  EXPECT_PROMISES_KEPT(world);
}

// Rule Q29. The kubelet's view: these have found no node since now.
void have_no_node(World& world) {
  world.pending_bound = Seconds(60);
  for (PodView& pod : world.pods)
    if (pod.phase == PodPhase::Pending) {
      pod.unschedulable_since = world.now;
      pod.message = "Unschedulable: 0/3 nodes are available";
    }
}

// After a minute, no sooner, it has given back everything, for this cause, and waits before it is tried
// again.
void expect_back_after_a_minute(World& world, QueueCause cause) {
  world.now += Seconds(59);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Starting);
  world.now += Seconds(1);
  world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Queued);
  EXPECT_EQ(allocated(world), 0);
  EXPECT_EQ(world.status().queue->cause, cause);
  EXPECT_EQ(world.status().queue->retry_after, world.now + Seconds(30));
}

TEST(Queued, AStartThatFindsNoNodeGoesBackAndSaysWhy) {
  World world = queued(2);
  give(world, 4);
  world.reconcile();
  have_no_node(world);
  expect_back_after_a_minute(world, QueueCause::Unplaceable);
  EXPECT_THAT(world.status().queue->reason, HasSubstr("no node has had room for 4 workers for 60 s"));
  EXPECT_TRUE(world.had_event("Unplaceable"));
  EXPECT_EQ(world.of_type<DeletePod>().size(), 4u);
}

TEST(Queued, WhoCannotMakeItsPodsGivesBackWhatItHasAndSaysWhy) {
  World world = queued(2);
  world.pending_bound = Seconds(60);
  world.quota = 1;
  give(world, 4);
  world.reconcile();
  expect_back_after_a_minute(world, QueueCause::Quota);
  EXPECT_THAT(world.status().queue->reason, HasSubstr("3 workers could not be made for 60 s"));
  EXPECT_THAT(world.status().queue->reason, HasSubstr("exceeded quota of 1 pods"));
  // It is tried anew, for as long as the first time.
  world.reconcile();
  world.remove_terminating();
  world.now += Seconds(40);
  give(world, 4);
  for (int i = 0; i < 3; ++i) world.reconcile();
  EXPECT_EQ(world.status().state, JobState::Starting);
  world.quota = 100;
  world.settle(6);
  EXPECT_EQ(world.size(), 4);
  EXPECT_EQ(world.status().queue->cause, QueueCause::Unknown);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Queued, WhatAGrowCannotMakeIsGivenBack) {
  World world = running_with(2);
  world.pending_bound = Seconds(60);
  world.quota = 3;
  give(world, 5);
  for (int i = 0; i < 12; ++i) {  // who is there joins
    world.reconcile();
    world.make_all_ready();
    world.advance_change();
    world.now += Seconds(1);
  }
  world.now += Seconds(60);
  for (int i = 0; i < 6; ++i) {
    world.reconcile();
    world.advance_change();
  }
  EXPECT_EQ(world.size(), 3);
  EXPECT_EQ(allocated(world), 3);
  EXPECT_EQ(world.status().queue->cause, QueueCause::Quota);
  EXPECT_FALSE(world.status().awaited);
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

TEST(Queued, StartsOnTheNodesThatItFindsLongBeforeTheTimeToJoinIsOver) {
  World world = queued(2);
  give(world, 4);
  world.reconcile();
  world.room = 3;
  world.make_all_ready();
  have_no_node(world);
  world.now += Seconds(60);
  for (int i = 0; i < 8; ++i) world.reconcile();
  EXPECT_EQ(world.size(), 3);
  EXPECT_EQ(allocated(world), 3);
  EXPECT_EQ(world.status().queue->cause, QueueCause::Unplaceable) << "until it may be tried again";
  world.remove_terminating();
  EXPECT_EQ(world.pods.size(), 3u);
  world.now += Seconds(30);
  world.reconcile();
  EXPECT_EQ(world.status().queue->cause, QueueCause::Unknown);
  EXPECT_FALSE(world.status().queue->retry_after);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Queued, WhatAGrowFindsNoNodeForIsGivenBack) {
  World world = running_with(2);
  give(world, 5);
  world.room = 3;
  world.reconcile();
  world.make_all_ready();
  have_no_node(world);
  for (int i = 0; i < 12; ++i) {  // who is there joins
    world.reconcile();
    world.advance_change();
    world.now += Seconds(1);
  }
  ASSERT_EQ(world.size(), 3);
  EXPECT_EQ(allocated(world), 5);
  world.now += Seconds(60);
  for (int i = 0; i < 3; ++i) world.reconcile();
  EXPECT_EQ(allocated(world), 3);
  EXPECT_EQ(world.status().queue->retry_after, world.now + Seconds(30));
  world.remove_terminating();
  EXPECT_EQ(world.pods.size(), 3u);
  EXPECT_FALSE(world.status().awaited);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Queued, AGrowThatIsRolledBackIsGivenBack) {
  World world = running_with(2);
  give(world, 4);
  for (int i = 0; i < 4; ++i) {
    world.reconcile();
    world.make_all_ready();
  }
  ASSERT_TRUE(world.lead.busy());
  world.roll_back_change("a newcomer was lost");
  for (int i = 0; i < 3; ++i) world.reconcile();
  EXPECT_EQ(allocated(world), 2);
  EXPECT_GT(*world.status().queue->retry_after, world.now);
  world.settle(6);
  EXPECT_EQ(world.size(), 2);
  EXPECT_TRUE(world.pods.size() == 2u);
}

TEST(Queued, AShrinkThatIsRolledBackIsNoLongerOwed) {
  World world = running_with(4);
  give(world, 2);
  for (int i = 0; i < 3; ++i) world.reconcile();
  ASSERT_TRUE(world.lead.busy());
  world.roll_back_change("a rank did not answer");
  for (int i = 0; i < 3; ++i) world.reconcile();
  EXPECT_EQ(allocated(world), 4);
  EXPECT_GT(*world.status().queue->retry_after, world.now);
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

// MPIX_Wish_adapt. Its floor stays what others' start times were promised by.
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

// --- from pool to pool -------------------------------------------------------------------------------

void move_to(World& world, const std::string& pool, int workers, int speed_percent = 100) {
  give(world, workers);
  world.grant->allocation->pool = pool;
  world.grant->allocation->price_per_worker_hour = 3;
  world.grant->allocation->speed_percent = speed_percent;
}

World runs_in(const std::string& pool, int workers) {
  World world = queued();
  world.reconcile();
  give(world, workers);
  world.grant->allocation->pool = pool;
  world.grant->allocation->price_per_worker_hour = 1;
  world.settle(8);
  world.grant.reset();
  EXPECT_EQ(world.status().state, JobState::Running);
  return world;
}

int in_pool(const World& world, const std::string& pool) {
  return static_cast<int>(std::ranges::count(world.pods, pool, &PodView::pool));
}

TEST(Moves, ToAnotherPoolByTwoChangesAndTheOldestMemberHandsOver) {
  World world = runs_in("slow", 4);
  const std::string oldest = world.lead.members.front();
  ASSERT_EQ(in_pool(world, "slow"), 4);
  move_to(world, "fast", 2, 200);
  world.reconcile();
  EXPECT_TRUE(world.had_event("Moving"));
  EXPECT_EQ(world.status().allocation->moved_from->pool, "slow");
  bool handed_over = false;
  for (int i = 0; i < 40 && world.status().allocation->moved_from; ++i) {
    world.settle(1);
    handed_over = handed_over || (world.lead.members.size() == 3 && world.lead.has(oldest));
  }
  EXPECT_TRUE(handed_over) << "two of the new pool, and the one who has the data";
  EXPECT_FALSE(world.status().allocation->moved_from);
  EXPECT_EQ(world.size(), 2);
  EXPECT_EQ(in_pool(world, "fast"), 2);
  EXPECT_EQ(in_pool(world, "slow"), 0);
  EXPECT_EQ(world.status().allocation->workers, 2);
  EXPECT_EQ(world.status().restarts, 0);
  EXPECT_EQ(world.status().next_change, 3) << "two changes";
  EXPECT_PROMISES_KEPT(world);
}

TEST(Moves, StaysWhereItIsWhenTheOtherPoolHasNoNodes) {
  World world = runs_in("slow", 4);
  world.pending_bound = Seconds(60);
  world.room = 4;
  move_to(world, "fast", 2);
  world.reconcile();
  ASSERT_EQ(world.status().allocation->pool, "fast");
  for (int i = 0; i < 400 && world.status().allocation->pool != "slow"; ++i) {
    for (PodView& pod : world.pods)
      if (pod.pool == "fast" && !pod.unschedulable_since) pod.unschedulable_since = world.now;
    world.settle(1);
    world.now += Seconds(1);
  }
  EXPECT_EQ(world.status().allocation->pool, "slow");
  EXPECT_FALSE(world.status().allocation->moved_from);
  EXPECT_EQ(*world.status().allocation->price_per_worker_hour, 1) << "that of the pool it has";
  EXPECT_TRUE(world.had_event("MoveFailed"));
  world.settle(10);
  EXPECT_EQ(world.size(), 4);
  EXPECT_EQ(in_pool(world, "fast"), 0);
  EXPECT_PROMISES_KEPT(world);
}

TEST(Moves, WhatWasMeasuredIsInTermsOfTheNewPool) {
  World world = runs_in("slow", 4);
  MeasuredSize point;
  point.workers = 4;
  point.iteration_seconds = 1;
  point.compute_seconds = .8;
  point.useful_seconds = .6;
  world.job.status.policy_state.measured = {point};
  world.job.status.policy_state.wish = 3;
  move_to(world, "fast", 2, 200);
  world.reconcile();
  const PolicyState& state = world.status().policy_state;
  ASSERT_EQ(state.measured.size(), 1u);
  EXPECT_NEAR(state.measured[0].iteration_seconds, .6, 1e-9) << "what is sent takes as long as before";
  EXPECT_NEAR(state.measured[0].compute_seconds, .4, 1e-9);
  EXPECT_FALSE(state.wish) << "that was for the other pool";
}

TEST(Moves, NodesThatAreMadeOnDemandAreWaitedFor) {
  World world = queued();
  world.provisioning = Seconds(600);
  world.pending_bound = Seconds(600);
  world.room = 0;
  world.reconcile();
  give(world, 2);
  for (int i = 0; i < 50; ++i) {
    world.settle(1);
    world.now += Seconds(10);
    for (PodView& pod : world.pods)
      if (!pod.unschedulable_since) pod.unschedulable_since = world.now;
  }
  EXPECT_EQ(world.status().state, JobState::Starting) << "longer than joinTimeoutSeconds";
  EXPECT_EQ(world.pods.size(), 2u);
  world.room = SIZE_MAX;
  for (PodView& pod : world.pods) pod.unschedulable_since.reset();
  world.settle(8);
  EXPECT_EQ(world.size(), 2);
  EXPECT_PROMISES_KEPT(world);
}

}  // namespace
}  // namespace emj
