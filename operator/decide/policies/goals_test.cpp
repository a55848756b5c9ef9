// SPDX-License-Identifier: Apache-2.0
// Policies deadline and budget on jobs whose speed is known: figures 2 and 3 of seed 002, and what they stand
// for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "operator/decide/testing/curves.hpp"

namespace emj {
namespace {

using namespace testing_policy;
using testing::AllOf;
using testing::HasSubstr;

constexpr int kMost = 19;  // nodes, as in the seed

// Jacobi: next to no communication. 2,000 iterations take 850 s on 19 workers.
Curve jacobi() {
  return {[](int n) { return 8.0 / n; }, [](int) { return .004; }, [](int) { return .98; }, kMost};
}
double run_time(const Curve& curve, int workers, double iterations) {
  return iterations * curve.seconds(workers);
}

AutoscalingSpec policy(PolicyName name) {
  AutoscalingSpec spec;
  spec.mode = AutoscalingMode::Auto;
  spec.policy.name = name;
  spec.scale_up_stabilization = spec.scale_down_stabilization = spec.cooldown = Seconds(0);
  return spec;
}

// A whole run.
struct WholeRun {
  WholeRun(const Curve& curve, double iterations_, int start, const AutoscalingSpec& spec,
           double jitter = 0.01)
      : job(curve, start, spec, jitter), iterations(iterations_) {
    job.progress = 0;
  }

  void window() {
    const int workers = job.size();
    const double lasts = std::min(10.0, (iterations - done) * job.curve.seconds(workers));
    done = lasts < 10 ? iterations : done + lasts / job.curve.seconds(workers);
    job.progress = std::min(1.0, done / iterations);
    job.input.goals.spent += job.input.goals.per_worker_hour * workers * lasts / 3600;
    worker_seconds += workers * lasts;
    if (job.progress < 1) job.run(Seconds(10));
    seconds += lasts;
    if (job.last.outlook) at_risk.push_back(job.last.outlook->at_risk);
  }
  WholeRun& to_the_end() {
    while (done < iterations && seconds < 1e5) window();
    return *this;
  }
  bool was_at_risk() const { return std::ranges::find(at_risk, true) != at_risk.end(); }

