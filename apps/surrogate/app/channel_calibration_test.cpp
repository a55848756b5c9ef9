// SPDX-License-Identifier: Apache-2.0
// Promise: the whole channel, four obstacles and all defaults, is calibrated. A minute: ./dev test long.
#include <gtest/gtest.h>

#include <algorithm>

#include "apps/surrogate/app/options.hpp"
#include "apps/surrogate/app/testing/calibration.hpp"

namespace surrogate {
namespace {

TEST(ChannelCalibration, FourObstaclesAtTheDefaults) {
  const Options options;
  Settings settings = options.settings;
  settings.sampler.swap_every = 5;
  const auto chi2 = test::chi_squared_of_ranks({.problem = channel_problem(options),
                                                .settings = settings,
                                                .noise = 0.1,
                                                .assumed = 0.1,
                                                .simulations = 128,
                                                .burn_in = 4000,
                                                .thin = 300});
  for (const double each : chi2) EXPECT_LT(each, test::kQuantile9999);
}

}  // namespace
}  // namespace surrogate
