// SPDX-License-Identifier: Apache-2.0
// Parallel tempering on densities whose moments are known. All draws are by counter and the seeds are fixed:
// the same numbers in every run.
#include "apps/surrogate/sampler/tempering.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "apps/surrogate/sampler/run.hpp"

namespace mcmc {
namespace {

using testing::run;
using testing::Sampled;

void expect_mean(const Sequences& chains, double expected, const char* what) {
  const double error = mcse(chains);
  EXPECT_NEAR(mean(chains), expected, 3 * error) << what << ", MCSE " << error;
}

void expect_converged(const Sampled& r, std::size_t dimensions) {
  for (std::size_t k = 0; k < dimensions; ++k) {
    EXPECT_LT(split_rhat(r.coordinate(k)), 1.01) << "coordinate " << k;
    EXPECT_GT(bulk_ess(r.coordinate(k)), 400) << "coordinate " << k;
  }
  for (std::size_t pair = 0; pair + 1 < r.ensembles[0].chains.size(); ++pair) {
    EXPECT_GT(r.swap_rate(pair), 0.2) << "pair " << pair;
    EXPECT_LT(r.swap_rate(pair), 0.4) << "pair " << pair;
  }
}

double square(double x) { return x * x; }

// Two modes, 16 standard deviations apart; a random walk alone does not get from one to the other.
Target mixture() {
  return {.low = {-8, -8}, .high = {8, 8}, .log_density = [](std::span<const double> x) {
            const double a = square(x[0] + 4) + square(x[1] + 4), b = square(x[0] - 4) + square(x[1] - 4);
            const double s = 2 * 0.49, top = std::min(a, b) / s;
            return std::log(0.3 * std::exp(top - a / s) + 0.7 * std::exp(top - b / s)) - top;
          }};
}

void expect_mixture(SwapRule rule) {
  const Sampled r =
      run(mixture(), {.chains = 4, .burn_in = 5000, .thin = 5, .rule = rule, .seed = 3}, 4, 20000);
  if (rule == SwapRule::Ratio) expect_converged(r, 2);
  const auto right = r.of([](const double* x) { return x[0] + x[1] > 0 ? 1.0 : 0.0; });
  EXPECT_NEAR(mean(right), 0.7, 0.02);
  expect_mean(right, 0.7, "weight of the right mode");
  expect_mean(r.coordinate(0), 1.6, "x");
  expect_mean(r.of([](const double* x) { return x[0] * x[0]; }), 16 + 0.49, "x^2");
  expect_mean(r.of([](const double* x) { return x[0] * x[1]; }), 16, "xy");
}

TEST(Tempering, FindsBothModesOfAMixture) { expect_mixture(SwapRule::Ratio); }
TEST(Tempering, TheRuleOfTheThesisSamplesTheSame) { expect_mixture(SwapRule::Thesis); }

TEST(Tempering, OneChainAloneMissesAMode) {  // what the test above would see if nothing were exchanged
  const Sampled r =
      run(mixture(), {.chains = 1, .burn_in = 5000, .thin = 5, .spread = 0, .seed = 3}, 8, 4000);
  EXPECT_GT(split_rhat(r.coordinate(0)), 1.1);
}

TEST(Tempering, GoesRoundADonut) {
  const double radius = 3, width = 0.25;
  const Target donut{.low = {-5, -5}, .high = {5, 5}, .log_density = [&](std::span<const double> x) {
                       return -square(std::hypot(x[0], x[1]) - radius) / (2 * width * width);
                     }};
  const Sampled r = run(donut, {.chains = 3, .burn_in = 4000, .thin = 8, .seed = 5}, 4, 12000);
  expect_converged(r, 2);
  expect_mean(r.coordinate(0), 0, "x");
  expect_mean(r.coordinate(1), 0, "y");
  const double r1 = (square(radius) + square(width)) / radius;  // of r exp(-(r - R)^2 / 2 s^2)
  const double r2 = square(radius) + 3 * square(width);
  expect_mean(r.of([](const double* x) { return std::hypot(x[0], x[1]); }), r1, "r");
  expect_mean(r.of([](const double* x) { return x[0] * x[0] + x[1] * x[1]; }), r2, "r^2");
}

// R. M. Neal, Ann. Stat. 31 (2003) 705: v normal of deviation 3, and two more of variance exp(v).
TEST(Tempering, GetsDownTheFunnel) {
  const Target funnel{.low = {-3, -3, -3}, .high = {3, 3, 3}, .log_density = [](std::span<const double> x) {
                        return -x[0] * x[0] / 18 - x[0] - (x[1] * x[1] + x[2] * x[2]) * std::exp(-x[0]) / 2;
                      }};
  const Sampled r = run(
      funnel, {.chains = 3, .burn_in = 10000, .thin = 30, .spread = 1.5, .single = 0.6, .seed = 12}, 8, 6000);
  expect_converged(r, 3);
  expect_mean(r.coordinate(0), 0, "v");
  expect_mean(r.of([](const double* x) { return x[0] * x[0]; }), 9, "v^2");
  expect_mean(r.of([](const double* x) { return x[0] < -3 ? 1.0 : 0.0; }), 0.158655, "v < -3");
  expect_mean(r.of([](const double* x) { return x[1] > 0 ? 1.0 : 0.0; }), 0.5, "x > 0");
}

TEST(Tempering, DelayedAcceptanceCorrectsTheApproximation) {
  Target target{.low = {-5, -5}, .high = {5, 5}, .log_density = [](std::span<const double> x) {
                  return -square(x[0] - 0.7) / (2 * 1.7) - square(x[1]) / 1.5;
                }};
  const LogDensity exact = [](std::span<const double> x) { return -(x[0] * x[0] + x[1] * x[1]) / 2; };
  const Settings settings{.chains = 3, .burn_in = 4000, .thin = 4, .seed = 8};
  const Sampled wrong = run(target, settings, 4, 10000);
  EXPECT_GT(mean(wrong.coordinate(0)), 0.6);
  target.exact = exact;
  const Sampled right = run(target, settings, 4, 10000);
  expect_mean(right.coordinate(0), 0, "x");
  expect_mean(right.of([](const double* x) { return x[0] * x[0]; }), 1, "x^2");
  expect_mean(right.of([](const double* x) { return x[1] * x[1]; }), 1, "y^2");
  EXPECT_LT(split_rhat(right.coordinate(0)), 1.01);
  // The exact density is computed for accepted candidates only, and is what the samples carry.
  EXPECT_LT(right.ensembles[0].exact_calls, 0.8 * static_cast<double>(right.ensembles[0].step));
  for (std::size_t at = 0; at < right.samples[0].size(); at += 3)
    ASSERT_NEAR(right.samples[0][at + 2], exact(std::span<const double>(&right.samples[0][at], 2)), 1e-9);
}

TEST(Tempering, GoesOnFromPackedNumbersBitForBit) {
  const Target target = mixture();
  const Settings settings{.chains = 4, .burn_in = 700, .thin = 3};
  std::vector<double> whole, parts;
  Ensemble one = make_ensemble(target, settings, 2);
  advance(target, settings, one, 2000, whole);
  std::vector<double> state = pack(make_ensemble(target, settings, 2));
  long samples = 0;
  for (const long steps : {1, 699, 500, 37, 763}) {
    Ensemble part = unpack(state, 2, 4);
    samples += samples_in(settings, part.step, steps);
    advance(target, settings, part, steps, parts);
    state = pack(part);
    ASSERT_EQ(state.size(), packed_size(2, 4));
  }
  EXPECT_EQ(parts, whole);
  EXPECT_EQ(static_cast<long>(whole.size()), 3 * samples);
  EXPECT_EQ(pack(one), state);
}

TEST(Tempering, AdaptsInBurnInOnly) {
  const Target target = mixture();
  const Settings settings{.chains = 3, .burn_in = 500, .thin = 3};
  std::vector<double> samples;
  Ensemble e = make_ensemble(target, settings, 0);
  advance(target, settings, e, 500, samples);
  EXPECT_TRUE(samples.empty());
  const Ensemble before = e;
  advance(target, settings, e, 500, samples);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(e.chains[c].factor, before.chains[c].factor);
    EXPECT_EQ(e.chains[c].log_scale, before.chains[c].log_scale);
    EXPECT_EQ(e.chains[c].inverse_temperature, before.chains[c].inverse_temperature);
  }
}

TEST(Tempering, RefusesWhatMakesNoSense) {
  Target target = mixture();
  EXPECT_THROW(make_ensemble(target, {.chains = 0}, 0), std::invalid_argument);
  EXPECT_THROW(swap_rule_of("always"), std::invalid_argument);
  EXPECT_THROW(unpack(std::vector<double>(3), 2, 2), std::invalid_argument);
  target.exact = target.log_density;
  EXPECT_THROW(make_ensemble(target, {.rule = SwapRule::Thesis}, 0), std::invalid_argument);
  target.exact = nullptr;
  target.log_density = [](std::span<const double>) { return -INFINITY; };
  EXPECT_THROW(make_ensemble(target, {}, 0), std::runtime_error);
}

}  // namespace
}  // namespace mcmc
