// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/learned.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "operator/decide/queue/job_demand.hpp"

namespace emj::queue {
namespace {

constexpr Time kNow{Seconds(1'700'000'000)};

ElasticMPIJob job(const std::string& namespace_name = "a", const std::string& scheduling = "",
                  const std::string& command = "[p]") {
  const auto parsed = parse_yaml(
      "apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticMPIJob\nmetadata: {name: demo, "
      "uid: u, namespace: " +
          namespace_name + "}\nspec:\n  scheduling: {queueName: main" + scheduling +
          "}\n  worker:\n    replicas: 4\n    minReplicas: 1\n    maxReplicas: 16\n    "
          "template: {spec: {containers: [{name: worker, command: " +
          command + "}]}}\n",
      "job.yaml");
  EXPECT_TRUE(parsed.ok()) << parsed.message();
  return parsed.value();
}

// It runs on 4 since `seconds` and has measured that 8 are no faster.
ElasticMPIJob measured(ElasticMPIJob of, int seconds) {
  of.status.state = JobState::Running;
  of.status.start_time = kNow - Seconds(seconds);
  of.status.allocation = AllocationStatus{4, 0, "hpc", 1, kNow - Seconds(seconds), "", ""};
  for (int i = 0; i < 4; ++i) of.status.active_workers.insert(i);
  for (const auto& [workers, time] : {std::pair{2, 1.0}, {4, .5}, {8, .5}}) {
    MeasuredSize point;
    point.workers = workers;
    point.iteration_seconds = time;
    point.compute_seconds = point.useful_seconds = 2.0 / workers;
    point.time = kNow;
    of.status.policy_state.measured.push_back(point);
  }
  return of;
}

ElasticMPIJob ended(ElasticMPIJob of, JobState state = JobState::Succeeded) {
  of.status.state = state;
  of.status.completion_time = kNow;
  of.status.allocation->workers = 0;
  return of;
}

QueueSpec queue() {
  QueueSpec spec;
  spec.pools.resize(1);
  spec.pools[0].name = "hpc";
  spec.pools[0].quota.cpu = Quantity{"16"};
  return spec;
}

Demand taught(const ElasticMPIJob& of, const QueueStatus& status) {
  Demand demand = std::get<Demand>(demand_of(of, 0, queue(), {}, kNow));
  Lessons lessons;
  lessons.teach(demand, of, model_key(of.spec), status, Objective::Fair, kNow);
  return demand;
}

TEST(Learned, ARunTeachesTheNextOneOfItsNamespace) {
  QueueStatus status;
  const ElasticMPIJob first = measured(job(), 1000);
  learn_points(status.models, first);
  learn_end(status, first, ended(first));
  ASSERT_EQ(status.models.size(), 1u);

  const Demand before = taught(job(), {});
  const Demand next = taught(job(), status);
  EXPECT_GT(before.curve->speed_of(8), 1.2) << "the guess";
  EXPECT_NEAR(next.curve->speed_of(8), 1, .01);
  EXPECT_NEAR(next.curve->speed_of(2), .5, .01);
  EXPECT_EQ(next.trusted, 16);
  EXPECT_FALSE(before.work_left);
  EXPECT_NEAR(next.work_left.value_or(0), 1000, 1);

  EXPECT_EQ(taught(job("b"), status).curve->speed_of(8), before.curve->speed_of(8)) << "another namespace";
  EXPECT_EQ(taught(job("a", "", "[q]"), status).curve->speed_of(8), before.curve->speed_of(8))
      << "another program";
}

// It runs since `seconds`, at these sizes since so many seconds ago.
ElasticMPIJob resized(ElasticMPIJob of, int seconds, const std::vector<std::pair<int, int>>& sizes) {
  of = measured(std::move(of), seconds);
  double worker_seconds = 0;
  int from = 0;
  Time since = kNow - Seconds(seconds);
  for (const auto& [workers, ago] : sizes) {
    const Time time = kNow - Seconds(ago);
    worker_seconds += from * seconds_between(since, time);
    of.status.policy_state.changes.push_back({time, from, workers});
    from = workers, since = time;
  }
  of.status.usage = UsageStatus{kNow - Seconds(seconds), worker_seconds, from, since};
  of.status.allocation->workers = from;
  return of;
}

double learned_from(const ElasticMPIJob& of) {
  QueueStatus status;
  learn_end(status, of, ended(of));
  return status.models.at(0).worker_seconds / 4;
}

// What it has in the end is the least typical size: others have come, or have gone. (On 2 it is half as fast
// as on 4, on 8 as fast.)
TEST(Learned, ARunCountsAtEachSizeThatItHad) {
  QueueStatus status;
  const ElasticMPIJob shrunk = resized(job("a", ", expectedSeconds: 3600"), 3600, {{4, 3600}, {2, 60}});
  learn_end(status, shrunk, ended(shrunk));
  EXPECT_NEAR(status.models.at(0).worker_seconds, 4 * (3540 + 60 * .5), 40);
  EXPECT_TRUE(status.claims.empty()) << "it has kept to what was said";

  const ElasticMPIJob grown = resized(job("a", ", expectedSeconds: 5700"), 10'800, {{2, 10'800}, {4, 60}});
  EXPECT_NEAR(learned_from(grown), 10'740 * .5 + 60, 120);
  status = {};
  learn_end(status, grown, ended(grown));
  EXPECT_TRUE(status.claims.empty());
}

// The queue's doing says nothing of the program.
TEST(Learned, WhatItsChangesHaveCostIsNoPartOfARun) {
  ElasticMPIJob shrunk = resized(job(), 3600, {{4, 3600}, {2, 600}});
  const double all = learned_from(shrunk);
  shrunk.status.policy_state.changes.back().cost_seconds = 60;
  EXPECT_NEAR(learned_from(shrunk), all - 60 * .5, 2);
  shrunk.status.policy_state.changes.back().cost_seconds = 1e6;
  EXPECT_NEAR(learned_from(shrunk), 3000, 1);
}

TEST(Learned, WhatIsForgottenOfItsSizesCountsByItsWorkersSeconds) {
  ElasticMPIJob often = resized(
      job(), 6000, {{4, 6000}, {2, 4000}, {4, 3000}, {2, 2000}, {4, 1500}, {2, 1000}, {4, 500}, {2, 100}});
  auto& changes = often.status.policy_state.changes;
  changes.erase(changes.begin(), changes.end() - 5);  // from 2,000 s before its end on
  const double truth = 2000 + 500 + 1000 + 250 + 500 + 250 + 400 + 50;
  EXPECT_NEAR(learned_from(often), truth, .1 * truth) << "at the mean of the first two sizes";
  often.status.usage.reset();
  EXPECT_NEAR(learned_from(often), truth, .2 * truth) << "of an operator that kept no usage";
}

TEST(Learned, ARunThatBeganAnewCountsFromThere) {
  ElasticMPIJob again = resized(job(), 18'000, {{4, 100}});  // waited five hours in the queue
  again.status.restarts = 1;
  again.status.usage = UsageStatus{kNow - Seconds(18'000), 3000 * 4, 4, kNow - Seconds(100)};
  EXPECT_NEAR(learned_from(again), 100, 1);
  again.status.checkpoint.emplace().restored_iteration = 7;
  EXPECT_NEAR(learned_from(again), 3100, 900) << "what it went on from took its time, too; at which size is "
                                                 "not known any more";
}

TEST(Learned, ARunThatWasOverAtOnceIsForecastByASecond) {
  QueueStatus status;
  const ElasticMPIJob once = measured(job(), 0);
  learn_end(status, once, ended(once));
  EXPECT_EQ(taught(measured(job(), 100), status).work_left, 28) << "128 less 100: it has doubled seven times";
}

// While it was suspended its user has made it another program.
TEST(Learned, AJobMayBecomeAnotherProgram) {
  QueueStatus status;
  learn_points(status.models, measured(job(), 100));
  ElasticMPIJob next = job("a", "", "[q]");
  Demand demand = std::get<Demand>(demand_of(next, 0, queue(), {}, kNow));
  const auto unknown = demand.curve;
  Lessons lessons;
  const auto speed_of = [&](const std::string& key) {
    demand.curve = unknown;
    lessons.teach(demand, next, key, status, Objective::Fair, kNow);
    return demand.curve->speed_of(8);
  };
  const double guess = speed_of(model_key(next.spec));
  EXPECT_GT(guess, 1.2);
  EXPECT_NEAR(speed_of(model_key(job().spec)), 1, .01);
  EXPECT_EQ(speed_of(model_key(next.spec)), guess) << "and back";

  // What it has measured before it was resumed says nothing of the new one.
  ElasticMPIJob resumed = measured(next, 10);
  for (MeasuredSize& point : resumed.status.policy_state.measured) point.time -= Seconds(20);
  std::vector<LearnedModel> models;
  learn_points(models, resumed);
  EXPECT_TRUE(models.empty());
}

TEST(Learned, OneNameForAModelIsOneModel) {
  EXPECT_EQ(model_key(job("a", ", model: sea").spec), "sea");
  EXPECT_EQ(model_key(job("a").spec), model_key(job("b").spec));
  EXPECT_NE(model_key(job("a").spec), model_key(job("a", "", "[p, x]").spec));
}

TEST(Learned, WhatItsOwnRunMeasuresComesFirst) {
  QueueStatus status;
  learn_points(status.models, measured(job(), 100));
  ElasticMPIJob next = measured(job(), 10);
  next.status.policy_state.measured = {next.status.policy_state.measured[1],
                                       next.status.policy_state.measured[2]};
  next.status.policy_state.measured[1].iteration_seconds = .25;
  EXPECT_NEAR(taught(next, status).curve->speed_of(8), 2, .01);
}

TEST(Learned, TheSameTwiceIsNoNews) {
  std::vector<LearnedModel> models;
  learn_points(models, measured(job(), 100));
  const auto once = models;
  learn_points(models, measured(job(), 100));
  EXPECT_EQ(models, once);
}

TEST(Learned, IsBounded) {
  QueueStatus status;
  for (int i = 0; i < 70; ++i) {
    ElasticMPIJob one = measured(job("a", ", model: m" + std::to_string(i)), 100);
    for (MeasuredSize& point : one.status.policy_state.measured) point.time += Seconds(i);
    for (int n = 9; n < 30; ++n) {
      one.status.policy_state.measured.push_back(one.status.policy_state.measured[2]);
      one.status.policy_state.measured.back().workers = n;
    }
    learn_points(status.models, one);
    count_claim(status.claims, "ns" + std::to_string(i * 4 % 280), 60, 600, kNow + Seconds(i));
  }
  EXPECT_EQ(status.models.size(), 64u);
  EXPECT_EQ(status.models.front().key, "m6") << "the oldest goes";
  EXPECT_EQ(status.models.front().points.size(), 16u);
  for (int run = 0; run < 7; ++run) {
    const ElasticMPIJob again = measured(job("a", ", model: m69"), 100);
    learn_end(status, again, ended(again));
  }
  EXPECT_TRUE(status.models.back().points.empty()) << "of more than five runs ago";
}

TEST(Learned, ARunThatFailedSaysNothingOfHowLongOneTakes) {
  QueueStatus status;
  const ElasticMPIJob one = measured(job(), 1000);
  learn_end(status, one, ended(one, JobState::Failed));
  EXPECT_TRUE(status.models.empty());
}

TEST(Claims, OfWhoOverrunsThemAreBelievedAsMuchMore) {
  QueueStatus status;
  const ElasticMPIJob liar = measured(job("a", ", expectedSeconds: 60"), 6000);
  for (int i = 0; i < 60; ++i) learn_end(status, liar, ended(liar));
  EXPECT_NEAR(overrun_of(status.claims, "a"), 100, 10);
  EXPECT_EQ(overrun_of(status.claims, "b"), 1);
  status.models.clear();
  EXPECT_NEAR(*taught(job("a", ", expectedSeconds: 60"), status).work_left, 6000, 600);
  EXPECT_EQ(*taught(job("b", ", expectedSeconds: 60"), status).work_left, 60);
  for (int i = 0; i < 200; ++i) count_claim(status.claims, "a", 600, 100, kNow);
  EXPECT_NEAR(overrun_of(status.claims, "a"), 1, .02) << "and honest again after a while";
  for (const double taken : {6000., 60., 60.}) count_claim(status.claims, "c", 60, taken, kNow);
  EXPECT_GT(overrun_of(status.claims, "c"), 60) << "short jobs do not make the same claim true of long ones";
}

// Else whoever runs a few short jobs under the name of a long one passes everybody.
TEST(Claims, AreAlsoWhatEarlierRunsOfTheModelTook) {
  for (const char* claim : {"", ", expectedSeconds: 100000"}) {
    QueueStatus status;
    const std::string model = std::string(", model: quick") + claim;
    const ElasticMPIJob quick = measured(job("a", model), 1), slow = measured(job("a", model), 36'000);
    for (int i = 0; i < 5; ++i) learn_end(status, quick, ended(quick));
    EXPECT_EQ(overrun_of(status.claims, "a"), 1);
    EXPECT_EQ(*taught(job("a", model), status).work_left, 1);
    learn_end(status, slow, ended(slow));
    EXPECT_GT(overrun_of(status.claims, "a"), 1000);
    EXPECT_GE(*taught(job("a", model), status).work_left, 36'000);
    for (int i = 0; i < 5; ++i) learn_end(status, quick, ended(quick));
    EXPECT_GE(*taught(job("a", model), status).work_left, 36'000) << "nor after a few more";
    EXPECT_EQ(overrun_of(status.claims, "b"), 1);
  }
}

// Runs of one program differ, and that is nobody's fault.
TEST(Claims, OfRunsThatTakeAboutTheSameAreAboutRight) {
  QueueStatus status;
  for (const int seconds : {1000, 1100, 950, 1050, 900, 1000, 1100, 1000}) {
    const ElasticMPIJob one = measured(job(), seconds);
    learn_end(status, one, ended(one));
  }
  EXPECT_LT(overrun_of(status.claims, "a"), 1.15);
}

// Else whoever claims too little cancels a few jobs, and is believed again.
TEST(Claims, ARunThatWasCutShortMakesNobodyHonest) {
  QueueStatus status;
  count_claim(status.claims, "a", 60, 6000, kNow);
  const ElasticMPIJob cut = measured(job("a", ", expectedSeconds: 60"), 1);
  for (int i = 0; i < 20; ++i) learn_end(status, cut, ended(cut, JobState::Failed));
  EXPECT_NEAR(overrun_of(status.claims, "a"), 100, 1);
  const ElasticMPIJob failed_late = measured(job("a", ", expectedSeconds: 60"), 60'000);
  learn_end(status, failed_late, ended(failed_late, JobState::Failed));
  EXPECT_GT(overrun_of(status.claims, "a"), 200) << "that it takes longer is known all the same";
}

}  // namespace
}  // namespace emj::queue
