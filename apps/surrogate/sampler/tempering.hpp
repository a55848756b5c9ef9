// SPDX-License-Identifier: Apache-2.0
// Samples of a probability density by parallel tempering (seed 000, section 7.1.3; D. J. Earl, M. W. Deem,
// Phys. Chem. Chem. Phys. 7 (2005) 3910). An ensemble of chains is a value: any rank can go on with it.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace mcmc {

/// Logarithm of a probability density, up to a constant; -infinity where it is 0.
using LogDensity = std::function<double(std::span<const double>)>;

struct Target {
  /// Where chains start, drawn evenly; and the unit of the first proposals. One entry per dimension.
  std::vector<double> low, high;
  LogDensity log_density;
  /// Delayed acceptance (J. A. Christen, C. Fox, J. Comput. Graph. Stat. 14 (2005) 795): when set, this is
  /// the density to sample, and log_density a cheap approximation that decides which states are worth
  /// computing it.
  LogDensity exact = nullptr;
};

enum class SwapRule {
  Ratio,   ///< min{1, [pi(x_h) / pi(x_g)]^(b_g - b_h)}
  Thesis,  ///< seed 000, algorithm 7.2: two factors, which depend on how the density is normalised
};
/// "ratio", "thesis". Throws std::invalid_argument for another name.
SwapRule swap_rule_of(const std::string& name);

struct Settings {
  int chains = 6;           ///< temperatures of an ensemble
  long burn_in = 4000;      ///< steps in which proposals and temperatures adapt; nothing adapts afterwards
  int thin = 5;             ///< every so many steps the coldest state is a sample
  int swap_every = 2;       ///< steps between exchanges
  double acceptance = 0.3;  ///< of proposals, to be adapted to
  double swap_acceptance = 0.3;  ///< of exchanges between neighbours, to be adapted to
  double hottest = 1000;         ///< highest temperature
  double spread =
      0.5;  ///< standard deviation of the logarithm of a proposal's size, for targets of many scales
  double single =
      0.3;  ///< share of proposals that move one coordinate alone, as in seed 000; others move all
  SwapRule rule = SwapRule::Ratio;
  std::uint64_t seed = 1;
};

/// One chain: a random walk on pi^b by Metropolis.
struct Chain {
  std::vector<double> x;
  double log_density = 0;  // of the approximation, where there is one
  double correction = 0;   // exact minus approximate (coldest chain of a target with `exact`)
  double inverse_temperature = 1;
  double log_scale = 0;
  std::vector<double> mean, covariance, factor;  // d, d x d, d x d (lower)
};

/// Chains at descending inverse temperatures, the first of which samples the target: all that parallel
/// tempering knows. It can be packed into numbers, sent, and gone on with elsewhere, bit for bit.
struct Ensemble {
  std::uint32_t number = 0;
  std::uint64_t step = 0;
  std::vector<Chain> chains;
  std::vector<double> spacing;  // between neighbours: log of log of the temperatures' ratio
  // Since burn-in; chains, chains, neighbours, neighbours, and the calls of `exact`.
  std::vector<double> accepted, proposed, swapped, tried;
  double exact_calls = 0;
};

/// Throws std::invalid_argument for settings or a target that make no sense, and std::runtime_error if no
/// start with a density above 0 is found.
Ensemble make_ensemble(const Target& target, const Settings& settings, std::uint32_t number);

/// Goes `steps` steps on. Appends the coldest chain's samples after burn-in: d coordinates and the log
/// density (the exact one, where there is one) each. The proposals of the coldest chain adapt like the
/// others' in burn-in (H. Haario, E. Saksman, J. Tamminen, Bernoulli 7 (2001) 223), the temperatures by the
/// rates of the exchanges (B. Miasojedow, E. Moulines, M. Vihola, J. Comput. Graph. Stat. 22 (2013) 649).
void advance(const Target& target, const Settings& settings, Ensemble& ensemble, long steps,
             std::vector<double>& samples);

/// An ensemble as numbers; the length depends on dimensions and chains only.
std::vector<double> pack(const Ensemble& ensemble);
Ensemble unpack(std::span<const double> numbers, int dimensions, int chains);
std::size_t packed_size(int dimensions, int chains);
/// Samples that advance() appends.
long samples_in(const Settings& settings, std::uint64_t step, long steps);

}  // namespace mcmc
