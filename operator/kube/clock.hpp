// SPDX-License-Identifier: Apache-2.0
// Time is a parameter: whatever waits in operator/kube waits through a Clock, so that tests move it by hand.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

namespace emj::kube {

using Millis = std::chrono::milliseconds;
using Seconds = std::chrono::seconds;
using Instant = std::chrono::steady_clock::time_point;   // for everything that is measured or waited for
using WallTime = std::chrono::system_clock::time_point;  // for what is written into objects

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() = 0;
  virtual WallTime wall() = 0;
  // Returns done() as soon as it is true (whoever makes it true notifies `condition`), at `deadline` at the
  // latest. `lock` holds the mutex that guards what done() reads.
  virtual bool wait_until(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                          Instant deadline, const std::function<bool()>& done) = 0;
};

Clock& real_clock();

// RFC 3339 with microseconds in UTC, what Kubernetes calls MicroTime: 2026-01-31T12:00:00.250000Z.
std::string micro_time(WallTime time);

using Log = std::function<void(const std::string& line)>;

}  // namespace emj::kube
