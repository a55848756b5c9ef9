#include "runtime/adapt/iterations.hpp"

#include <algorithm>

namespace empi::adapt {

void Iterations::change_begins(std::uint64_t change) {
  if (change == change_) return;
  change_ = change;
  lost_ns_ = 0;
  countdown_ = 0;
  complete_ = false;
  baseline_ns_ = 0;
  if (known_ == 0) return;
  std::array<std::uint64_t, kBaseline> sorted = recent_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(known_);
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(known_ / 2), end);
  baseline_ns_ = static_cast<double>(sorted[known_ / 2]);
}

void Iterations::account(std::uint64_t duration_ns) {
  lost_ns_ += static_cast<double>(duration_ns) - baseline_ns_;
  if (countdown_ > 0 && --countdown_ == 0) complete_ = true;
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

}  // namespace empi::adapt
