// SPDX-License-Identifier: Apache-2.0
// Diagnostics of sequences whose properties are known.
#include "apps/surrogate/sampler/diagnostics.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "apps/surrogate/sampler/random.hpp"

namespace mcmc {
namespace {

// Autoregressive: correlation rho^lag, so n (1 - rho) / (1 + rho) effective samples.
Sequences autoregressive(double rho, int chains, int length, double shift = 0) {
  Sequences result;
  for (int c = 0; c < chains; ++c) {
    Draws draws(4, 0, static_cast<std::uint32_t>(c), 0);
    std::vector<double> chain;
    double x = draws.normal();
    for (int k = 0; k < length; ++k) {
      chain.push_back(x + shift * c);
      x = rho * x + std::sqrt(1 - rho * rho) * draws.normal();
    }
    result.push_back(chain);
  }
  return result;
}

TEST(Diagnostics, CountEffectiveSamples) {
  for (const double rho : {0.0, 0.5, 0.9}) {
    const auto chains = autoregressive(rho, 4, 10000);
    const double expected = 40000 * (1 - rho) / (1 + rho);
    EXPECT_NEAR(mean_ess(chains) / expected, 1, 0.1) << rho;
    EXPECT_NEAR(bulk_ess(chains) / expected, 1, 0.1) << rho;
    EXPECT_NEAR(mcse(chains), 1 / std::sqrt(expected), 0.1 / std::sqrt(expected)) << rho;
    EXPECT_LT(std::abs(mean(chains)), 4 * mcse(chains));
    EXPECT_LT(split_rhat(chains), 1.01);
  }
}

TEST(Diagnostics, SeeChainsThatDoNotAgree) {
  EXPECT_GT(split_rhat(autoregressive(0.3, 4, 2000, 0.3)), 1.03);  // in their place
  Sequences wide = autoregressive(0, 4, 2000);
  for (double& x : wide[0]) x *= 3;
  EXPECT_GT(split_rhat(wide), 1.05);  // in their width
  Sequences drifting = autoregressive(0, 4, 2000);
  for (auto& chain : drifting)
    for (std::size_t k = 0; k < chain.size(); ++k) chain[k] += 0.001 * static_cast<double>(k);
  EXPECT_GT(split_rhat(drifting), 1.05);  // in time
}

TEST(Diagnostics, Quantiles) {
  const Sequences chains = {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}};
  EXPECT_DOUBLE_EQ(quantile(chains, 0), 0);
  EXPECT_DOUBLE_EQ(quantile(chains, 0.5), 7.5);
  EXPECT_DOUBLE_EQ(quantile(chains, 1), 15);
  EXPECT_DOUBLE_EQ(mean(chains), 7.5);
}

// Known answers of Philox 4x32-10 (Random123's kat_vectors: counter and key all ones).
TEST(Draws, ArePhilox) {
  const r123::Philox4x32::ctr_type counter{{0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu}};
  const r123::Philox4x32::key_type key{{0xffffffffu, 0xffffffffu}};
  const auto words = r123::Philox4x32()(counter, key);
  EXPECT_EQ(words[0], 0x408f276du);
  EXPECT_EQ(words[1], 0x41c83b0eu);
  EXPECT_EQ(words[2], 0xa20bc7c6u);
  EXPECT_EQ(words[3], 0x6d5451fdu);
}

TEST(Draws, DependOnWhoDrawsAndWhen) {
  Draws a(1, 2, 3, 4), same(1, 2, 3, 4);
  for (int k = 0; k < 20; ++k) EXPECT_EQ(a.uniform(), same.uniform());
  const double first = Draws(1, 2, 3, 4).uniform();
  EXPECT_NE(first, Draws(0, 2, 3, 4).uniform());
  EXPECT_NE(first, Draws(1, 1, 3, 4).uniform());
  EXPECT_NE(first, Draws(1, 2, 2, 4).uniform());
  EXPECT_NE(first, Draws(1, 2, 3, 3).uniform());
}

}  // namespace
}  // namespace mcmc
