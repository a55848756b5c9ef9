// SPDX-License-Identifier: Apache-2.0
// Policy efficiency on jobs whose best size is known.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "operator/api/parse.hpp"
#include "operator/decide/testing/curves.hpp"

namespace emj {
namespace {

using namespace testing_policy;
using testing::HasSubstr;

struct Case {
  std::string curve;
  int start;
  double jitter;
  int step;  // 0: Factor2
};

class Settles : public testing::TestWithParam<Case> {};

TEST_P(Settles, WithinAStepOfTheBestSizeAndStaysThere) {
  const auto& [name, start, jitter, step] = GetParam();
  const Curve& curve = curves().at(name);
  const BestSizes best = best_sizes(curve, 1, curve.most);
  for (unsigned seed = 1; seed <= (jitter > 0 ? 2u : 1u); ++seed) {
    SyntheticJob job(curve, start, by_efficiency(), jitter, seed);
    job.input.step.workers = step;
    job.run(Seconds(3600));
    const int found = job.size();
    const std::string history = testing::PrintToString(job.sizes) + " best " + std::to_string(best.smallest) +
                                " to " + std::to_string(best.fastest) + ": " + job.last.line;
    if (step == 0)
      EXPECT_TRUE(found <= 2 * best.fastest && 2 * found >= best.smallest) << history;
    else
      EXPECT_TRUE(found <= best.fastest + step && found >= best.smallest - step) << history;
    EXPECT_LE(curve.seconds(found), 1.15 * curve.seconds(best.fastest)) << history;
    // No way there and back and there again: at most one overshoot that is taken back.
    EXPECT_LE(job.changes(), (step == 0 ? 4 : 15 / step) + 1) << history;
    const int changes = job.changes();
    job.run(Seconds(3600));
    EXPECT_LE(job.changes(), changes) << "no rest: " << testing::PrintToString(job.sizes) << job.last.line;
    EXPECT_EQ(job.state.search, SearchState::Stable) << job.last.line;
    EXPECT_THAT(job.last.line, HasSubstr("stay at"));
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& [name, curve] : curves())
    for (const int start :
         name.starts_with("measured") ? std::vector{1, 2, 3, 4, 5, 6, 7, 8} : std::vector{1, 4, 16})
      for (const double jitter : {0.0, 0.1})
        for (const int step : {0, 2}) all.push_back({name, start, jitter, step});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Efficiency, Settles, testing::ValuesIn(cases()), [](const auto& info) {
  const Case& c = info.param;
  return c.curve + "_from_" + std::to_string(c.start) + (c.jitter > 0 ? "_noisy" : "") +
         (c.step ? "_by_2" : "");
});

// --- words ----------------------------------------------------------------------------------------

TEST(Efficiency, SaysWhyItStopped) {
  SyntheticJob job(curves().at("spe10"), 16, by_efficiency());
  job.run(Seconds(3600));
  EXPECT_EQ(job.size(), 2);
  EXPECT_THAT(job.last.line,
              testing::AllOf(HasSubstr("efficiency: an iteration takes 700 ms at 70 % efficiency"),
                             HasSubstr("4 would take 1.65 s (measured)"),
                             HasSubstr("1 would take 1 s (predicted)"), HasSubstr("stay at 2")));
}

TEST(Efficiency, PredictsBeforeAChangeAndIsMeasuredAgainstIt) {
  SyntheticJob job(curves().at("compute_bound"), 4, by_efficiency());
  while (job.last.verdict != Verdict::Scale) job.run(Seconds(10));
  EXPECT_EQ(job.last.wanted, 8);
  EXPECT_NEAR(*job.last.measured_seconds, job.curve.seconds(4), 1e-9);
  EXPECT_NEAR(*job.last.predicted_seconds, job.curve.seconds(8), 0.01 * job.curve.seconds(8));
}

// --- what is no reason to change -------------------------------------------------------------------

TEST(Efficiency, JitterAloneMakesAtMostOneChangeAnHour) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    // Between two sizes of about the same merit.
    SyntheticJob job({[](int n) { return 1.0 / n; }, [](int n) { return 0.02 * n; }}, 8, by_efficiency(), .1,
                     seed);
    for (int hour = 0; hour < 4; ++hour) {
      const int before = job.changes();
      job.run(Seconds(3600));
      EXPECT_LE(job.changes() - before, 1) << "seed " << seed << ", hour " << hour << job.last.line;
    }
  }
}

