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
  lessons.teach(demand, of, status, Objective::Fair, kNow);
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
