// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/sampler/tempering.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "apps/surrogate/sampler/random.hpp"

namespace mcmc {
namespace {

// Streams of random numbers beside the chains' own.
constexpr std::uint32_t kSwaps = 1u << 30, kStarts = 1u << 29;
constexpr std::uint64_t kRefactor = 20;  // steps between factorisations of a covariance

double infinity() { return std::numeric_limits<double>::infinity(); }

void check(const Target& t, const Settings& s) {
  const auto refuse = [](const char* what) { throw std::invalid_argument(std::string("sampler: ") + what); };
  if (t.low.empty() || t.low.size() != t.high.size()) refuse("low and high need one entry per dimension");
  for (std::size_t k = 0; k < t.low.size(); ++k)
    if (!(t.low[k] < t.high[k])) refuse("low must be less than high");
  if (!t.log_density) refuse("there is no density");
  if (s.chains < 1 || s.chains > 1000) refuse("1 to 1000 temperatures expected");
  if (s.burn_in < 0 || s.thin < 1 || s.swap_every < 1) refuse("steps must be positive");
  if (!(s.acceptance > 0 && s.acceptance < 1) || !(s.swap_acceptance > 0 && s.swap_acceptance < 1))
    refuse("rates of acceptance are between 0 and 1");
  if (!(s.single >= 0 && s.single <= 1) || !(s.spread >= 0))
    refuse("proposals need a spread >= 0 and a share of 0 to 1");
  if (!(s.hottest > 1)) refuse("the hottest temperature must be above 1");
  if (t.exact && s.rule == SwapRule::Thesis)
    refuse("the thesis' rule of exchange does not go with delayed acceptance");
}

// Lower factor of a positive definite matrix; false if it is not one.
bool factorise(const std::vector<double>& a, std::size_t d, std::vector<double>& lower) {
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i * d + j];
      for (std::size_t k = 0; k < j; ++k) sum -= lower[i * d + k] * lower[j * d + k];
      if (i == j) {
        if (!(sum > 0)) return false;
        lower[i * d + i] = std::sqrt(sum);
      } else {
        lower[i * d + j] = sum / lower[j * d + j];
      }
    }
  return true;
}

void set_temperatures(Ensemble& e, const Settings& s) {
  double log_temperature = 0;
  for (std::size_t c = 1; c < e.chains.size(); ++c) {
    log_temperature = std::min(log_temperature + std::exp(e.spacing[c - 1]), std::log(s.hottest));
    e.chains[c].inverse_temperature = std::exp(-log_temperature);
  }
}

class Stepper {
 public:
  Stepper(const Target& target, const Settings& settings, Ensemble& ensemble)
      : target_(target), settings_(settings), e_(ensemble), d_(target.low.size()), next_(d_), z_(d_) {}

  void step() {
    const bool adapting = static_cast<long>(e_.step) < settings_.burn_in;
    for (std::size_t c = 0; c < e_.chains.size(); ++c) move(c, adapting);
    ++e_.step;
    if (e_.step % static_cast<std::uint64_t>(settings_.swap_every) == 0) exchange(adapting);
  }

 private:
  double gain() const { return std::pow(static_cast<double>(e_.step + 1), -0.6); }

  // Second stage of delayed acceptance: the exact density is computed for what the approximation accepted.
  // change: the difference that the approximate log density makes was already accepted; returns whether the
  // exact one accepts too, and its correction at x.
  bool confirm(std::span<const double> x, double log_density, double current_correction, Draws& draws,
               double& correction) {
    if (!target_.exact) return true;
    ++e_.exact_calls;
    const double exact = target_.exact(x);
    if (!std::isfinite(exact)) return false;
    correction = exact - log_density;
    return std::log(draws.uniform()) < correction - current_correction;
  }

