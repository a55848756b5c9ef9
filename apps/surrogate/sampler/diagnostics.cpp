// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/sampler/diagnostics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace mcmc {
namespace {

void check(const Sequences& chains) {
  if (chains.empty() || chains[0].size() < 8)
    throw std::invalid_argument("diagnostics need chains of at least 8 samples");
  for (const auto& chain : chains)
    if (chain.size() != chains[0].size()) throw std::invalid_argument("chains must be equally long");
}

Sequences split(const Sequences& chains) {
  Sequences halves;
  const auto half = static_cast<std::ptrdiff_t>(chains[0].size() / 2);
  for (const auto& chain : chains) {
    halves.emplace_back(chain.begin(), chain.begin() + half);
    halves.emplace_back(chain.end() - half, chain.end());
  }
  return halves;
}

// Wichura's algorithm would be more exact; Acklam's is good to 1e-9, more than ranks need.
double normal_quantile(double p) {
  const double a[] = {-39.69683028665376, 220.9460984245205,  -275.9285104469687,
                      138.3577518672690,  -30.66479806614716, 2.506628277459239};
  const double b[] = {-54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972,
                      -13.28068155288572};
  const double c[] = {-0.007784894002430293, -0.3223964580411365, -2.400758277161838,
                      -2.549732539343734,    4.374664141464968,   2.938163982698783};
  const double d[] = {0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416};
  const auto tail = [&](double q) {
    return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
           ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  };
  if (p < 0.02425) return tail(std::sqrt(-2 * std::log(p)));
  if (p > 1 - 0.02425) return -tail(std::sqrt(-2 * std::log(1 - p)));
  const double q = p - 0.5, r = q * q;
  return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
         (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

// Values to normal scores of their ranks; equal values share their mean rank.
Sequences ranked(const Sequences& chains) {
  const std::size_t n = chains[0].size(), total = chains.size() * n;
  std::vector<std::size_t> order(total);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto value = [&](std::size_t k) { return chains[k / n][k % n]; };
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return value(a) < value(b); });
  Sequences scores(chains.size(), std::vector<double>(n));
  for (std::size_t begin = 0; begin < total;) {
    std::size_t end = begin + 1;
    while (end < total && value(order[end]) == value(order[begin])) ++end;
    const double rank = (static_cast<double>(begin + 1) + static_cast<double>(end)) / 2;
    const double score = normal_quantile((rank - 0.375) / (static_cast<double>(total) + 0.25));
    for (; begin < end; ++begin) scores[order[begin] / n][order[begin] % n] = score;
  }
  return scores;
}

double mean_of(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

double variance_of(const std::vector<double>& v) {
  // Of equal values exactly 0, though their mean is rounded.
  if (std::ranges::all_of(v, [&](double x) { return x == v[0]; })) return 0;
  const double m = mean_of(v);
  double sum = 0;
  for (const double x : v) sum += (x - m) * (x - m);
  return sum / static_cast<double>(v.size() - 1);
}

struct Variances {
  double within, total;  // W and var+ of the paper
};

Variances variances(const Sequences& chains) {
  const auto n = static_cast<double>(chains[0].size());
  std::vector<double> means;
  double within = 0;
  for (const auto& chain : chains) {
    means.push_back(mean_of(chain));
    within += variance_of(chain);
  }
  within /= static_cast<double>(chains.size());
  const double between = chains.size() > 1 ? variance_of(means) : 0;
  return {within, (n - 1) / n * within + between};
}

double rhat(const Sequences& chains) {
  const Variances v = variances(chains);
  return std::sqrt(v.total / v.within);  // x / 0 is infinite, and 0 / 0 no number
}

// As Stan and ArviZ have it, to rounding.
double ess(const Sequences& chains) {
  const std::size_t n = chains[0].size(), m = chains.size();
  const Variances v = variances(chains);
  const auto total = static_cast<double>(n * m);
  if (!(v.total > 0)) return total;
  std::vector<double> means;
  for (const auto& chain : chains) means.push_back(mean_of(chain));
  const auto correlation = [&](std::size_t lag) {
    double sum = 0;
    for (std::size_t c = 0; c < m; ++c) {
      double product = 0;
      for (std::size_t k = 0; k + lag < n; ++k)
        product += (chains[c][k] - means[c]) * (chains[c][k + lag] - means[c]);
      sum += product / static_cast<double>(n);
    }
    return 1 - (v.within - sum / static_cast<double>(m)) / v.total;
  };
  // Geyer's initial monotone sequence of pairs, and what is positive of the pair behind it.
  double tau = -1, before = 1e300, even = 1, odd = correlation(1);
  for (std::size_t lag = 2; lag + 2 < n && even + odd > 0; lag += 2) {
    before = std::min(before, even + odd);
    tau += 2 * before;
    even = correlation(lag), odd = correlation(lag + 1);
  }
  tau += std::max(even, 0.0);
  tau = std::max(tau, 1 / std::log10(total));
  return total / tau;
}

std::vector<double> pooled(const Sequences& chains) {
  std::vector<double> all;
  for (const auto& chain : chains) all.insert(all.end(), chain.begin(), chain.end());
  return all;
}

}  // namespace

double split_rhat(const Sequences& chains) {
  check(chains);
  const Sequences halves = split(chains);
  const double median = quantile(chains, 0.5);
  Sequences folded = halves;
  for (auto& chain : folded)
    for (double& x : chain) x = std::abs(x - median);
  return std::max(rhat(ranked(halves)), rhat(ranked(folded)));
}

double bulk_ess(const Sequences& chains) {
  check(chains);
  return ess(ranked(split(chains)));
}

double mean_ess(const Sequences& chains) {
  check(chains);
  return ess(split(chains));
}

double mcse(const Sequences& chains) { return standard_deviation(chains) / std::sqrt(mean_ess(chains)); }

double mean(const Sequences& chains) { return mean_of(pooled(chains)); }

double standard_deviation(const Sequences& chains) { return std::sqrt(variance_of(pooled(chains))); }

double quantile(const Sequences& chains, double q) {
  std::vector<double> all = pooled(chains);
  if (all.empty()) throw std::invalid_argument("a quantile of no samples");
  std::ranges::sort(all);
  const double at = q * static_cast<double>(all.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, all.size() - 1);
  return all[low] + (at - static_cast<double>(low)) * (all[high] - all[low]);
}

}  // namespace mcmc