  SyntheticJob job;
  double iterations;
  double done = 0, seconds = 0, worker_seconds = 0;
  std::vector<bool> at_risk;  // at each decision
};

WholeRun by_deadline(double deadline, int start = 8, const Curve& curve = jacobi(),
                     double iterations = 2000) {
  WholeRun run(curve, iterations, start, policy(PolicyName::Deadline));
  run.job.input.goals.deadline = t0 + Seconds(std::lround(deadline));
  return run.to_the_end();
}

TEST(Deadline, FiguresTwoAndThreeOfSeed002) {
  const Curve curve = jacobi();
  ASSERT_NEAR(run_time(curve, kMost, 2000), 850, 1);
  double before = kMost + 1;
  for (const double deadline : {900, 1000, 1100, 1200, 1400}) {
    const WholeRun run = by_deadline(deadline, 10);
    const std::string told = run.job.last.line;
    EXPECT_LE(run.seconds, deadline) << told;
    EXPECT_FALSE(run.was_at_risk()) << deadline << ": " << told;
    EXPECT_LE(run.worker_seconds / run.seconds, before) << "fewer workers for a later one: " << told;
    before = run.worker_seconds / run.seconds;
    int least = 1;
    while (run_time(curve, least, 2000) > deadline) ++least;
    EXPECT_LE(run.worker_seconds, 1.1 * least * run_time(curve, least, 2000)) << told;
  }
  EXPECT_LE(before, 13) << "12 workers take 1341 s";
}

TEST(Deadline, OneThatCannotBeMetIsSaidAtOnceAndRunsOnTheFastest) {
  const WholeRun run = by_deadline(800);
  ASSERT_FALSE(run.at_risk.empty());
  EXPECT_TRUE(run.at_risk.front());
  EXPECT_GE(run.job.size(), 18) << "within 5 % of the fastest: " << run.job.last.line;
  ASSERT_TRUE(run.job.last.outlook);
  EXPECT_THAT(run.job.last.outlook->words, AllOf(HasSubstr("none meets the deadline of"),
                                                 HasSubstr("the fastest, it will be over at about")));
  EXPECT_LE(run.seconds, 1.1 * run_time(jacobi(), kMost, 2000));
}

TEST(Deadline, IsMetFromAnySizeWhateverTheCurve) {
  for (const char* name : {"compute_bound", "amdahl", "concave", "retrograde", "measured_tsunami"}) {
    if (!curves().contains(name)) continue;
    const Curve& curve = curves().at(name);
    for (const int start : {1, 4, curve.most}) {
      // Long enough to measure, and as long as half of the way between the fastest and the one it starts at.
      int fastest = 1;
      for (int n = 1; n <= curve.most; ++n)
        if (curve.seconds(n) < curve.seconds(fastest)) fastest = n;
      const double iterations = 3600 / curve.seconds(fastest);
      const double deadline = 1.5 * 3600;
      const WholeRun run = by_deadline(deadline, start, curve, iterations);
      EXPECT_LE(run.seconds, deadline) << name << " from " << start << ": " << run.job.last.line;
      EXPECT_LE(run.job.changes(), 8)
          << name << " from " << start << ": " << testing::PrintToString(run.job.sizes);
    }
  }
}

// What it has is enough: noise must move nothing.
TEST(Deadline, ALooseOneIsLeftAlone) {
  const WholeRun run = by_deadline(8000, 4);
  EXPECT_LE(run.job.changes(), 3) << testing::PrintToString(run.job.sizes) << run.job.last.line;
  EXPECT_LE(run.job.size(), 3);
  EXPECT_LE(run.seconds, 8000);
}

TEST(Deadline, OneThatComesNearerIsFollowed) {
  WholeRun run(jacobi(), 2000, 8, policy(PolicyName::Deadline));
  run.job.input.goals.deadline = t0 + Seconds(2000);
  for (int i = 0; i < 20; ++i) run.window();
  const int before = run.job.size();
  run.job.input.goals.deadline = t0 + Seconds(1200);
  run.to_the_end();
  EXPECT_GT(run.job.size(), before);
  EXPECT_LE(run.seconds, 1200) << run.job.last.line;
}

TEST(Deadline, WithoutProgressNobodyCanTell) {
  SyntheticJob job(jacobi(), 4, policy(PolicyName::Deadline));
  job.input.goals.deadline = t0 + Seconds(1000);
  job.run(Seconds(300));
  EXPECT_EQ(job.size(), 4);
  EXPECT_EQ(job.last.cause, DecisionCause::NoData);
  EXPECT_THAT(job.last.line, HasSubstr("does not report its progress"));
  EXPECT_FALSE(job.last.outlook);
}

// A program sets itself up before it says how far it is: that must not cost it the windows that follow.
TEST(Deadline, CountsFromTheFirstReportOfProgress) {
  SyntheticJob job(jacobi(), 1, policy(PolicyName::Deadline));
  job.input.goals.deadline = t0 + Seconds(100'000);
  job.run(Seconds(200));
  ASSERT_THAT(job.last.line, HasSubstr("does not report its progress"));
  for (job.progress = 0; job.progress < .05; job.progress += .01) job.run(Seconds(10));
  EXPECT_NE(job.last.cause, DecisionCause::NoData) << job.last.line;
  EXPECT_THAT(job.last.line, HasSubstr("% done"));
}

// Tasks tell how much is left, too.
TEST(Deadline, OfAMasterWorkerPhaseGoesByItsTasks) {
  PolicyInput input = input_with({.1, .1, .1, .1}, 4);
  std::int64_t done = 100;
  for (Sample& sample : input.windows) {
    sample.tasks = {1, 1000, done += 20, 1000 - done - 4, 20, 40, 84, 3, .98};
  }
  input.history = {{t0 - Seconds(600), 0, 4, 0, 0, 0}};
  input.goals.deadline = t0 + Seconds(200);  // 820 tasks of 2 s: 4 need more than 400 s
  const AutoscaleResult grows = judge(input, policy(PolicyName::Deadline));
  EXPECT_EQ(grows.wanted, 8) << grows.line;
  EXPECT_THAT(grows.line, HasSubstr("of 1000 tasks of this phase done"));
  input.goals.deadline = t0 + Seconds(2000);
  EXPECT_EQ(judge(input, policy(PolicyName::Deadline)).wanted, 2)
      << "half of what it has, then it looks again";
}

// Of Jacobi as apps/bench/goals.py runs it since 2026-11-25: seconds on 2 to 8 workers, its pace does not
// change.
Curve jacobi_that_waits() {
  const std::vector<double> iteration{.469, .333, .263, .221, .200, .193, .187};
  const auto seconds = [iteration](int n) { return iteration[static_cast<std::size_t>(std::max(n, 2) - 2)]; };
  // What no number of workers makes shorter is computed, too: from one size all of them seem to cost the
  // same.
  return {[=](int n) { return .87 * seconds(n); }, [=](int n) { return .13 * seconds(n); },
          [](int) { return .98; }, 8};
}

// On eight workers, one of which has joined at the start: from then on it is known that a change costs a per
// cent or two of the run.
WholeRun from_eight(const Curve& curve, double iterations, double deadline, double jitter) {
  WholeRun run(curve, iterations, 8, policy(PolicyName::Deadline), jitter);
  run.job.input.history.push_back({t0, 7, 8, 12, 0, 3});
  run.job.change_cost_seconds = 12;
  run.job.input.goals.deadline = t0 + Seconds(std::lround(deadline));
  return run.to_the_end();
}

// Six are enough. By what eight tell, transfers that stay as long, they are not, and seven free too little.
TEST(Deadline, FewerWorkersAreTriedWhereOneSizeCannotTellAndTheWayBackIsInTime) {
  const Curve waits = jacobi_that_waits();
  const Curve curve{[=](int n) { return .77 / .87 * waits.compute(n); },
                    [=](int n) { return .23 / .13 * waits.transfer(n); }, [](int) { return .98; }, 8};
  constexpr double kIterations = 4800;
  const double on_six = run_time(curve, 6, kIterations), deadline = 1.07 * on_six;
  for (const double jitter : {.01, .05, .1}) {
    const WholeRun run = from_eight(curve, kIterations, deadline, jitter);
    const std::string told = testing::PrintToString(run.job.sizes) + run.job.last.line;
    EXPECT_LE(run.seconds, deadline) << told;
    EXPECT_GE(run.seconds, .9 * deadline) << told;
    EXPECT_LE(run.worker_seconds, 1.1 * 6 * on_six) << told;
  }
}

// They are as slow as was feared: the job goes back, once, and is in time.
TEST(Deadline, ATrialThatFailsCostsNoDeadline) {
  const Curve curve{[](int n) { return .77 * 8 / n; }, [](int) { return .23; }, [](int) { return .98; }, 8};
  for (const double room : {1.02, 1.06, 1.1, 1.15, 1.25}) {
    const double deadline = room * run_time(curve, 8, 900);
    const WholeRun run = from_eight(curve, 900, deadline, .05);
    EXPECT_LE(run.seconds, deadline) << room << ": " << testing::PrintToString(run.job.sizes);
    EXPECT_LE(run.job.changes(), 3) << room << ": " << testing::PrintToString(run.job.sizes);
  }
}

// A price of 1 a worker hour.
WholeRun by_budget(double worker_hours, int start, const Curve& curve, double iterations) {
  WholeRun run(curve, iterations, start, policy(PolicyName::Budget));
  run.job.input.goals.budget = worker_hours;
  return run.to_the_end();
}

TEST(Budget, TheFastestSizeThatItPays) {
  const Curve& curve = curves().at("amdahl");
  const double iterations = 3000;
  for (const int paid : {2, 4, 8, 12}) {
    const double budget = 1.08 * paid * run_time(curve, paid, iterations) / 3600;
    const WholeRun run = by_budget(budget, 4, curve, iterations);
    EXPECT_LE(run.worker_seconds / 3600, budget) << "overrun: " << run.job.last.line;
    EXPECT_FALSE(run.was_at_risk()) << run.job.last.line;
    EXPECT_LE(run.seconds, 1.15 * run_time(curve, paid, iterations))
        << paid << ": " << testing::PrintToString(run.job.sizes) << run.job.last.line;
  }
}

// Seconds on the fastest of the sizes that the budget pays for from the start to the end.
double fastest_paid(const Curve& curve, double worker_hours, double iterations) {
  double fastest = 1e9;
  for (int n = 1; n <= curve.most; ++n)
    if (const double time = run_time(curve, n, iterations); n * time <= 3600 * worker_hours)
      fastest = std::min(fastest, time);
  return fastest;
}

// Of runs that begin on eight workers, with the budgets that apps/bench/goals.py gives.
void expect_kept_and_quick(const Curve& curve, double iterations, double jitter) {
  for (const int paid : {3, 5, 7}) {
    const double budget = 1.1 * paid * run_time(curve, paid, iterations) / 3600;
    const double fastest = fastest_paid(curve, budget, iterations);
    WholeRun run(curve, iterations, 8, policy(PolicyName::Budget), jitter);
    run.job.input.goals.budget = budget;
    run.to_the_end();
    const std::string sizes = std::to_string(paid) + ": " + testing::PrintToString(run.job.sizes);
    EXPECT_LE(run.seconds, 1.1 * fastest) << sizes << run.job.last.line;
    EXPECT_LE(run.worker_seconds / 3600, budget) << sizes << " overrun: " << run.job.last.line;
  }
}

// Workers cost nearly the same whatever their number: a tenth of noise in the first windows must neither make
// the job half as fast, nor cost it its budget. Jacobi as apps/bench/goals.py runs it, ten times as long.
TEST(Budget, NoiseOfTheFirstWindowsCostsLittleTime) {
  const Curve curve{[](int n) { return 7.6 / n; }, [](int n) { return .06 * n; }, [](int) { return .98; }, 8};
  expect_kept_and_quick(curve, 480, 0.1);
}

// On eight workers it would cost a per cent more than the budget that is meant for seven, for a gain of 3 %
// of the time.
TEST(Budget, WhatFewerWorkersCostIsTriedWhereOneSizeCannotTell) {
  expect_kept_and_quick(jacobi_that_waits(), 14400, 0.005);
}

// Jacobi as apps/bench/goals.py runs it (its sweep of 2026-11-24), ten times as long.
Curve jacobi_on_slow_pods() {
  Curve curve = curve_through({{1, 8.90, 1.000, 1.000},
                               {2, 4.47, 0.963, 0.995},
                               {3, 3.00, 0.967, 0.963},
                               {4, 2.22, 0.973, 0.934},
                               {5, 1.92, 0.975, 0.881},
                               {6, 1.75, 0.962, 0.825},
                               {8, 1.49, 0.967, 0.709}});
  curve.most = 8;
  return curve;
}

// Its pace, and the part of it that is spent on messages, vary from window to window as they do there, and so
// does what is left to do.
struct UnsteadyRun {
  UnsteadyRun(int start, double iterations_, double budget, unsigned seed)
      : steady(jacobi_on_slow_pods()), iterations(iterations_), random(seed) {
    Curve curve = steady;
    curve.compute = [this](int n) { return pace * split * steady.compute(n); };
    curve.transfer = [this](int n) { return pace * (steady.seconds(n) - split * steady.compute(n)); };
    job.emplace(curve, start, policy(PolicyName::Budget));
    job->progress = 0;
    job->input.goals.budget = budget;
    job->change_cost_seconds = 10;
  }
  void to_the_end() {
    while (done < iterations && seconds < 1e5) window();
  }
  void window() {
    const int workers = job->size();
    deviation = .2 * deviation + std::normal_distribution<>(0, .06)(random);
    drift = .95 * drift + std::normal_distribution<>(0, .016)(random);
    pace = std::max(.8, 1 + deviation + drift);
    split = std::min(1 / share(workers), std::normal_distribution<>(1, .03)(random));
    const bool changes_size = std::exchange(changes, job->changes()) != job->changes();
    const double left = (iterations - done) * job->curve.seconds(workers);
    const double lasts = changes_size ? 10 : std::min(10.0, left);  // a change takes a whole window
    if (!changes_size) done = left <= 10 ? iterations : done + 10 / job->curve.seconds(workers);
    job->progress = std::min(1.0, done / iterations);
    job->input.goals.spent += workers * lasts / 3600;
    worker_seconds += workers * lasts;
    if (job->progress < 1) job->run(Seconds(10));
    seconds += lasts;
  }
  double share(int workers) const { return steady.compute(workers) / steady.seconds(workers); }

  Curve steady;
  double iterations, done = 0, seconds = 0, worker_seconds = 0;
  double deviation = 0, drift = 0, pace = 1, split = 1;
  int changes = 0;
  std::mt19937 random;
  std::optional<SyntheticJob> job;
};

// Neither does one run in ten cost much time, nor any its budget, but by what it became slower at the very
// end.
TEST(Budget, UnsteadyPaceCostsLittleTime) {
  constexpr double kIterations = 1440;
  constexpr unsigned kRuns = 40;
  const Curve curve = jacobi_on_slow_pods();
  for (const int paid : {3, 5, 7}) {
    const double budget = 1.1 * paid * run_time(curve, paid, kIterations) / 3600;
    const double fastest = fastest_paid(curve, budget, kIterations);
    std::vector<double> ratios;
    for (unsigned seed = 1; seed <= kRuns; ++seed) {
      UnsteadyRun run(8, kIterations, budget, seed);
      run.to_the_end();
      ratios.push_back(run.seconds / fastest);
      EXPECT_LE(run.worker_seconds / 3600, 1.02 * budget) << paid << ", seed " << seed;
    }
    std::ranges::sort(ratios);

    EXPECT_LE(ratios[kRuns / 2], 1.07) << paid;
    EXPECT_LE(ratios[kRuns - 4], 1.2) << paid;
  }
}

TEST(Budget, OneThatIsTooSmallIsSaidAtOnceAndRunsOnTheCheapest) {
  const Curve& curve = curves().at("amdahl");
  const WholeRun run = by_budget(.5 * run_time(curve, 1, 3000) / 3600, 4, curve, 3000);
  ASSERT_FALSE(run.at_risk.empty());
  EXPECT_TRUE(run.at_risk.front());
  EXPECT_EQ(run.job.size(), 1);
  EXPECT_THAT(run.job.last.outlook->words, AllOf(HasSubstr("none keeps to the budget of"),
                                                 HasSubstr("the cheapest, it will have cost about")));
}

TEST(Budget, MoreThanEnoughBuysTheFastestAndNoMore) {
  const Curve& curve = curves().at("retrograde");
  const WholeRun run = by_budget(1e6, 1, curve, 3000);
  EXPECT_GE(run.job.size(), 3);
  EXPECT_LE(run.job.size(), 5) << "more would be slower: " << run.job.last.line;
}

}  // namespace
}  // namespace emj
