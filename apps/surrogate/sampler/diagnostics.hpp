// SPDX-License-Identifier: Apache-2.0
// Whether the samples of several chains can be relied on, and what they say: R-hat, effective numbers of
// samples and the error of the mean are as in ArviZ.
#pragma once
#include <vector>

namespace mcmc {

/// Samples of one quantity: one sequence per chain, all of the same length.
using Sequences = std::vector<std::vector<double>>;

/// Have the chains forgotten where they started? Rank-normalised split R-hat, the larger of bulk and folded:
/// A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Buerkner, Bayesian Analysis 16 (2021) 667,
/// equations (3), (4), (14). Below 1.01: yes. Of chains that are stuck, each in a place of its own, infinite;
/// NaN when all samples are equal, as ArviZ has it.
double split_rhat(const Sequences& chains);
/// Effective number of independent samples, of the ranks: for the middle of the distribution (ibid.,
/// (10)-(14)). When all samples are equal, their number, as ArviZ has it.
double bulk_ess(const Sequences& chains);
/// The same of the values themselves: for their mean.
double mean_ess(const Sequences& chains);
/// Standard error of the mean of all samples.
double mcse(const Sequences& chains);

double mean(const Sequences& chains);
double standard_deviation(const Sequences& chains);
/// Of all samples, 0 <= q <= 1.
double quantile(const Sequences& chains, double q);

}  // namespace mcmc