  // Symmetric, whatever the state: the normal's size, and whether one coordinate moves or all, are drawn
  // anew.
  void propose(const Chain& chain, Draws& draws) {
    const double scale = std::exp(chain.log_scale + settings_.spread * draws.normal());
    if (draws.uniform() < settings_.single) {
      const auto i = std::min(d_ - 1, static_cast<std::size_t>(draws.uniform() * static_cast<double>(d_)));
      double variance = 0;
      for (std::size_t j = 0; j <= i; ++j) variance += chain.factor[i * d_ + j] * chain.factor[i * d_ + j];
      next_ = chain.x;
      next_[i] += scale * std::sqrt(variance * static_cast<double>(d_)) * draws.normal();
      return;
    }
    for (double& z : z_) z = draws.normal();
    for (std::size_t i = 0; i < d_; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j <= i; ++j) sum += chain.factor[i * d_ + j] * z_[j];
      next_[i] = chain.x[i] + scale * sum;
    }
  }

  void move(std::size_t c, bool adapting) {
    Chain& chain = e_.chains[c];
    Draws draws(settings_.seed, e_.number, static_cast<std::uint32_t>(c),
                static_cast<std::uint32_t>(e_.step));
    propose(chain, draws);
    const double there = target_.log_density(next_);
    const double log_ratio = chain.inverse_temperature * (there - chain.log_density);
    const double probability = std::isnan(log_ratio) ? 0 : std::min(1.0, std::exp(log_ratio));
    double correction = 0;
    const bool accepted = draws.uniform() < probability &&
                          (c > 0 || confirm(next_, there, chain.correction, draws, correction));
    if (accepted) {
      chain.x = next_;
      chain.log_density = there;
      if (c == 0) chain.correction = correction;
    }
    if (adapting) {
      chain.log_scale += gain() * (probability - settings_.acceptance);
      learn(chain);
    } else {
      e_.proposed[c] += 1;
      e_.accepted[c] += accepted ? 1 : 0;
    }
  }

  // The proposals take the shape of what the chain has seen.
  void learn(Chain& chain) {
    const double g = std::min(0.5, 10.0 / static_cast<double>(e_.step + 20));
    for (std::size_t i = 0; i < d_; ++i) z_[i] = chain.x[i] - chain.mean[i];
    for (std::size_t i = 0; i < d_; ++i) {
      chain.mean[i] += g * z_[i];
      for (std::size_t j = 0; j < d_; ++j)
        chain.covariance[i * d_ + j] += g * (z_[i] * z_[j] - chain.covariance[i * d_ + j]);
    }
    if ((e_.step + 1) % kRefactor != 0 || e_.step < 10 * d_ + 50) return;
    std::vector<double> regular = chain.covariance, factor(d_ * d_, 0.0);
    for (std::size_t i = 0; i < d_; ++i) {
      const double width = target_.high[i] - target_.low[i];
      regular[i * d_ + i] += 1e-10 * width * width;
    }
    if (factorise(regular, d_, factor)) chain.factor = factor;
  }

  double swap_log_probability(const Chain& g, const Chain& h) const {
    const double difference = g.inverse_temperature - h.inverse_temperature;
    if (settings_.rule == SwapRule::Ratio) return std::min(0.0, difference * (h.log_density - g.log_density));
    return std::min(0.0, -difference * g.log_density) + std::min(0.0, difference * h.log_density);
  }

  // Neighbours, the even pairs and the odd ones in turn.
  void exchange(bool adapting) {
    const std::uint64_t turn = e_.step / static_cast<std::uint64_t>(settings_.swap_every);
    for (std::size_t c = turn % 2; c + 1 < e_.chains.size(); c += 2) {
      Chain &g = e_.chains[c], &h = e_.chains[c + 1];
      Draws draws(settings_.seed, e_.number, kSwaps + static_cast<std::uint32_t>(c),
                  static_cast<std::uint32_t>(e_.step));
      const double probability = std::exp(swap_log_probability(g, h));
      double correction = 0;
      const bool accepted = draws.uniform() < probability &&
                            (c > 0 || confirm(h.x, h.log_density, g.correction, draws, correction));
      if (accepted) {
        std::swap(g.x, h.x);
        std::swap(g.log_density, h.log_density);
        if (c == 0) g.correction = correction;
      }
      if (adapting) {
        e_.spacing[c] =
            std::clamp(e_.spacing[c] + gain() * (probability - settings_.swap_acceptance), -7.0, 2.0);
      } else {
        e_.tried[c] += 1;
        e_.swapped[c] += accepted ? 1 : 0;
      }
    }
    if (adapting) set_temperatures(e_, settings_);
  }

  const Target& target_;
  const Settings& settings_;
  Ensemble& e_;
  std::size_t d_;
  std::vector<double> next_, z_;
};

}  // namespace

SwapRule swap_rule_of(const std::string& name) {
  if (name == "ratio") return SwapRule::Ratio;
  if (name == "thesis") return SwapRule::Thesis;
  throw std::invalid_argument("'" + name + "' is no rule of exchange: ratio or thesis expected");
}

