// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/in_flight.hpp"

#include <algorithm>

namespace emj::kube {

InFlight::InFlight(int most, Millis late, Clock& clock)
    : clock_(clock), most_(std::max(most, kLeast)), late_(late), limit_(most_), halved_at_(clock.now()) {}

InFlight::Turn::Turn(InFlight& limit) : limit_(limit) {
  std::unique_lock lock(limit_.mutex_);
  limit_.condition_.wait(lock, [this] { return limit_.stopped_ || limit_.under_way_ < limit_.limit_; });
  may_go_ = !limit_.stopped_;
  if (may_go_) ++limit_.under_way_;
  sent_ = limit_.clock_.now();
}

InFlight::Turn::~Turn() {
  if (may_go_) limit_.leave(sent_, end_);
}

void InFlight::leave(Instant sent, End end) {
  {
    const std::lock_guard lock(mutex_);
    --under_way_;
    const Instant now = clock_.now();
    if (end == End::Answered && now - sent <= late_) {
      if (++good_ >= limit_ && limit_ < most_) {
        ++limit_;
        good_ = 0;
      }
    } else if (end != End::NotSent && sent >= halved_at_) {
      limit_ = std::max(limit_ / 2, kLeast);
      good_ = 0;
      halved_at_ = now;
    }
  }
  condition_.notify_all();
}

void InFlight::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  condition_.notify_all();
}

int InFlight::limit() const {
  const std::lock_guard lock(mutex_);
  return limit_;
}

}  // namespace emj::kube
