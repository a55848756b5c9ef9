// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/clock.hpp"

#include <cstdio>
#include <ctime>

namespace emj::kube {

namespace {

class RealClock final : public Clock {
 public:
  Instant now() override { return std::chrono::steady_clock::now(); }
  WallTime wall() override { return std::chrono::system_clock::now(); }
  bool wait_until(std::condition_variable& condition, std::unique_lock<std::mutex>& lock, Instant deadline,
                  const std::function<bool()>& done) override {
    if (deadline == Instant::max()) {
      condition.wait(lock, done);
      return true;
    }
    return condition.wait_until(lock, deadline, done);
  }
};

}  // namespace

Clock& real_clock() {
  static RealClock clock;
  return clock;
}

std::string micro_time(WallTime time) {
  const auto second = std::chrono::floor<Seconds>(time);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time - second).count();
  const std::time_t count = std::chrono::system_clock::to_time_t(second);
  std::tm parts{};
  gmtime_r(&count, &parts);
  char text[64];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + length, sizeof text - length, ".%06dZ", static_cast<int>(micros));
  return text;
}

}  // namespace emj::kube