TEST(Efficiency, AnImbalancedJobIsToBeRebalancedNotShrunk) {
  // One rank has four times the work of the others: they wait for it.
  Curve curve{[](int n) { return 2.0 / n; }, [](int) { return 0.01; }, [](int) { return 0.3; }};
  SyntheticJob job(curve, 8, by_efficiency());
  job.run(Seconds(3600));
  EXPECT_EQ(job.sizes.front(), 8);
  EXPECT_GE(*std::min_element(job.sizes.begin(), job.sizes.end()), 8) << job.last.line;
  EXPECT_TRUE(job.last.rebalance) << job.last.line;
  EXPECT_EQ(job.last.verdict, Verdict::Keep);
  EXPECT_THAT(job.last.line, HasSubstr("that helps, fewer workers do not"));
}

TEST(Efficiency, CommunicationIsNotTakenForImbalance) {
  Curve curve{[](int n) { return 0.2 / n; }, [](int n) { return 0.1 * n; }, [](int) { return 0.7; }};
  SyntheticJob job(curve, 8, by_efficiency());
  job.run(Seconds(3600));
  EXPECT_LE(job.size(), 2) << job.last.line;
}

TEST(Efficiency, ImbalanceDoesNotHideCommunicationThatIsTooMuchAlone) {
  // On 8 it waits for the busiest rank most of all, but even evenly shared out it would communicate more than
  // it computes; on 2 it would not.
  Curve curve{[](int n) { return 2.4 / n; }, [](int n) { return .0875 * n; }, [](int) { return 0.2; }};
  SyntheticJob job(curve, 8, by_efficiency());
  job.run(Seconds(3600));
  EXPECT_EQ(job.size(), 2) << job.last.line;
  EXPECT_TRUE(job.last.rebalance) << job.last.line;
}

// On 2 workers, used to 44 %: one rank waits half of the time for the other.
PolicyInput waiting_for_one() {
  PolicyInput input = input_with(std::vector<double>(8, 1 / .44 - 1), 2);
  for (Sample& sample : input.windows) {
    sample.load_balance = .55, sample.communication_efficiency = .8;
    sample.mean_iteration_seconds = .35, sample.work_units = 0;
  }
  input.history = {{t0 - Seconds(600), 4, 2, 0, 0, 0}};
  return input;
}

MeasuredSize on_four(double compute, double load_balance) {
  return {4, 20, compute / .7, t0 - Seconds(700), compute, load_balance * compute, 0, 0};
}

TEST(Efficiency, APartThatIsNotDividedIsNotToBeRebalanced) {
  AutoscalingSpec spec = by_efficiency();
  spec.cooldown = spec.scale_down_stabilization = Seconds(0);
  spec.policy.efficiency.regret_percent = 0;
  PolicyState state;
  state.measured = {on_four(.14, .55)};  // divided, but unevenly: on 4 the busiest rank computes half as long
  AutoscaleResult result = autoscale(spec, waiting_for_one(), state);
  EXPECT_TRUE(result.rebalance) << result.line;
  state = {};
  state.measured = {on_four(.28, .28)};  // one rank solves for all: on 4 it computes as long
  result = autoscale(spec, waiting_for_one(), state);
  EXPECT_EQ(result.verdict, Verdict::Scale) << result.line;
  EXPECT_EQ(result.wanted, 1);
  EXPECT_THAT(result.line, HasSubstr("computes as long as it did on 4"));
}

