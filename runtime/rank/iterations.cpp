// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/iterations.hpp"

#include <numeric>

namespace empi::rank {

void Iterations::change_begins(std::uint64_t change) {
  if (change == change_) return;
  change_ = change;
  lost_ns_ = 0;
  countdown_ = 0;
  complete_ = false;
  baseline_ns_.reset();
  if (known_ < kFewest) return;
  const auto end = recent_.begin() + static_cast<std::ptrdiff_t>(known_);
  baseline_ns_ = static_cast<double>(std::accumulate(recent_.begin(), end, std::uint64_t{0})) /
                 static_cast<double>(known_);
}

void Iterations::account(std::uint64_t duration_ns) {
  if (baseline_ns_) lost_ns_ += static_cast<double>(duration_ns) - *baseline_ns_;
  if (countdown_ == 0) return;
  --countdown_;
  complete_ = countdown_ == 0;
}

std::optional<double> Iterations::lost_ms() {
  if (!complete_) return std::nullopt;
  complete_ = false;
  change_ = 0;
  known_ = next_ = 0;  // another number of ranks: another baseline
  return lost_ns_ * 1e-6;
}

double Iterations::lost_until(std::uint64_t now_ns) const {
  return (lost_ns_ + static_cast<double>(last_ ? now_ns - last_ : 0)) * 1e-6;
}

}  // namespace empi::rank
