// SPDX-License-Identifier: Apache-2.0
// For tests: a whole run of several ensembles, one after the other.
#pragma once
#include <cmath>
#include <functional>
#include <vector>

#include "apps/surrogate/sampler/diagnostics.hpp"
#include "apps/surrogate/sampler/tempering.hpp"

namespace mcmc::testing {

struct Sampled {
  std::vector<Ensemble> ensembles;
  std::vector<std::vector<double>> samples;  // per ensemble: rows of d + 1
  std::size_t width = 0;

  /// A function of the states, as the diagnostics take it.
  Sequences of(const std::function<double(const double* x)>& f) const {
    Sequences result;
    for (const auto& rows : samples) {
      auto& sequence = result.emplace_back();
      for (std::size_t at = 0; at < rows.size(); at += width) sequence.push_back(f(&rows[at]));
    }
    return result;
  }
  Sequences coordinate(std::size_t k) const {
    return of([k](const double* x) { return x[k]; });
  }
  double swap_rate(std::size_t pair) const {
    double swapped = 0, tried = 0;
    for (const Ensemble& e : ensembles) swapped += e.swapped[pair], tried += e.tried[pair];
    return swapped / tried;
  }
};

inline Sampled run(const Target& target, const Settings& settings, int ensembles, long samples) {
  Sampled result;
  result.width = target.low.size() + 1;
  for (int n = 0; n < ensembles; ++n) {
    Ensemble e = make_ensemble(target, settings, static_cast<std::uint32_t>(n));
    result.samples.emplace_back();
    advance(target, settings, e, settings.burn_in + samples * settings.thin, result.samples.back());
    result.ensembles.push_back(std::move(e));
  }
  return result;
}

}  // namespace mcmc::testing