TEST(Efficiency, MissingSamplesDecideNothing) {
  SyntheticJob job(curves().at("compute_bound"), 4, by_efficiency());
  job.run(Seconds(30));
  job.measuring = false;
  job.run(Seconds(3600));
  EXPECT_EQ(job.changes(), 0);
  EXPECT_THAT(job.last.line, HasSubstr("insufficient data"));
  SyntheticJob blind(curves().at("compute_bound"), 4, by_efficiency());
  blind.measuring = false;
  blind.run(Seconds(600));
  EXPECT_EQ(blind.changes(), 0);
}

TEST(Efficiency, WindowsOfTheOldSizeAndOfTheChangeAreNotMeasured) {
  // The windows after a change are three times too slow in the model: they would send the job back.
  SyntheticJob job(curves().at("compute_bound"), 4, by_efficiency());
  job.run(Seconds(3600));
  EXPECT_THAT(job.sizes, testing::ElementsAre(4, 8, 16));
  for (const MeasuredSize& point : job.state.measured)
    EXPECT_NEAR(point.iteration_seconds, job.curve.seconds(point.workers), 1e-9) << point.workers;
}

TEST(Efficiency, ASizeIsRememberedByMoreThanItsFirstWindows) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    SyntheticJob job(curves().at("compute_bound"), 16, by_efficiency(), .1, seed);
    job.run(Seconds(3600));
    ASSERT_EQ(job.state.measured.size(), 1u);
    // The mean of 30 windows of which each is off by 10 % at most; of the first alone by up to that.
    EXPECT_NEAR(job.state.measured[0].iteration_seconds / job.curve.seconds(16), 1, .03) << "seed " << seed;
  }
}

TEST(Efficiency, IterationsLongerThanAWindowAreMeasured) {
  PolicyInput input = input_with(std::vector<double>(12, 9.0), 8);
  for (std::size_t i = 0; i < 12; ++i) {
    Sample& sample = input.windows[i];
    sample.iterations = i % 3 == 2;  // one in 30 s
    sample.mean_iteration_seconds = i % 3 == 2 ? 30 + static_cast<double>(i) / 10 : 0;
    sample.ci_halfwidth = 1;
    sample.work_units = 0;
  }
  AutoscalingSpec spec = by_efficiency();
  spec.min_iterations = 4;
  const AutoscaleResult result = judge(input, spec);
  EXPECT_THAT(result.line, HasSubstr("an iteration takes 30.6 s at 10 % efficiency")) << result.line;
  EXPECT_EQ(result.wanted, 8);
  EXPECT_THAT(result.line, HasSubstr("8 -> 4 workers, not yet"));
}

// Iterations of 40 s in windows of 10, of which the program uses next to nothing.
PolicyInput wasteful() {
  PolicyInput input = input_with({40, 45, 38, 41, 44, 39, 42}, 8);
  input.history = {{t0 - Seconds(600), 0, 8, 0, 0}};
  for (std::size_t i = 0; i < input.windows.size(); ++i) {
    Sample& sample = input.windows[i];
    sample.iterations = i % 4 == 1;
    sample.mean_iteration_seconds = i % 4 == 1 ? 40 : 0;
    sample.ci_halfwidth = 1;
    sample.work_units = 0;
  }
  return input;
}

TEST(Efficiency, ShrinksWhatWastesNearlyAllWithoutWaitingForIterationTimes) {
  AutoscalingSpec spec = by_efficiency();
  spec.cooldown = spec.scale_down_stabilization = Seconds(0);
  spec.policy.efficiency.regret_percent = 0;
  AutoscaleResult result = judge(wasteful(), spec);
  EXPECT_EQ(result.verdict, Verdict::Scale) << result.line;
  EXPECT_EQ(result.wanted, 4);
  EXPECT_THAT(result.line, HasSubstr("2 % efficiency over 5 windows"));
  EXPECT_THAT(result.line, HasSubstr("plain before iteration times are known"));
  EXPECT_FALSE(result.measured_seconds || result.predicted_seconds);
  // With the usual guards not at once.
  EXPECT_THAT(judge(wasteful(), by_efficiency()).line, HasSubstr("not yet: "));
}

