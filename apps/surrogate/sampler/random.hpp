// SPDX-License-Identifier: Apache-2.0
// Random numbers by counter (Philox 4x32-10; J. K. Salmon et al., SC11): what is drawn depends on (seed,
// ensemble, chain, step), and not on what was drawn before. So results do not depend on which rank advances
// which chain.
#pragma once
#include <Random123/philox.h>

#include <cmath>
#include <cstdint>
#include <numbers>

namespace mcmc {

/// One stream of numbers: that of (seed, ensemble, chain, step).
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint32_t ensemble, std::uint32_t chain, std::uint32_t step)
      : key_{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}},
        counter_{{0, step, chain, ensemble}} {}

  /// In (0, 1).
  double uniform() {
    if (left_ == 0) {
      words_ = r123::Philox4x32()(counter_, key_);
      ++counter_[0];
      left_ = 2;
    }
    --left_;
    const std::uint64_t bits = (static_cast<std::uint64_t>(words_[2 * left_]) << 32) | words_[2 * left_ + 1];
    return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
  }

  /// Of mean 0 and variance 1.
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2 * std::log(uniform())), angle = 2 * std::numbers::pi * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

 private:
  r123::Philox4x32::key_type key_;
  r123::Philox4x32::ctr_type counter_, words_{};
  int left_ = 0;
  bool has_spare_ = false;
  double spare_ = 0;
};

}  // namespace mcmc
