// SPDX-License-Identifier: Apache-2.0
// How many requests a second a client of the API server may send. Any thread.
#pragma once
#include <condition_variable>
#include <mutex>

#include "operator/kube/clock.hpp"

namespace emj::kube {

// Token bucket, first come first served: `burst` requests at once, `rate` a second on average.
class RateLimiter {
 public:
  RateLimiter(double rate, int burst, Clock& clock);
  // Blocks until the caller may go. False: stop() was called.
  bool wait();
  void stop();

 private:
  Clock& clock_;
  const std::chrono::steady_clock::duration interval_;  // between two tokens
  const int burst_;
  std::mutex mutex_;
  std::condition_variable condition_;
  Instant full_at_;  // when the bucket is full again; every request moves it by one interval
  bool stopped_ = false;
};

}  // namespace emj::kube
