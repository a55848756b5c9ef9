// SPDX-License-Identifier: Apache-2.0
// What the data gate and the guards around the policies promise. The clock is the test's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "operator/decide/testing/policy_input.hpp"
#include "operator/decide/testing/running_job.hpp"

namespace emj {
namespace {

using namespace testing_policy;
using testing::HasSubstr;

// --- the data gate ----------------------------------------------------------------------------------

TEST(Gate, AsksForEnoughWindows) {
  const AutoscaleResult result = judge(input_with({.05, .05}));
  EXPECT_EQ(result.verdict, Verdict::Wait);
  EXPECT_THAT(result.line, HasSubstr("insufficient data: 2 of 3 windows"));
  EXPECT_THAT(judge(PolicyInput{}).line, HasSubstr("no samples yet"));
}

TEST(Gate, DropsTheFirstTwoWindowsAfterAChange) {
  PolicyInput input = input_with({.05, .05, .05, .05, .05});
  input.history = {{input.windows[0].start, 2, 4, 0, 0}};
  EXPECT_EQ(judge(input).verdict, Verdict::Scale) << "3 of 5 are left";
  input.history = {{input.windows[0].start + Millis(1), 2, 4, 0, 0}};
  EXPECT_THAT(judge(input).line, HasSubstr("2 of 3 windows"));
}

TEST(Gate, CountsOnlyWindowsOfThePresentSize) {
  PolicyInput input = input_with({.05, .05, .05});
  input.windows[1].workers = 2;
  EXPECT_THAT(judge(input).line, HasSubstr("2 of 3 windows"));
}

TEST(Gate, AsksForEnoughIterationsAndLooksFurtherBackForThem) {
  PolicyInput input = input_with({.05, .05, .05, .05, .05});
  for (Sample& sample : input.windows) sample.iterations = 2;
  EXPECT_EQ(judge(input).verdict, Verdict::Scale) << "5 windows hold 10";
  input.windows.pop_back();
  input.now -= Seconds(10);
  EXPECT_THAT(judge(input).line, HasSubstr("8 iterations, 10 needed"));
}

TEST(Gate, AsksForAKnownIterationTime) {
  PolicyInput input = input_with({.05, .05, .05});
  for (Sample& sample : input.windows) sample.ci_halfwidth = .2, sample.work_units = 0;
  EXPECT_THAT(judge(input).line, HasSubstr("iteration time known to +-11"));
  AutoscalingSpec lenient = quick();
  lenient.max_error_percent = 15;
  EXPECT_EQ(judge(input, lenient).verdict, Verdict::Scale);
}

TEST(Gate, IterationsThatDifferAsTheirWorkDoesAreKnownByTheTimePerUnitOfWork) {
  PolicyInput input = input_with({.05, .05, .05});
  const double work[] = {1e6, 3e6, 2e6};
  for (std::size_t i = 0; i < 3; ++i) {
    Sample& sample = input.windows[i];
    sample.ci_halfwidth = .5;  // within a window they differ, too
    sample.work_units = work[i];
    sample.mean_iteration_seconds = work[i] / 1e7;
  }
  EXPECT_NEAR(relative_error_per_work(input.windows), 0, 1e-12);
  EXPECT_EQ(judge(input).verdict, Verdict::Scale);
  // One window takes half as long again for its work.
  input.windows[2].mean_iteration_seconds *= 1.5;
  // seconds 5, 15, 15 for work 1, 3, 2 (1e6): ratio 35/6; residuals -5/6, -15/6, 20/6; t(2) = 4.303
  EXPECT_NEAR(relative_error_per_work(input.windows), 4.303 * std::sqrt(1.5 * 650 / 36) / 35, 1e-9);
  EXPECT_THAT(judge(input).line, HasSubstr("iteration time known to +-"));
  input.windows[1].work_units = 0;
  EXPECT_EQ(relative_error_per_work(input.windows), 1);
}

TEST(Gate, StaleSamplesDecideNothing) {
  PolicyInput input = input_with({.05, .05, .05});
  input.now += Seconds(100);
  EXPECT_THAT(judge(input).line, HasSubstr("the newest sample is 100.0 s old"));
}

TEST(Gate, PoolsErrorsLikeOneLongWindow) {
  // n windows with the same spread know the mean better by the square root of n.
  const PolicyInput one = input_with({.1});
  const PolicyInput four = input_with({.1, .1, .1, .1});
  const double single = pooled_relative_error(one.windows);
  EXPECT_NEAR(single, .02, .001);
  EXPECT_NEAR(pooled_relative_error(four.windows), single / 2, .0005);
}

// --- guards -----------------------------------------------------------------------------------------

TEST(Guards, AWishMustLastForTheStabilisationWindow) {
  AutoscalingSpec spec = quick();
  spec.scale_up_stabilization = Seconds(60);
  PolicyState state;
  PolicyInput input = input_with({.05, .05, .05});
  const AutoscaleResult first = autoscale(spec, input, state);
  EXPECT_EQ(first.verdict, Verdict::Wait);
  EXPECT_EQ(first.look_again, t0 + Seconds(60));
  const auto later = [&](Seconds by, double mtct) {
    PolicyInput next = input_with({mtct, mtct, mtct});
    for (Sample& sample : next.windows) sample.start += by, sample.end += by;
    next.now += by;
    return autoscale(spec, next, state);
  };
  EXPECT_EQ(later(Seconds(59), .05).verdict, Verdict::Wait);
  EXPECT_EQ(later(Seconds(59), .3).verdict, Verdict::Keep) << "interrupted: the window begins again";
  EXPECT_EQ(later(Seconds(60), .05).verdict, Verdict::Wait);
  EXPECT_EQ(later(Seconds(119), .05).verdict, Verdict::Wait);
  EXPECT_EQ(later(Seconds(120), .05).verdict, Verdict::Scale);
}

TEST(Guards, CoolDownFollowsEveryChange) {
  AutoscalingSpec spec = quick();
  spec.cooldown = Seconds(120);
  PolicyInput input = input_with({.05, .05, .05});
  input.history = {{t0 - Seconds(119), 2, 4, 0, 0}};
  EXPECT_THAT(judge(input, spec).line, HasSubstr("cool-down for another 1 s"));
  input.history[0].time -= Seconds(1);
  EXPECT_EQ(judge(input, spec).verdict, Verdict::Scale);
}

TEST(Guards, TheWayBackIsClosedUnlessTheLoadHasChanged) {
  AutoscalingSpec spec = quick();
  spec.cooldown = Seconds(100);
  PolicyInput input = input_with({.8, .8, .8});  // wants 4 -> 2
  const double work = 1e6 / 50;
  input.history = {{t0 - Seconds(200), 2, 4, 0, work}};
  EXPECT_THAT(judge(input, spec).line, HasSubstr("would undo 2 -> 4 workers"));
  input.history[0].work_per_iteration = work * 2;
  EXPECT_EQ(judge(input, spec).verdict, Verdict::Scale) << "another load";
  input.history[0] = {t0 - Seconds(300), 2, 4, 0, work};
  EXPECT_EQ(judge(input, spec).verdict, Verdict::Scale) << "three rounds are over";
  input.history[0] = {t0 - Seconds(200), 8, 4, 0, work};
  EXPECT_EQ(judge(input, spec).verdict, Verdict::Scale) << "further the same way";
}

TEST(Guards, GrowthMustPromiseAGain) {
  AutoscalingSpec spec = quick();
  spec.policy.threshold = {45, 250, 10};
  spec.min_expected_gain_percent = 5;
  // One-point predictor: (1/2 + 2 m) / (1 + m) at m = .4 is .93: 7 % gained; at m = .38 it would be 8.7 %.
  EXPECT_EQ(judge(input_with({.39, .39, .39}), spec).verdict, Verdict::Scale);
  spec.min_expected_gain_percent = 10;
  EXPECT_THAT(judge(input_with({.39, .39, .39}), spec).line, HasSubstr("expected gain 7.9 %, 10 % needed"));
}

TEST(Modes, RecommendPublishesAndOffIsSilent) {
  AutoscalingSpec spec = quick();
  spec.mode = AutoscalingMode::Recommend;
  EXPECT_EQ(judge(input_with({.05, .05, .05}), spec).verdict, Verdict::Recommend);
  spec.mode = AutoscalingMode::Off;
  EXPECT_EQ(judge(input_with({.05, .05, .05}), spec).verdict, Verdict::Keep);
  spec = quick();
  spec.policy.name = PolicyName::Manual;
  EXPECT_EQ(judge(input_with({.05, .05, .05}), spec).verdict, Verdict::Keep);
}

}  // namespace

// The limits were changed between the decision and its write: admission refuses it, each time.
TEST(Autoscaling, ASizeThatTheServerRefusesIsGivenUp) {
  using testing_world::World;
  World world = testing_world::started(2, "  autoscaling: {mode: Auto, policy: {name: threshold}}\n");
  world.job.status.policy_state.written_replicas = 4;
  world.reconcile();
  ASSERT_TRUE(world.did<WriteScale>()) << "not arrived yet: repeated";
  world.job.spec.worker.replicas = 2;
  world.job.status.policy_state.written_replicas = 4;
  world.scale_problem = "replicas must lie within minReplicas to maxReplicas";
  world.reconcile();
  EXPECT_FALSE(world.did<WriteScale>());
  EXPECT_FALSE(world.status().policy_state.written_replicas);
  ASSERT_FALSE(world.status().decisions.empty());
  EXPECT_NE(world.status().decisions.back().reason.find("must lie within"), std::string::npos);
}

}  // namespace emj
