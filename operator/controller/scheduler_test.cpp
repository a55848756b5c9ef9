// SPDX-License-Identifier: Apache-2.0
// Jobs in a queue, from the statuses to the grants and back: decide() and the scheduler together.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "operator/controller/testing/queue_world.hpp"

namespace emj {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kPerfect;
using testing::QueueWorld;

// A runs on all that it gets; B, rigid, wants 4.
void run_a_and_let_b_come_with(QueueWorld& world, int workers) {
  world.add("a", 2, 8, kPerfect, "", "    replicas: 8\n");
  world.settle(8);
  ASSERT_EQ(world.jobs["a"]->status().state, JobState::Running);
  ASSERT_EQ(world.jobs["a"]->size(), workers);
  world.history.clear();
  world.add_rigid("b", 4);
}
void run_a_and_let_b_come(QueueWorld& world) { run_a_and_let_b_come_with(world, 8); }

void expect_both_run(QueueWorld& world) {
  EXPECT_EQ(world.jobs["a"]->size(), 4);
  EXPECT_EQ(world.jobs["b"]->status().state, JobState::Running);
  EXPECT_EQ(world.jobs["b"]->size(), 4);
  EXPECT_EQ(world.jobs["a"]->status().next_change, 2) << "a was asked twice";
  EXPECT_EQ(world.jobs["a"]->status().restarts, 0);
}

TEST(Scheduler, AJobStartsByShrinkingAnother) {
  QueueWorld world(8);
  run_a_and_let_b_come(world);
  world.settle(30);
  expect_both_run(world);
  EXPECT_THAT(world.history, ElementsAre("b: 0, promised 4", "a: 4, yields to default/b", "b: 4"));
  EXPECT_TRUE(world.jobs["b"]->had_event("Promised"));
  EXPECT_TRUE(world.jobs["a"]->had_event("Yielding"));
  EXPECT_TRUE(world.jobs["b"]->had_event("Allocated"));
  EXPECT_THAT(world.jobs["a"]->status().allocation->reason, HasSubstr("yields 4 workers to b"));
}

// Rules Q25, Q26: in front of every write of that, from the promise to the start.
TEST(Scheduler, TheOperatorMayDieInFrontOfEveryWrite) {
  int writes = 0;
  for (; writes < 100; ++writes) {
    QueueWorld world(8);
    run_a_and_let_b_come(world);
    world.writes_left = writes;
    world.settle(40);
    SCOPED_TRACE("killed in front of write " + std::to_string(writes));
    expect_both_run(world);
    EXPECT_THAT(world.history, ElementsAre("b: 0, promised 4", "a: 4, yields to default/b", "b: 4"));
    if (world.writes_left >= 0 || HasFailure()) break;  // there were no more
  }
  EXPECT_GT(writes, 5);
}

TEST(Scheduler, AShrinkThatIsRolledBackIsNoRelease) {
  QueueWorld world(8);
  run_a_and_let_b_come(world);
  QueueWorld::World& a = *world.jobs["a"];
  for (int i = 0; i < 20 && !a.lead.busy(); ++i) world.turn();
  ASSERT_TRUE(a.lead.busy());
  world.now += Seconds(1800);
  a.roll_back_change("a rank did not answer");
  world.settle(25);
  EXPECT_EQ(a.status().allocation->workers, 8) << "it is asked again when it has rested";
  const double release = world.cluster.records[0].queue.status.release_seconds;
  EXPECT_EQ(release, 5) << "nobody has let go of anything";
}

// Rule Q28. What runs is resized by its owner, loses and gets workers, and ends; what waits says why.
TEST(Scheduler, JobsOfAQueueThatCannotBeReadAreStillLookedAfter) {
  QueueWorld world(8);
  run_a_and_let_b_come_with(world, 8);
  world.jobs["b"]->job.spec.worker.min_replicas = world.jobs["b"]->job.spec.worker.max_replicas = 8;
  world.jobs["b"]->job.spec.worker.replicas = 8;
  QueueRecord& record = world.cluster.records[0];
  world.settle(2);
  record.unreadable = "spec.objective: is \"speed\"";
  const std::int64_t fence = record.queue.status.fence;
  world.jobs["a"]->ask_for(3);
  world.settle(30);
  EXPECT_EQ(world.jobs["a"]->size(), 3);
  EXPECT_EQ(world.jobs["a"]->status().state, JobState::Running);
  EXPECT_THAT(world.jobs["b"]->status().queue->reason, HasSubstr("is not served: spec.objective"));
  EXPECT_THAT(world.cluster.told_unreadable, Contains("main: spec.objective: is \"speed\""));
  EXPECT_EQ(world.cluster.records[0].queue.status.fence, fence) << "nothing of it is written by a plan";
  EXPECT_EQ(std::ranges::count_if(
                world.log,
                [](const std::string& line) { return line.find("cannot be read") != std::string::npos; }),
            1);
  record.queue.status.conditions = {{"Ready", "False", "Unreadable", "", {}, 0}};  // as it was told
  record.unreadable.clear();
  world.jobs["a"]->lead.program = ProgramState::Succeeded;
  world.settle(80);
  EXPECT_EQ(world.jobs["a"]->status().state, JobState::Succeeded);
  EXPECT_EQ(world.jobs["b"]->size(), 8) << "served again";
  EXPECT_EQ(record.queue.status.conditions.at(0).status, "True");
}

// Rule Q33: who begins with what is written gives out the same.
TEST(Scheduler, OneThatBeginsAnewPlansTheSame) {
  QueueWorld world(8);
  run_a_and_let_b_come(world);
  world.add("c", 2, 4, kPerfect, "", "    replicas: 4\n");
  for (int i = 0; i < 40; ++i) {
    world.turn();
    testing::MemoryQueues cluster = world.cluster;
    Scheduler other(cluster, [&] { return world.now; }, [](const std::string&) {});
    for (const auto& [name, job] : world.jobs) other.saw(job->job, job->pods);
    other.turn();
    world.scheduler->turn();
    for (const auto& [name, job] : world.jobs) {
      const auto given = world.scheduler->grant_of(job->job.metadata.uid);
      const auto again = other.grant_of(job->job.metadata.uid);
      const std::int64_t next = job->status().allocation ? job->status().allocation->sequence + 1 : 1;
      const bool new_one = given && given->allocation && given->allocation->sequence == next;
      const bool new_again = again && again->allocation;
      if (!new_one || !new_again) continue;  // the one has gathered its news for longer
      EXPECT_EQ(given->allocation->workers, again->allocation->workers) << name << " at turn " << i;
      EXPECT_EQ(given->allocation->promised, again->allocation->promised) << name << " at turn " << i;
    }
  }
}

TEST(Scheduler, TheThirdIsPromisedWhatTheDonorCanStillGive) {
  QueueWorld world(8);
  run_a_and_let_b_come(world);
  world.turn();
  world.turn();
  world.add("c", 2, 2, "", "  runtime: {mode: Rigid}\n");
  world.settle(40);
  EXPECT_EQ(world.jobs["a"]->size(), 2);
  EXPECT_EQ(world.jobs["b"]->size(), 4);
  EXPECT_EQ(world.jobs["c"]->size(), 2);
}

TEST(Scheduler, WhatNobodyWaitsForGoesToWhoRuns) {
  QueueWorld world(8);
  run_a_and_let_b_come(world);
  world.settle(30);
  expect_both_run(world);
  for (int i = 0; i < 4; ++i) world.jobs["b"]->end_pod(i, 0);
  world.now += Seconds(300);  // a has rested
  world.settle(30);
  EXPECT_EQ(world.jobs["b"]->status().state, JobState::Succeeded);
  EXPECT_EQ(world.jobs["b"]->status().allocation->workers, 0);
  EXPECT_EQ(world.jobs["a"]->size(), 8);
}

TEST(Scheduler, NothingIsPlannedBeforeEveryJobWasSeen) {
  QueueWorld world(8);
  world.add("a", 2, 8, kPerfect, "", "    replicas: 8\n");
  world.add_rigid("b", 4);
  world.restart();
  world.pass(*world.jobs["a"]);
  world.scheduler->turn();
  const auto grant = world.scheduler->grant_of("uid-of-a");
  EXPECT_FALSE(grant && grant->allocation);
  world.pass(*world.jobs["b"]);
  world.now += Seconds(1);
  world.scheduler->turn();
  EXPECT_TRUE(world.scheduler->grant_of("uid-of-a")->allocation);
}

TEST(Scheduler, AJobSaysWhyItWaits) {
  QueueWorld world(8);
  world.add_rigid("large", 9);
  auto& lost = world.add_rigid("lost", 1);
  lost.job.spec.scheduling.queue_name = "mian";
  world.settle(6);
  const JobStatus& large = world.jobs["large"]->status();
  EXPECT_EQ(large.state, JobState::Queued);
  EXPECT_EQ(large.queue->cause, QueueCause::TooLarge);
  EXPECT_THAT(large.queue->reason, HasSubstr("needs 9 workers of 1 CPU: pool cores has 8 CPU"));
  EXPECT_EQ(lost.status().queue->cause, QueueCause::NoSuchQueue);
  EXPECT_THAT(lost.status().queue->reason, HasSubstr("no ElasticQueue \"mian\"; there are: main"));
  EXPECT_EQ(find_condition(large, "Queued")->reason, "TooLarge");
  // The queue becomes larger.
  world.cluster.records[0].queue.spec.pools[0].quota.cpu->text = "9";
  world.capacity = 9;
  world.scheduler->news();
  world.settle(10);
  EXPECT_EQ(world.jobs["large"]->status().state, JobState::Running);
}

TEST(Scheduler, AQuotaOfANamespaceBoundsItAndNobodyIsShrunkInVain) {
  QueueWorld world(8);
  world.cluster.all_quotas.push_back({"default", "few", queue::everything(kNotCounted), 3});
  run_a_and_let_b_come_with(world, 3);
  world.settle(10);
  EXPECT_EQ(world.jobs["b"]->status().queue->cause, QueueCause::Quota);
  EXPECT_THAT(world.jobs["b"]->status().queue->reason,
              HasSubstr("needs 4 workers of 1 CPU: the ResourceQuotas"));
  EXPECT_EQ(world.jobs["a"]->size(), 3);
  world.cluster.all_quotas.clear();
  world.scheduler->news();
  world.settle(10);
  EXPECT_EQ(world.jobs["b"]->size(), 4);
}

TEST(Scheduler, JobsOfANamespaceShareWhatItsQuotaLeaves) {
  QueueWorld world(8);
  world.cluster.all_quotas.push_back({"default", "few", queue::everything(kNotCounted), 4});
  world.add_rigid("a", 3);
  world.add_rigid("b", 3);
  world.turn();
  world.turn();  // "a" is given three, and has no pod yet
  ASSERT_EQ(world.held(*world.jobs["a"]), 3);
  EXPECT_EQ(world.held(*world.jobs["b"]), 0);
  world.cluster.all_quotas[0].pods_left = 1;
  world.settle(6);
  EXPECT_EQ(world.jobs["b"]->status().queue->cause, QueueCause::Quota);
  EXPECT_THAT(world.jobs["b"]->status().queue->reason, HasSubstr("leave room for 1"));
  world.cluster.all_quotas[0].pods_left = 3;
  world.scheduler->news();
  world.settle(10);
  EXPECT_EQ(world.jobs["b"]->size(), 3);
}

TEST(Scheduler, AQueueThatGoesLeavesWhatRuns) {
  QueueWorld world(8);
  run_a_and_let_b_come(world);
  const auto record = world.cluster.records[0];
  world.cluster.records.clear();
  world.scheduler->news();
  world.settle(6);
  EXPECT_EQ(world.jobs["a"]->size(), 8);
  EXPECT_EQ(world.jobs["b"]->status().queue->cause, QueueCause::NoSuchQueue);
  world.cluster.records.push_back(record);
  world.scheduler->news();
  world.settle(30);
  expect_both_run(world);
}

// Rule Q27.
TEST(Scheduler, LeavesAQueueThatAnotherHasTakenUntilThatIsQuiet) {
  QueueWorld world(4);
  world.settle(2);
  QueueStatus& status = world.cluster.records[0].queue.status;
  EXPECT_EQ(status.fence, 1);
  status.fence = 7;
  auto& a = world.add_rigid("a", 2);
  world.settle(20);
  EXPECT_EQ(a.status().state, JobState::Queued);
  EXPECT_EQ(status.fence, 7);
  world.now += Seconds(60);
  world.settle(10);
  EXPECT_EQ(a.status().state, JobState::Running);
  EXPECT_EQ(status.fence, 8);
}

TEST(Scheduler, AQueueOfTheSameNameIsTakenAnew) {
  QueueWorld world(4);
  world.settle(2);
  ElasticQueue& queue = world.cluster.records[0].queue;
  queue.metadata.uid = "another";
  queue.status = {};
  world.add_rigid("a", 2);
  world.settle(30);
  EXPECT_EQ(queue.status.fence, 1);
  EXPECT_EQ(queue.status.running, 1);
}

TEST(Scheduler, APoolOfOtherNodesThanTheTemplateAsksForIsNone) {
  QueueWorld world(4);
  PoolSpec& pool = world.cluster.records[0].queue.spec.pools[0];
  pool.node_selector = {{"kind", "hpc"}};
  auto& a = world.add_rigid("a", 2);
  a.job.spec.worker.pod.document =
      R"({"spec": {"nodeSelector": {"kind": "spot"}, "containers": [{"name": "worker"}]}})";
  world.settle(10);
  EXPECT_EQ(a.status().queue->cause, QueueCause::NotAdmitted);
  EXPECT_THAT(a.status().queue->reason, HasSubstr("nodeSelector asks for another kind"));
}

TEST(Scheduler, TheQueueSaysWhoRunsAndWhoWaits) {
  QueueWorld world(4);
  world.add_rigid("a", 3);
  world.settle(6);
  world.add_rigid("b", 2);
  world.settle(30);
  const QueueStatus& status = world.cluster.records[0].queue.status;
  EXPECT_EQ(status.running, 1);
  EXPECT_EQ(status.queued, 1);
  ASSERT_EQ(status.head.size(), 1u);
  EXPECT_EQ(status.head[0].name, "b");
  EXPECT_EQ(status.pools[0].held_milli_cpu, 3000);
  EXPECT_EQ(status.fence, 1);
  EXPECT_LE(world.cluster.status_writes, 6) << "one write each ten seconds, but for news";
}

// Each start changes who is first: where many start, a write for each would double what a start costs.
TEST(Scheduler, TheQueueIsWrittenOnceForManyStartsWithinAMoment) {
  QueueWorld world(8);
  world.add_rigid("a", 8);
  world.settle(8);
  for (int i = 0; i < 8; ++i) world.add_rigid("b" + std::to_string(i), 8);
  world.settle(30);
  const int before = world.cluster.status_writes;
  std::string last = "a";
  for (int i = 0; i < 8; ++i) {  // short jobs, one after the other
    world.jobs[last]->lead.program = ProgramState::Succeeded;
    last = "b" + std::to_string(i);
    for (int turns = 0; turns < 20 && world.jobs[last]->size() == 0; ++turns) world.turn();
    ASSERT_EQ(world.jobs[last]->size(), 8) << last;
  }
  EXPECT_LE(world.cluster.status_writes - before, 2 * 8) << "and there were three";
  world.settle(8);
  EXPECT_EQ(world.cluster.records[0].queue.status.queued, 0) << "and nothing is left unsaid";
}

// An idle queue is written with all its models otherwise, 2,880 times a day.
TEST(Scheduler, AQueueInWhichNothingHappensIsHardlyWritten) {
  QueueWorld world(8);
  world.add_rigid("a", 4);
  world.settle(60);
  const int before = world.cluster.status_writes;
  const QueueStatus then = world.cluster.records[0].queue.status;
  for (int i = 0; i < 60; ++i) {  // an hour of plans
    world.now += Seconds(60);
    world.turn();
  }
  EXPECT_LE(world.cluster.status_writes - before, 12);
  EXPECT_GE(world.cluster.status_writes - before, 6) << "what is used is written now and then";
  EXPECT_GT(world.cluster.records[0].queue.status.usage.at(0).cpu_hours, then.usage.at(0).cpu_hours + 3);
}

// Who was promised its workers waited for them unseen.
TEST(Scheduler, WhoIsPromisedWorkersIsAmongTheFirstThatWait) {
  QueueWorld world(8);
  world.pods_take_long = true;
  run_a_and_let_b_come(world);
  world.settle(30);
  const QueueStatus& status = world.cluster.records[0].queue.status;
  ASSERT_EQ(status.head.size(), 1u);
  EXPECT_EQ(status.head[0].name, "b");
  EXPECT_THAT(status.head[0].reason, HasSubstr("is promised 4 workers of pool "));
}

TEST(Scheduler, WaitingCostsNoWrites) {
  QueueWorld world(4);
  world.add_rigid("a", 4);
  world.settle(10);
  auto& b = world.add_rigid("b", 4);
  world.settle(10);
  const JobStatus before = b.status();
  world.add_rigid("c", 4);
  world.settle(60);
  EXPECT_EQ(b.status(), before);
}

// Passes over jobs are made by many threads, plans by one.
struct CountedQueues : testing::MemoryQueues {
  void look_at(const JobKey& key) override {
    const std::lock_guard lock(mutex);
    keys.insert(key);
    grown.notify_all();
  }
  bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex);
    return grown.wait_for(lock, std::chrono::seconds(20), [&] { return keys.size() >= count; });
  }
  std::mutex mutex;
  std::condition_variable grown;
  std::set<JobKey> keys;
};

