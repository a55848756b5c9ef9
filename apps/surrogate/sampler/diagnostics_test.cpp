// SPDX-License-Identifier: Apache-2.0
// Diagnostics of sequences whose properties are known.
#include "apps/surrogate/sampler/diagnostics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

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

// Chains of numbers that are the same on every machine: integers, and products that are exact or rounded as
// IEEE 754 has it.
Sequences of_integers(double rho, double shift) {
  Sequences result;
  for (std::uint64_t c = 0; c < 4; ++c) {
    std::uint64_t seed = 17 + c;
    double x = 0.5;
    std::vector<double> chain;
    for (int k = 0; k < 500; ++k) {
      seed = (seed * 1103515245 + 12345) % (std::uint64_t{1} << 31);
      x = rho * x + (1 - rho) * (static_cast<double>(seed >> 8) / 8388608);
      chain.push_back(x + shift * static_cast<double>(c));
    }
    result.push_back(chain);
  }
  return result;
}

// References: ArviZ 0.23.4 (PyPI, Python 3.11) for these chains: rhat(method="rank"), ess(method="bulk"),
// ess(method="mean"), mcse(method="mean"), by testing/arviz_figures.py, 2026-11-27. It is no package of
// Debian's; where it is installed, surrogate.arviz compares a whole posterior.nc.
TEST(Diagnostics, AreArviZs) {
  struct Reference {
    double rho, shift, rhat, bulk, mean, mcse;
  };
  for (const Reference& r :
       {Reference{0, 0, 1.0012736175608026, 2016.7274862781392, 1985.2754860783325, 0.006511348531542465},
        Reference{0.5, 0, 1.0053416330311027, 668.7703512353817, 686.6958478249951, 0.006414760036739432},
        Reference{0.875, 0, 1.0305474425815582, 116.23828280686834, 116.18910399866834, 0.007074366965653565},
        Reference{0.5, 0.0625, 1.1153469512496181, 25.670147976959132, 25.867960472134914,
                  0.03620382980965508}}) {
    const Sequences chains = of_integers(r.rho, r.shift);
    EXPECT_NEAR(split_rhat(chains) / r.rhat, 1, 1e-6) << r.rho << " " << r.shift;
    EXPECT_NEAR(bulk_ess(chains) / r.bulk, 1, 1e-6) << r.rho << " " << r.shift;
    EXPECT_NEAR(mean_ess(chains) / r.mean, 1, 1e-6) << r.rho << " " << r.shift;
    EXPECT_NEAR(mcse(chains) / r.mcse, 1, 1e-6) << r.rho << " " << r.shift;
  }
}

// References: ArviZ 0.23.4, as above, but for the R-hat of chains that stand apart: there it has 3.2e16,
// since it rounds the mean of equal values, and formula (4) has a variance of 0 below the line.
TEST(Diagnostics, SayThatChainsAreStuck) {
  const auto stuck_at = [](std::initializer_list<double> places) {
    Sequences chains;
    for (const double place : places) chains.emplace_back(100, place);
    return chains;
  };
  const Sequences apart = stuck_at({0.1, 0.23, 0.7, 0.91}), together = stuck_at({0.1, 0.1, 0.1});
  EXPECT_EQ(split_rhat(apart), std::numeric_limits<double>::infinity());
  EXPECT_NEAR(bulk_ess(apart), 4.3478260869565215, 1e-6);
  EXPECT_NEAR(mean_ess(apart), 4.3478260869565215, 1e-6);
  EXPECT_NEAR(mcse(apart), 0.15927703203014182, 1e-6);
  EXPECT_TRUE(std::isnan(split_rhat(together))) << split_rhat(together);
  EXPECT_EQ(bulk_ess(together), 300);
  EXPECT_EQ(mean_ess(together), 300);
  EXPECT_EQ(mcse(together), 0);
  EXPECT_TRUE(std::isnan(split_rhat(stuck_at({0.1})))) << "of one chain there are two halves";
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
