#pragma once

#include <algorithm>
#include <optional>
#include <random>

#include "operator/kube/clock.hpp"

namespace emj::kube {

// Growing, jittered waits between attempts; starts over after a healthy time without failures. Pure.
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
    if (!last_end_ || now - *last_end_ >= limits_.healthy) step_ = limits_.first;
    const Millis high = std::max(step_, std::min(step_ * 2, limits_.longest));
    const Millis wait(std::uniform_int_distribution<Millis::rep>(step_.count(), high.count())(random_));
    step_ = std::max(limits_.first, std::min(limits_.longest / 2, step_ * 2));
    last_end_ = now + wait;
    return wait;
  }

 private:
  const Limits limits_;
  std::mt19937_64 random_;
  Millis step_{};
  std::optional<Instant> last_end_;  // of the last wait
};

}  // namespace emj::kube
