// SPDX-License-Identifier: Apache-2.0
// What policies predict by: the model of iteration times, the cost of a change, the test for phases.

#include "operator/decide/policies/model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "operator/decide/policies/cost.hpp"
#include "operator/decide/policies/phase.hpp"
#include "operator/decide/testing/policy_input.hpp"

namespace emj {
namespace {

using namespace testing_policy;

TEST(Cost, IsFittedFromTheMeasuredChanges) {
  EXPECT_GT(change_cost({}, 4, 8).lost_seconds, 0);
  const std::vector<SizeChange> history{
      {t0, 0, 2, 0, 0, 0}, {t0, 2, 4, 1 + .5 * 2, 0, 4}, {t0, 4, 2, 1, 0, 1}, {t0, 2, 8, 1 + .5 * 6, 0, 8}};
  EXPECT_NEAR(change_cost(history, 8, 16).lost_seconds, 1 + .5 * 8, .3);
  EXPECT_NEAR(change_cost(history, 8, 4).lost_seconds, 1, .3);
  EXPECT_DOUBLE_EQ(change_cost(history, 8, 16).delay_seconds, 6);
  EXPECT_DOUBLE_EQ(change_cost(history, 8, 4).delay_seconds, 1);
}

std::vector<Sample> windows_taking(const std::vector<double>& seconds) {
  std::vector<Sample> windows;
  for (const double s : seconds) {
    windows.push_back(sample_at(t0 + Seconds(10 * windows.size()), Seconds(10), 4, .2));
    windows.back().mean_iteration_seconds = s;
    windows.back().work_units = 0;
  }
  return windows;
}

TEST(Phase, IsFoundWhereItBegins) {
  std::vector<double> seconds(20, 1.0);
  seconds.insert(seconds.end(), 4, 1.3);
  const auto change = detect_phase_change(windows_taking(seconds));
  ASSERT_TRUE(change);
  EXPECT_EQ(change->since, t0 + Seconds(200));
  EXPECT_NEAR(change->before, 1, 1e-12);
  EXPECT_NEAR(change->after, 1.3, 1e-12);
  for (double& s : seconds) s = s > 1 ? 0.7 : 1;
  EXPECT_TRUE(detect_phase_change(windows_taking(seconds)));
}

TEST(Phase, SaysWhichPartHasChanged) {
  std::vector<Sample> windows = windows_taking(std::vector<double>(20, 1.0));
  for (std::size_t i = 0; i < windows.size(); ++i) {  // computing takes twice as long from the 11th on
    windows[i].mean_iteration_seconds = i < 10 ? 1 : 1.6;
    windows[i].communication_efficiency = i < 10 ? .6 : .75;
  }
  const auto change = detect_phase_change(windows);
  ASSERT_TRUE(change);
  EXPECT_NEAR(change->compute, 2, 1e-9);
  EXPECT_NEAR(change->transfer, 1, 1e-9);
  for (Sample& sample : windows) sample.communication_efficiency = .999;
  EXPECT_DOUBLE_EQ(detect_phase_change(windows)->transfer, 1);  // next to nothing
  // A window in which the program stood still, and one that is half of either phase.
  windows[3].mean_iteration_seconds = 25;
  windows[10].mean_iteration_seconds = 1.3;
  for (Sample& sample : windows) sample.communication_efficiency = .6;
  EXPECT_NEAR(detect_phase_change(windows)->compute, 1.6, 1e-9);
}

TEST(Phase, NeitherNoiseNorOneOutlierNorASmallStepIsOne) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<> noise(1, .1);
    std::vector<double> seconds;
    for (int i = 0; i < 360; ++i) seconds.push_back(noise(random));
    EXPECT_FALSE(detect_phase_change(windows_taking(seconds))) << seed;
  }
  std::vector<double> seconds(40, 1.0);
  seconds[30] = 5;
  EXPECT_FALSE(detect_phase_change(windows_taking(seconds)));
  for (std::size_t i = 20; i < 40; ++i) seconds[i] = 1.04;
  EXPECT_FALSE(detect_phase_change(windows_taking(seconds)));
}

TEST(Phase, MoreWorkPerIterationIsNoneWhenItIsReported) {
  std::vector<Sample> windows = windows_taking(std::vector<double>(40, 1.0));
  for (std::size_t i = 0; i < 40; ++i) {
    windows[i].mean_iteration_seconds = 1 + 0.1 * static_cast<double>(i);
    windows[i].iterations = 10;
    windows[i].work_units = 100 * windows[i].mean_iteration_seconds;
  }
  EXPECT_FALSE(detect_phase_change(windows));
}

// --- the model --------------------------------------------------------------------------------------

TEST(Model, FitsItsOwnFormExactly) {
  const auto compute = [](double n) { return .1 + 4 / n; };
  const auto transfer = [](double n) { return .05 * std::log2(n) + .01 * n; };
  std::vector<SizePoint> points;
  for (const int n : {1, 2, 4, 16})
    points.push_back({n, compute(n) + transfer(n), compute(n) / (compute(n) + transfer(n)), .9, 1});
  const TimeModel model(points, 4);
  for (const int n : {3, 8, 12, 32}) EXPECT_NEAR(model.seconds(n), compute(n) + transfer(n), 1e-6) << n;
  EXPECT_EQ(model.largest(), 32);
  EXPECT_EQ(model.smallest(), 1);
}

TEST(Model, PredictsFromOneSizeToTheUnfavourableSide) {
  const TimeModel model({{4, 1.0, .8, .8, 1}}, 4);
  EXPECT_NEAR(model.seconds(8), .8 / 2 + .2 * 2, 1e-12);  // transfers grow in proportion
  EXPECT_NEAR(model.seconds(2), .8 * 2 + .2, 1e-12);      // and do not fall
}

TEST(Model, AnInferredSizeCountsForItselfAndWhatLiesBeyond) {
  const TimeModel model({{2, 1.0, .9, .9, 1}, {8, 4.0, .1, .1, 0}}, 2);
  EXPECT_DOUBLE_EQ(model.seconds(8), 4);
  EXPECT_NEAR(model.seconds(4), 2, 1e-12);                  // halfway along a power of the size
  EXPECT_NEAR(model.seconds(16), .4 / 2 + 3.6 * 2, 1e-12);  // from there
  EXPECT_NEAR(model.seconds(1), .9 * 2 + .1, 1e-12);        // the other way it says nothing
}

TEST(Model, IsRememberedByTheStatus) {
  PolicyState state;
  state.measured = {{1, 98, 1.0, {}, .98, .98, 0, 1}, {2, 70, .7, {}, .5, .49, 0, 2}};
  EXPECT_FALSE(remembered_model(state, 4)) << "not measured";
  const auto model = remembered_model(state, 2);
  ASSERT_TRUE(model);
  EXPECT_TRUE(model->measured(1) && model->measured(2));
  EXPECT_DOUBLE_EQ(model->seconds(2), .7);
  EXPECT_DOUBLE_EQ(model->seconds(1), 1.0);
  state.measured[1].iteration_seconds = 0;  // only its efficiency is known
  EXPECT_FALSE(remembered_model(state, 2));
}

TEST(Model, NonNegativeLeastSquaresLeavesOutWhatWouldBeNegative) {
  const std::vector<double> x = nonnegative_least_squares({{1, 1}, {1, 2}, {1, 3}}, {3, 2, 1});
  ASSERT_EQ(x.size(), 2u);
  EXPECT_NEAR(x[0], 2, 1e-12);
  EXPECT_EQ(x[1], 0);
}

}  // namespace
}  // namespace emj