// An exception that left its thread would end the operator, and the next one, which reads the same statuses.
TEST(Scheduler, ADefectBreaksOffOnePlanAndNoMore) {
  QueueWorld world(8);
  run_a_and_let_b_come(world);
  world.cluster.breaks = true;
  world.settle(100);  // without news it is tried again after half a minute
  EXPECT_FALSE(world.cluster.breaks);
  expect_both_run(world);
  EXPECT_THAT(world.log,
              Contains("a defect of the operator has broken off the plan for all queues: of a test"));
}

TEST(Scheduler, ADefectThatAQueueIsTheUndoingOfIsToldOnceAndCostsTheOthersNothing) {
  testing::MemoryQueues cluster;
  for (const char* name : {"bad", "good"})
    cluster.records.push_back({testing::queue_of("  pools: [{name: cores, quota: {cpu: 4}}]\n", name)});
  Time now{Seconds(1'700'000'000)};
  std::vector<std::string> log;
  SchedulerOptions options;
  options.planned = [](const PlanReport& report) {
    if (report.queue == "bad") throw std::logic_error("of a test");
  };
  int broken = 0;
  options.broken = [&] { ++broken; };
  Scheduler scheduler(
      cluster, [&] { return now; }, [&](const std::string& line) { log.push_back(line); }, options);
  const ElasticMPIJob job = testing_world::make_job("  scheduling: {queueName: good}\n", 1, 1);
  scheduler.saw(job, {});
  for (int i = 0; i < 3; ++i) {
    scheduler.news();
    now += Seconds(1);
    scheduler.turn();
  }
  EXPECT_TRUE(scheduler.grant_of(job.metadata.uid)->allocation);
  EXPECT_EQ(broken, 3);
  EXPECT_EQ(
      std::ranges::count(log, "a defect of the operator has broken off the plan for queue bad: of a test"),
      1);
}

TEST(Scheduler, IsFedByManyThreads) {
  CountedQueues cluster;
  cluster.records.push_back({testing::queue_of("  pools: [{name: cores, quota: {cpu: 100}}]\n")});
  SchedulerOptions options;
  options.gather = Millis(1);
  const auto clock = [] { return std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now()); };
  Scheduler scheduler(cluster, clock, [](const std::string&) {}, options);
  ElasticMPIJob job = testing_world::make_job("  scheduling: {queueName: main}\n", 1, 1);
  {
    const std::jthread thread([&](const std::stop_token& stop) { scheduler.run(stop); });
    std::vector<std::jthread> feeders;
    for (int feeder = 0; feeder < 4; ++feeder)
      feeders.emplace_back([&scheduler, job, feeder]() mutable {
        for (int i = 0; i < 10; ++i) {
          job.metadata.name = "job-" + std::to_string(feeder) + "-" + std::to_string(i);
          job.metadata.uid = "uid-of-" + job.metadata.name;
          scheduler.saw(job, {});
          scheduler.grant_of(job.metadata.uid);
        }
      });
    EXPECT_TRUE(cluster.wait_for(40)) << cluster.keys.size() << " of 40 jobs were answered";
  }
  EXPECT_EQ(scheduler.grant_of("uid-of-job-3-9")->allocation->workers, 1);
}

}  // namespace
}  // namespace emj
