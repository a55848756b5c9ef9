// SPDX-License-Identifier: Apache-2.0
// Simulation-based calibration (S. Talts et al., arXiv:1804.06788): of parameters drawn from the prior and
// data drawn for them, the rank of the parameters among the posterior's samples is uniform if, and only if,
// posterior and sampler are right.
#include <gtest/gtest.h>

#include <cmath>

#include "apps/surrogate/sampler/random.hpp"
#include "apps/surrogate/sampler/run.hpp"
#include "apps/surrogate/sampler/testing/chi_squared.hpp"

namespace mcmc {
namespace {

constexpr int kSimulations = 320, kSamples = 63, kBins = 16, kParameters = 2;
// The quantile .9999 of chi^2 with 15 degrees of freedom.
constexpr double kBound = 44.26;

std::vector<double> model(std::span<const double> x) {
  return {x[0] + 0.5 * x[1] * x[1], std::sin(2 * x[1]) + 0.3 * x[0], x[0] * x[1]};
}

// chi^2 of the ranks in kBins bins, for each parameter. assumed: the noise that the posterior believes in.
std::vector<double> chi_squared(double noise, double assumed) {
  std::vector<std::vector<int>> counts(kParameters, std::vector<int>(kBins));
  for (std::uint32_t n = 0; n < kSimulations; ++n) {
    Draws draws(77, 900, n, 0);
    const std::vector<double> truth = {draws.uniform(), draws.uniform()};
    std::vector<double> data = model(truth);
    for (double& y : data) y += noise * draws.normal();
    const Target posterior{.low = {0, 0}, .high = {1, 1}, .log_density = [&](std::span<const double> x) {
                             if (x[0] < 0 || x[0] > 1 || x[1] < 0 || x[1] > 1) return -HUGE_VAL;
                             const std::vector<double> y = model(x);
                             double sum = 0;
                             for (std::size_t k = 0; k < y.size(); ++k)
                               sum += (y[k] - data[k]) * (y[k] - data[k]);
                             return -sum / (2 * assumed * assumed);
                           }};
    const Settings settings{.chains = 3, .burn_in = 500, .thin = 40, .seed = n};
    const auto r = testing::run(posterior, settings, 1, kSamples);
    for (std::size_t k = 0; k < kParameters; ++k) {
      int rank = 0;
      for (int s = 0; s < kSamples; ++s)
        rank += r.samples[0][static_cast<std::size_t>(s) * (kParameters + 1) + k] < truth[k] ? 1 : 0;
      ++counts[k][static_cast<std::size_t>(rank * kBins / (kSamples + 1))];
    }
  }
  return mcmc::testing::chi_squared(counts, static_cast<double>(kSimulations) / kBins);
}

TEST(Calibration, RanksOfTheTruthAreUniform) {
  for (const double chi2 : chi_squared(0.1, 0.1)) EXPECT_LT(chi2, kBound);
}

TEST(Calibration, SeesAPosteriorThatIsTooSure) {
  for (const double chi2 : chi_squared(0.1, 0.05)) EXPECT_GT(chi2, kBound);
}

}  // namespace
}  // namespace mcmc
