// SPDX-License-Identifier: Apache-2.0
// Growing, jittered waits between attempts; starts over after a healthy time without failures. Pure.
#pragma once
#include <algorithm>
#include <optional>
#include <random>

#include "operator/kube/clock.hpp"
#include "runtime/base/backoff.hpp"

namespace emj::kube {

class Backoff {
 public:
  struct Limits {
    Millis first{800};
    Millis longest{30000};
    Millis healthy{120000};
  };
  explicit Backoff(std::uint64_t seed) : Backoff(Limits{}, seed) {}
  Backoff(Limits limits, std::uint64_t seed) : limits_(limits), random_(seed) {}

  // To wait after a failure at `now`: between the present step and twice that, so that many clients do not
  // come back together; never longer than the longest.
  Millis next(Instant now) {
    if (!last_end_ || now - *last_end_ >= limits_.healthy) failures_ = 0;
    const Millis step =
        empi::backoff(limits_.first, std::max(limits_.first, limits_.longest / 2), failures_++);
    const Millis high = std::max(step, std::min(step * 2, limits_.longest));
    const Millis wait(std::uniform_int_distribution<Millis::rep>(step.count(), high.count())(random_));
    last_end_ = now + wait;
    return wait;
  }

 private:
  const Limits limits_;
  std::mt19937_64 random_;
  int failures_ = 0;                 // since all was well
  std::optional<Instant> last_end_;  // of the last wait
};

}  // namespace emj::kube