TEST(Efficiency, RemembersHowUnevenlyASizeWasUsedThatIsLeftEarly) {
  AutoscalingSpec spec = by_efficiency();
  PolicyInput input = wasteful();
  for (Sample& sample : input.windows) sample.load_balance = .2, sample.communication_efficiency = .12;
  PolicyState state;
  autoscale(spec, input, state);
  ASSERT_EQ(state.measured.size(), 1u);
  EXPECT_EQ(state.measured[0].workers, 8);
  EXPECT_EQ(state.measured[0].iteration_seconds, 0);
  EXPECT_TRUE(computing_as_long(4, .4, state.measured));
  EXPECT_FALSE(computing_as_long(4, .2, state.measured));
  // 4 takes 65 ms; what is useful there keeps 8 workers busy for 2 % of a time of 1.04 s. In between along a
  // power.
  PolicyInput fewer = input_with(std::vector<double>(8, .3), 4);
  EXPECT_THAT(autoscale(spec, fewer, state).line,
              HasSubstr("8 would take 1.04 s (by its efficiency) at 2 % efficiency"));
  // And it gives way to a measurement.
  for (Sample& sample : input.windows)
    sample.iterations = 20, sample.mean_iteration_seconds = .5, sample.ci_halfwidth = .01;
  autoscale(spec, input, state);
  ASSERT_EQ(state.measured.size(), 2u);
  EXPECT_GT(state.measured.back().iteration_seconds, 0);
}

TEST(Efficiency, DoesNotGoBackToASizeThatItLeftEarly) {
  PolicyInput input = input_with(std::vector<double>(8, .1), 2);  // 91 % efficiency
  input.allowed = {1, 2, 4, 8};
  PolicyState state;
  EXPECT_THAT(judge(input, by_efficiency()).line, HasSubstr("2 -> 4 workers"));
  state.measured = {{4, 13, 0, t0, .14, .13, 0, 1}};
  const AutoscaleResult result = autoscale(by_efficiency(), input, state);
  EXPECT_EQ(result.wanted, 2) << result.line;
  // 2 x 110 ms x 91 % = 4 x 385 ms x 13 %.
  EXPECT_THAT(result.line, HasSubstr("4 would take 385 ms (by its efficiency) at 13 % efficiency"));
}

TEST(Efficiency, TheFirstIterationCountsWhereTheProgramSaysThatItHasBegun) {
  AutoscalingSpec spec = by_efficiency();
  spec.cooldown = spec.scale_down_stabilization = Seconds(0);
  spec.policy.efficiency.regret_percent = 0;
  PolicyInput input = wasteful();
  input.windows[1].iterations = 0;  // one iteration ends, in the sixth window
  EXPECT_EQ(judge(input, spec).verdict, Verdict::Wait);
  for (Sample& sample : input.windows) sample.progress = 0;
  EXPECT_EQ(judge(input, spec).verdict, Verdict::Scale) << judge(input, spec).line;
}

