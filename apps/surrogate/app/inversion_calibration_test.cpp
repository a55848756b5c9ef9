// SPDX-License-Identifier: Apache-2.0
// Promise: of parameters from the prior and measurements made for them, the posterior is right, at the
// surrogate's and the noise's defaults as with a surrogate that is coarse. It would not be without the
// surrogate's error in the likelihood.
#include <gtest/gtest.h>

#include <algorithm>

#include "apps/surrogate/app/options.hpp"
#include "apps/surrogate/app/testing/calibration.hpp"
#include "apps/surrogate/app/testing/oscillator.hpp"

namespace surrogate {
namespace {

using test::Calibration;
using test::chi_squared_of_ranks;
using test::kQuantile9999;

double largest(const std::vector<double>& values) { return *std::ranges::max_element(values); }
double least(const std::vector<double>& values) { return *std::ranges::min_element(values); }

Calibration oscillator(double noise, double assumed) {
  Settings settings;
  settings.reference_points = 50;
  settings.tolerance = 2e-3;
  return {.problem = test::oscillator(), .settings = settings, .noise = noise, .assumed = assumed};
}

TEST(InversionCalibration, ThePosteriorIsCalibrated) {
  EXPECT_LT(largest(chi_squared_of_ranks(oscillator(0.2, 0.2))), kQuantile9999);
}

TEST(InversionCalibration, APosteriorThatIsTooSureIsNot) {
  EXPECT_GT(least(chi_squared_of_ranks(oscillator(0.2, 0.1))), kQuantile9999);
}

// One obstacle of the channel, with the noise that is the default (10 % of the measurements' mean, which is
// about 1 m/s).
Calibration channel(double tolerance, double noise) {
  Options options;
  options.channel.obstacles.resize(1);
  options.channel.cells_across = 10;
  options.truth.resize(2);
  Settings settings;
  settings.reference_points = 100;
  settings.tolerance = tolerance;
  return {.problem = channel_problem(options), .settings = settings, .noise = noise, .assumed = noise};
}

TEST(InversionCalibration, TheChannelIsCalibratedAtTheDefaults) {
  EXPECT_LT(largest(chi_squared_of_ranks(channel(Settings().tolerance, 0.1))), kQuantile9999);
}

// The regular grid alone, whose error is as large as this noise. Found: chi^2 of 20 and 10, without its error
// 1067 and 1507. (With the variance of each output instead of the covariance: 49 and 522; and 78 in the test
// above.)
TEST(InversionCalibration, ACoarseSurrogateIsCalibratedByItsError) {
  Calibration coarse = channel(1, 0.02);
  coarse.settings.level = 2;
  coarse.simulations = 160;
  const std::vector<double> with = chi_squared_of_ranks(coarse);
  EXPECT_LT(largest(with), kQuantile9999);
  coarse.settings.surrogate_error = false;
  const std::vector<double> without = chi_squared_of_ranks(coarse);
  EXPECT_GT(least(without), 2 * kQuantile9999);
}

}  // namespace
}  // namespace surrogate
