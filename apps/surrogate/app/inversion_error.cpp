// SPDX-License-Identifier: Apache-2.0
// What is known of the surrogate's error, and where it matters.
#include <algorithm>
#include <cmath>

#include "apps/surrogate/app/inversion.hpp"
#include "apps/surrogate/sampler/random.hpp"

namespace surrogate {
namespace {

constexpr std::uint32_t kPlaces = 0xfffffff2u;  // a stream of random numbers, beside those of inversion.cpp

// Weights of places drawn from the prior, adding up to 1: of their density, with the power below 1 that lets
// them rest on so many of the places at least (Kish's effective number).
std::vector<double> tempered(const std::vector<double>& log_density, double effective) {
  const double largest = *std::ranges::max_element(log_density);
  std::vector<double> weights(log_density.size());
  for (double power = 1;; power *= 0.8) {
    double sum = 0, squares = 0;
    for (std::size_t n = 0; n < weights.size(); ++n) {
      weights[n] = std::exp(power * (log_density[n] - largest));
      sum += weights[n], squares += weights[n] * weights[n];
    }
    if (sum * sum < effective * squares) continue;
    for (double& weight : weights) weight /= sum;
    return weights;
  }
}

}  // namespace

// At the reference points, which no grid contains: seed 000 equation (7.33), and of each output the mean
// square of the surrogate's error where the posterior may be, as the model itself says it at these points.
// Surpluses of the last refinement would cost no runs, but they are larger, since points are added where the
// surrogate is worst, and they are of the surrogate before.
Build Inversion::measure_build() {
  constexpr double kEffective = 32;
  const auto m = static_cast<std::size_t>(problem_.outputs);
  const auto count = static_cast<std::size_t>(settings_.reference_points);
  std::vector<double> log_density;
  for (std::size_t q = 0; q < count; ++q)
    log_density.push_back(log_likelihood(std::span(state_.reference).subspan(q * m, m), {}));
  const std::vector<double> weights =
      tempered(log_density, std::min(kEffective, static_cast<double>(count) / 2));
  std::vector<double> y(m);
  double total = 0;
  state_.variance.assign(m, 0);
  for (std::size_t q = 0; q < count; ++q) {
    grid_.evaluate(reference_point(static_cast<std::int64_t>(q)), y);
    const double* f = state_.reference.data() + q * m;
    double difference = 0, sum = 0;
    for (std::size_t k = 0; k < m; ++k) {
      const double square = (y[k] - f[k]) * (y[k] - f[k]);
      difference += square;
      sum += (y[k] + f[k]) * (y[k] + f[k]);
      state_.variance[k] += square * weights[q];
    }
    total += sum > 0 ? std::sqrt(difference / sum) : 0;
  }
  return {static_cast<double>(grid_.size()), total / settings_.reference_points};
}

// Samples of the posterior as the surrogate of this build has it, for seed 000 equation (7.22). Taken at a
// grid point, as it is there, the density is one of many nats' range where surpluses fall by 1.4 a level: one
// place would be refined for ever. So its mean over the basis function is taken, and it is the density of a
// surrogate that knows its error (log_likelihood()), tempered until it rests on kEffective of the places
// drawn at least.
std::vector<double> Inversion::likely_places() const {
  constexpr std::uint32_t kDrawn = 4096;
  constexpr double kEffective = 128;
  const auto d = static_cast<std::size_t>(dimensions());
  std::vector<double> places, log_density, y(static_cast<std::size_t>(problem_.outputs));
  for (std::uint32_t n = 0; n < kDrawn; ++n) {
    mcmc::Draws draws(settings_.seed, kPlaces, 0, n);
    for (std::size_t k = 0; k < d; ++k) places.push_back(draws.uniform());
    grid_.evaluate(std::span(places).last(d), y);
    log_density.push_back(log_likelihood(y, state_.variance));
  }
  const std::vector<double> weights = tempered(log_density, kEffective);
  // Systematic resampling: as often as the weight says, to one.
  std::vector<double> result;
  double passed = 0;
  for (std::size_t n = 0; n < kDrawn; ++n) {
    const double before = passed;
    passed += weights[n] * kEffective;
    for (double copies = std::floor(passed + 0.5) - std::floor(before + 0.5); copies > 0; --copies)
      result.insert(result.end(), places.begin() + static_cast<std::ptrdiff_t>(n * d),
                    places.begin() + static_cast<std::ptrdiff_t>((n + 1) * d));
  }
  return result;
}

}  // namespace surrogate