Ensemble make_ensemble(const Target& target, const Settings& settings, std::uint32_t number) {
  check(target, settings);
  const std::size_t d = target.low.size(), count = static_cast<std::size_t>(settings.chains);
  Ensemble e;
  e.number = number;
  e.spacing.assign(count - 1, std::log(0.7));
  e.accepted.assign(count, 0);
  e.proposed.assign(count, 0);
  e.swapped.assign(count - 1, 0);
  e.tried.assign(count - 1, 0);
  for (std::size_t c = 0; c < count; ++c) {
    Chain chain;
    chain.x.resize(d);
    chain.log_density = -infinity();
    for (std::uint32_t attempt = 0; attempt < 1000 && !std::isfinite(chain.log_density); ++attempt) {
      Draws draws(settings.seed, number, kStarts + static_cast<std::uint32_t>(c), attempt);
      for (std::size_t k = 0; k < d; ++k)
        chain.x[k] = target.low[k] + (target.high[k] - target.low[k]) * draws.uniform();
      chain.log_density = target.log_density(chain.x);
      if (c > 0 || !target.exact || !std::isfinite(chain.log_density)) continue;
      const double exact = target.exact(chain.x);
      ++e.exact_calls;
      chain.correction = exact - chain.log_density;
      if (!std::isfinite(exact)) chain.log_density = -infinity();
    }
    if (!std::isfinite(chain.log_density))
      throw std::runtime_error(
          "sampler: none of 1000 starts between low and high has a density above 0: the measurements, their "
          "noise or the bounds of the parameters do not fit what the model gives");
    chain.log_scale = std::log(2.4 / std::sqrt(static_cast<double>(d)));
    chain.mean = chain.x;
    chain.covariance.assign(d * d, 0);
    chain.factor.assign(d * d, 0);
    for (std::size_t k = 0; k < d; ++k) {
      const double width = (target.high[k] - target.low[k]) / 10;
      chain.covariance[k * d + k] = width * width;
      chain.factor[k * d + k] = width;
    }
    e.chains.push_back(std::move(chain));
  }
  set_temperatures(e, settings);
  return e;
}

void advance(const Target& target, const Settings& settings, Ensemble& ensemble, long steps,
             std::vector<double>& samples) {
  Stepper stepper(target, settings, ensemble);
  for (long n = 0; n < steps; ++n) {
    stepper.step();
    if (samples_in(settings, ensemble.step - 1, 1) == 0) continue;
    const Chain& cold = ensemble.chains[0];
    samples.insert(samples.end(), cold.x.begin(), cold.x.end());
    samples.push_back(cold.log_density + cold.correction);
  }
}

long samples_in(const Settings& settings, std::uint64_t step, long steps) {
  const auto until = [&](long n) { return std::max(0L, n - settings.burn_in) / settings.thin; };
  const auto from = static_cast<long>(step);
  return until(from + steps) - until(from);
}

std::size_t packed_size(int dimensions, int chains) {
  const auto d = static_cast<std::size_t>(dimensions), k = static_cast<std::size_t>(chains);
  return 3 + k * (4 + 2 * d + 2 * d * d) + 2 * k + 3 * (k - 1);
}

std::vector<double> pack(const Ensemble& e) {
  std::vector<double> out = {static_cast<double>(e.number), static_cast<double>(e.step), e.exact_calls};
  const auto add = [&out](const std::vector<double>& v) { out.insert(out.end(), v.begin(), v.end()); };
  for (const Chain& c : e.chains) {
    add({c.log_density, c.correction, c.inverse_temperature, c.log_scale});
    for (const auto* v : {&c.x, &c.mean, &c.covariance, &c.factor}) add(*v);
  }
  for (const auto* v : {&e.accepted, &e.proposed, &e.spacing, &e.swapped, &e.tried}) add(*v);
  return out;
}

Ensemble unpack(std::span<const double> numbers, int dimensions, int chains) {
  if (numbers.size() != packed_size(dimensions, chains))
    throw std::invalid_argument("sampler: these numbers are no ensemble of " + std::to_string(chains) +
                                " chains in " + std::to_string(dimensions) + " dimensions");
  std::size_t at = 0;
  const auto one = [&] { return numbers[at++]; };
  const auto many = [&](std::size_t count) {
    at += count;
    return std::vector<double>(numbers.begin() + static_cast<std::ptrdiff_t>(at - count),
                               numbers.begin() + static_cast<std::ptrdiff_t>(at));
  };
  const auto d = static_cast<std::size_t>(dimensions), k = static_cast<std::size_t>(chains);
  Ensemble e;
  e.number = static_cast<std::uint32_t>(one());
  e.step = static_cast<std::uint64_t>(one());
  e.exact_calls = one();
  for (std::size_t c = 0; c < k; ++c) {
    Chain chain;
    chain.log_density = one();
    chain.correction = one();
    chain.inverse_temperature = one();
    chain.log_scale = one();
    chain.x = many(d);
    chain.mean = many(d);
    chain.covariance = many(d * d);
    chain.factor = many(d * d);
    e.chains.push_back(std::move(chain));
  }
  e.accepted = many(k);
  e.proposed = many(k);
  e.spacing = many(k - 1);
  e.swapped = many(k - 1);
  e.tried = many(k - 1);
  return e;
}

}  // namespace mcmc
