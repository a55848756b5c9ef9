// SPDX-License-Identifier: Apache-2.0
// For tests: simulation-based calibration (sampler/calibration_test.cpp) of all that lies between
// measurements and samples: surrogate, its error, likelihood, prior, sampler.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "apps/surrogate/app/inversion.hpp"
#include "apps/surrogate/app/testing/run_through.hpp"
#include "apps/surrogate/sampler/random.hpp"
#include "apps/surrogate/sampler/testing/chi_squared.hpp"

namespace surrogate::test {

struct Calibration {
  Problem problem;                ///< its truths are drawn
  Settings settings;              ///< by which the surrogate is built, once
  double noise = 0, assumed = 0;  ///< of the measurements, and what the posterior believes of it
  int simulations = 256;
  std::int64_t burn_in = 600, thin = 40;  ///< of the chains
};

constexpr int kBins = 16;
constexpr double kQuantile9999 = 44.26;  // of chi^2 with kBins - 1 degrees of freedom

// What was computed is not computed again.
inline void remember(Problem& problem) {
  using Key = std::vector<double>;
  problem.model = [model = problem.model, known = std::make_shared<std::map<Key, Key>>()](
                      std::span<const double> x, std::span<double> y) {
    auto [at, is_new] = known->try_emplace(Key(x.begin(), x.end()), y.size());
    if (is_new) model(x, at->second);
    std::ranges::copy(at->second, y.begin());
  };
}

/// chi^2 of the truths' ranks among the samples in kBins bins, for each parameter: below kQuantile9999 of a
/// posterior that is right.
inline std::vector<double> chi_squared_of_ranks(Calibration of) {
  constexpr int kSamples = 63;
  remember(of.problem);
  of.problem.observed.assign(static_cast<std::size_t>(of.problem.outputs), 0);
  of.problem.noise = of.assumed;
  Inversion built(of.problem, of.settings);
  while (built.state().stage != Stage::Sample) run_phase(built);
  Settings settings = of.settings;
  settings.ensembles = 1;
  settings.samples = kSamples;
  settings.tolerance = 1;  // the grid is taken as it is
  settings.sampler.chains = 3;
  settings.sampler.burn_in = of.burn_in;
  settings.sampler.thin = of.thin;
  const std::size_t d = of.problem.parameters.size();
  std::vector<std::vector<int>> counts(d, std::vector<int>(kBins));
  for (std::uint32_t n = 0; n < static_cast<std::uint32_t>(of.simulations); ++n) {
    mcmc::Draws draws(31, 900, n, 0);
    Problem problem = of.problem;
    std::vector<double> truth(d);
    for (double& unit : truth) unit = draws.uniform();
    std::vector<double> parameters(d);
    for (std::size_t k = 0; k < d; ++k) {
      const Parameter& p = problem.parameters[k];
      parameters[k] = p.low + (p.high - p.low) * truth[k];
    }
    problem.model(parameters, problem.observed);
    for (double& y : problem.observed) y += of.noise * draws.normal();
    settings.sampler.seed = n;
    Inversion inversion(problem, settings, built.grid());
    run_through(inversion);
    const std::vector<double> rows = inversion.samples()[0];
    for (std::size_t k = 0; k < d; ++k) {
      int rank = 0;
      for (std::size_t at = 0; at < rows.size(); at += d + 1) rank += rows[at + k] < truth[k] ? 1 : 0;
      ++counts[k][static_cast<std::size_t>(rank * kBins / (kSamples + 1))];
    }
  }
  return mcmc::testing::chi_squared(counts, static_cast<double>(of.simulations) / kBins);
}

}  // namespace surrogate::test
