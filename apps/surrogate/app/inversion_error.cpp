// SPDX-License-Identifier: Apache-2.0
// What is known of the surrogate's error, and where it matters.
#include <algorithm>
#include <cmath>

#include "apps/io/file_error.hpp"
#include "apps/surrogate/app/inversion.hpp"
#include "apps/surrogate/sampler/random.hpp"

namespace surrogate {
namespace {

constexpr std::uint32_t kPlaces = 0xfffffff2u;  // a stream of random numbers, beside those of inversion.cpp
// Up to so many outputs the covariance of their errors is kept, of more their variances.
constexpr std::size_t kDense = 256;

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
  state_.error_moments.assign(m > kDense ? m : m * m, 0);
  std::vector<double> error(m);
  for (std::size_t q = 0; q < count; ++q) {
    grid_.evaluate(reference_point(static_cast<std::int64_t>(q)), y);
    const double* f = state_.reference.data() + q * m;
    double difference = 0, sum = 0;
    for (std::size_t k = 0; k < m; ++k) {
      error[k] = y[k] - f[k];
      difference += error[k] * error[k];
      sum += (y[k] + f[k]) * (y[k] + f[k]);
    }
    for (std::size_t k = 0; k < m; ++k)
      if (m > kDense)
        state_.error_moments[k] += weights[q] * error[k] * error[k];
      else
        for (std::size_t l = 0; l < m; ++l)
          state_.error_moments[k * m + l] += weights[q] * error[k] * error[l];
    total += sum > 0 ? std::sqrt(difference / sum) : 0;
  }
  if (!std::isfinite(total))
    throw io::FileError("error of the surrogate", "", "a finite number", "none",
                        "scale the outputs: their squares are beyond all numbers");
  return {static_cast<double>(grid_.size()), total / settings_.reference_points};
}

double Inversion::error_deviation() const {
  const auto m = static_cast<std::size_t>(problem_.outputs);
  double sum = 0;
  for (std::size_t k = 0; k < m; ++k) sum += state_.error_moments[m > kDense ? k : k * (m + 1)];
  return settings_.surrogate_error ? std::sqrt(sum / static_cast<double>(m)) : 0;
}

// Of the noise's covariance plus the surrogate's: Cholesky's factor, rows of m; or the variances.
std::vector<double> Inversion::error_factor() const {
  const auto m = static_cast<std::size_t>(problem_.outputs);
  const double noise = state_.noise * state_.noise;
  std::vector<double> factor = state_.error_moments;
  if (m > kDense) {
    for (double& variance : factor) variance += noise;
    return factor;
  }
  for (std::size_t k = 0; k < m; ++k) {
    factor[k * m + k] += noise;
    for (std::size_t l = 0; l <= k; ++l) {
      double sum = factor[k * m + l];
      for (std::size_t j = 0; j < l; ++j) sum -= factor[k * m + j] * factor[l * m + j];
      factor[k * m + l] = k == l ? std::sqrt(sum) : sum / factor[l * m + l];
    }
  }
  return factor;
}

// factor: of error_factor(), or empty: the noise alone. (Neither depends on the parameters: the density need
// not be normalised.)
double Inversion::log_likelihood(std::span<const double> outputs, std::span<const double> factor) const {
  const std::size_t m = outputs.size();
  double sum = 0;
  if (factor.empty() || m > kDense) {
    for (std::size_t k = 0; k < m; ++k) {
      const double residual = outputs[k] - state_.observed[k];
      sum += residual * residual / (factor.empty() ? state_.noise * state_.noise : factor[k]);
    }
    return -sum / 2;
  }
  thread_local std::vector<double> white;
  white.resize(m);
  for (std::size_t k = 0; k < m; ++k) {
    double rest = outputs[k] - state_.observed[k];
    for (std::size_t j = 0; j < k; ++j) rest -= factor[k * m + j] * white[j];
    white[k] = rest / factor[k * m + k];
    sum += white[k] * white[k];
  }
  return -sum / 2;
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
  const std::vector<double> factor = error_factor();
  for (std::uint32_t n = 0; n < kDrawn; ++n) {
    mcmc::Draws draws(settings_.seed, kPlaces, 0, n);
    for (std::size_t k = 0; k < d; ++k) places.push_back(draws.uniform());
    grid_.evaluate(std::span(places).last(d), y);
    log_density.push_back(log_likelihood(y, factor));
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
