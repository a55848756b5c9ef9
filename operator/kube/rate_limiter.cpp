// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/rate_limiter.hpp"

#include <algorithm>

namespace emj::kube {

RateLimiter::RateLimiter(double rate, int burst, Clock& clock)
    : clock_(clock),
      interval_(std::chrono::duration_cast<std::chrono::steady_clock::duration>(
          std::chrono::duration<double>(1.0 / std::max(rate, 0.001)))),
      burst_(std::max(burst, 1)),
      full_at_(clock.now()) {}

bool RateLimiter::wait() {
  std::unique_lock lock(mutex_);
  full_at_ = std::max(full_at_, clock_.now()) + interval_;
  const Instant turn = full_at_ - interval_ * burst_;
  clock_.wait_until(condition_, lock, turn, [this] { return stopped_; });
  return !stopped_;
}

void RateLimiter::stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  condition_.notify_all();
}

}  // namespace emj::kube
