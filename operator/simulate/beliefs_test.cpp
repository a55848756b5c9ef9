// SPDX-License-Identifier: Apache-2.0
// Queues that have to find out how fast jobs are.
#include "operator/simulate/beliefs.hpp"

#include <gtest/gtest.h>

#include <array>

#include "operator/simulate/metrics.hpp"
#include "operator/simulate/report.hpp"
#include "operator/simulate/testing/random_trace.hpp"

namespace emj::simulate {
namespace {

ElasticOptions learning(Learn learn, double noise = 10, std::uint64_t seed = 1) {
  ElasticOptions options;
  options.learn = learn;
  options.noise_percent = noise;
  options.seed = seed;
  return options;
}

double turnaround(const Workload& workload, const ElasticOptions& options) {
  return summarise(workload, run_elastic(workload, options)).mean_turnaround;
}

TEST(Beliefs, AMeasuredSizeTellsTimeAndEfficiency) {
  const Workload workload = made(
      Trace{.name = "one", .processors = 64, .jobs = {{.number = 1, .run_seconds = 100, .processors = 16}}},
      100);
  const Job& job = workload.jobs[0];
  const MeasuredSize there = measured_size(job, 16, kOrigin, 0);
  EXPECT_DOUBLE_EQ(there.iteration_seconds, 1);
  EXPECT_NEAR(there.useful_seconds, .8, 1e-12);
  EXPECT_EQ(there.efficiency_percent, 80);
  const MeasuredSize noisy = measured_size(job, 8, kOrigin, -.1);
  EXPECT_NEAR(noisy.iteration_seconds, .9 / job.curve->speed_of(8), 1e-12);
}

// The prior is the law of the trace's jobs here, so what is to be learned is the spread.
TEST(Beliefs, WhatIsLearnedIsNearlyAsGoodAsTheTruth) {
  Trace trace = random_trace(11, 1500, 3);
  for (TraceJob& job : trace.jobs) {
    job.user = job.number % 10;
    // Hours, so that a minute for measuring is little.
    job.submit *= 20;
    job.run_seconds *= 20;
    job.estimate *= 20;
  }
  const Workload workload = make_workload(trace, 32, {.spread_percent = 20});
  const double exact = turnaround(workload, learning(Learn::Oracle));
  EXPECT_LT(turnaround(workload, learning(Learn::Online)), 1.06 * exact);
  EXPECT_LT(turnaround(workload, learning(Learn::Online, 0)), 1.03 * exact);
  EXPECT_NE(turnaround(workload, learning(Learn::Never)), exact);
}

// On 16 processors of 64, by Amdahl's law.
Workload one_job(double seconds) {
  const Trace trace{
      .name = "one", .processors = 64, .jobs = {{.number = 1, .run_seconds = seconds, .processors = 16}}};
  return make_workload(trace, 64, {.speedup = SpeedupModel::parse("amdahl:.6").value()});
}

TEST(Beliefs, GoFromThePriorToWhatIsMeasured) {
  const Workload workload = one_job(100);
  const Job& job = workload.jobs[0];
  const auto believed = [&](Beliefs& beliefs, Time now) {
    queue::Demand demand;
    demand.uid = "a";
    demand.curve = job.curve;
    demand.reference = job.reference;
    beliefs.teach(0, demand, now);
    EXPECT_GE(demand.trusted, beliefs.exact() ? 1 : job.reference);
    return demand.curve->speed_of(16) / demand.curve->speed_of(8);
  };
  const double truth = job.curve->speed_of(16) / job.curve->speed_of(8);
  const double prior = queue::amdahl_speed(16, 16, .8) / queue::amdahl_speed(8, 16, .8);
  for (const Learn learn : {Learn::Online, Learn::Never}) {
    Beliefs beliefs(workload, learn, 0, 1, queue::Objective::Fair);
    beliefs.come(0);
    EXPECT_NEAR(believed(beliefs, kOrigin), prior, 1e-9);
    if (!beliefs.measures()) continue;
    beliefs.measure(0, {.workers = 8, .number = 1}, kOrigin + Seconds(60));
    beliefs.measure(0, {.workers = 16, .number = 2}, kOrigin + Seconds(200));
    EXPECT_NEAR(believed(beliefs, kOrigin + Seconds(200)), truth, .01 * truth);
  }
  Beliefs exact(workload, Learn::Oracle, 0, 1, queue::Objective::Fair);
  exact.come(0);
  EXPECT_DOUBLE_EQ(believed(exact, kOrigin), truth);
}

// At sizes that change all the time, of which the last five are remembered: those before count at their mean,
// where a job is faster than it was on average.
TEST(Beliefs, FindOutHowLongARunTook) {
  const Workload workload = one_job(5000);
  const Job& job = workload.jobs[0];
  constexpr double kPause = 5;
  for (const std::size_t stays : {1, 4, 12}) {
    Beliefs beliefs(workload, Learn::Online, 0, 1, queue::Objective::Fair);
    beliefs.come(0);
    queue::Demand demand;
    Time now = kOrigin;
    double done = 0;
    for (std::size_t i = 0; i < stays; ++i) {
      const int workers = std::array{16, 8, 24, 12}[i % 4];
      beliefs.computes(0, workers, now, i == 0 ? 0 : kPause);
      beliefs.measure(0, {.workers = workers, .number = static_cast<int>(i)}, now + Seconds(60));
      demand.allocation.workers = workers;
      done += (400 - (i == 0 ? 0 : kPause)) * job.curve->speed_of(workers);
      now += Seconds(400);
    }
    EXPECT_NEAR(beliefs.ended(0, demand, now).value_or(0), done, .05 * done) << stays << " sizes";
  }
}

TEST(Beliefs, OfRigidJobsChangeNothing) {
  const Workload workload = made(random_trace(2, 200, 3), 0);
  const auto files = [&](Learn learn) { return jobs_csv(workload, run_elastic(workload, learning(learn))); };
  EXPECT_EQ(files(Learn::Oracle), files(Learn::Online));
  EXPECT_EQ(files(Learn::Oracle), files(Learn::Never));
}

TEST(Beliefs, OfASeedAreTheSame) {
  const Workload workload = made(random_trace(9, 300, 3), 80);
  const auto files = [&](std::uint64_t seed) {
    return jobs_csv(workload, run_elastic(workload, learning(Learn::Online, 10, seed)));
  };
  EXPECT_EQ(files(1), files(1));
  EXPECT_NE(files(1), files(2)) << "another noise";
}

}  // namespace
}  // namespace emj::simulate