TEST(Efficiency, WaitsForIterationTimesWhereTheyCouldChangeTheVerdict) {
  AutoscalingSpec spec = by_efficiency();
  spec.cooldown = spec.scale_down_stabilization = Seconds(0);
  const auto waits = [&](const PolicyInput& input, const char* what) {
    const AutoscaleResult result = judge(input, spec);
    EXPECT_EQ(result.verdict, Verdict::Wait) << what << ": " << result.line;
    EXPECT_THAT(result.line, HasSubstr("insufficient data")) << what;
  };
  PolicyInput input = wasteful();
  for (Sample& sample : input.windows) sample.iterations = 0;
  waits(input, "the program may still be reading its input");
  input = wasteful();
  input.windows[5].iterations = 0;
  waits(input, "not one whole iteration, perhaps only its part that communicates");
  input = wasteful();
  for (const std::size_t i : {2u, 4u, 6u}) input.windows[i].parallel_efficiency = .5;
  waits(input, "efficiency differs from window to window");
  input = wasteful();
  for (Sample& sample : input.windows) sample.load_balance = .02, sample.communication_efficiency = .99;
  waits(input, "imbalance");
  input = wasteful();
  input.min = 8;
  waits(input, "nothing smaller is allowed");
  spec.policy.efficiency.min_efficiency_percent = 1;
  waits(wasteful(), "time at any price");
}

TEST(Efficiency, LeavesMasterWorkerProgramsAlone) {
  SyntheticJob job(curves().at("compute_bound"), 4, by_efficiency());
  job.run(Seconds(60));
  job.input.windows.back().tasks.total = 100;
  EXPECT_THAT(autoscale(job.spec, job.input, job.state).line, HasSubstr("policy tasks"));
}

TEST(Efficiency, AnOperatorRestartForgetsNothing) {
  SyntheticJob kept(curves().at("retrograde"), 16, by_efficiency(), .05), restarted = kept;
  for (int i = 0; i < 360; ++i) {
    kept.run(Seconds(10));
    restarted.run(Seconds(10));
    JobStatus status;
    status.policy_state = restarted.state;
    const Result<JobStatus> back = parse_status(status_to_json(status));
    ASSERT_TRUE(back.ok()) << back.message();
    restarted.state = back.value().policy_state;
    ASSERT_EQ(restarted.last.line, kept.last.line);
  }
  EXPECT_GE(kept.changes(), 2);
  EXPECT_GE(kept.state.measured.size(), 3u);
}

// --- cost -------------------------------------------------------------------------------------------

TEST(Efficiency, WaitsUntilTheRegretReachesTheCost) {
  // 8 workers are 8 % faster than 4 here, and a change costs a minute: 60 / .08 = 750 s to wait.
  Curve curve{[](int n) { return 1.0 / n; }, [](int n) { return n > 4 ? .105 : 0.0; }};
  AutoscalingSpec spec = by_efficiency();
  spec.policy.efficiency.min_efficiency_percent = 30;
  SyntheticJob job(curve, 4, spec);
  job.curve.transfer = [](int n) { return .02 * n; };
  job.input.history.push_back({t0, 2, 4, 60, 0, 5});
  job.run(Seconds(100));
  EXPECT_THAT(job.last.line, testing::AnyOf(HasSubstr("cool-down"), HasSubstr("a change pays from")));
  SyntheticJob cheap = job;
  cheap.input.history.back().cost_seconds = 0.1;
  cheap.run(Seconds(100));
  job.run(Seconds(100));
  EXPECT_EQ(cheap.changes(), 1) << cheap.last.line;
  EXPECT_EQ(job.changes(), 0) << job.last.line;
}

TEST(Efficiency, DoesNotChangeWhatIsAboutToEnd) {
  // Twice as fast on 8, but a change costs a minute and there are less than two left.
  for (const double left : {100.0, 1000.0}) {
    SyntheticJob job(curves().at("compute_bound"), 4, by_efficiency());
    job.input.history.push_back({t0 - Seconds(1000), 2, 4, 60, 0, 5});
    for (int i = 1; i <= 4; ++i) {
      job.progress = 1 - (left + 40 - 10 * i) / 10000;
      job.run(Seconds(10));
    }
    EXPECT_EQ(job.last.line.find("would not pay in the 100 s that are left") != std::string::npos,
              left == 100)
        << job.last.line;
  }
}

}  // namespace
}  // namespace emj
