// SPDX-License-Identifier: Apache-2.0
// The lead's last measuring windows, merged over pods. Pure.
//
// Pods number windows by their own clocks, which may be wrong. The lead's clock decides: a sample of a window
// that has not ended yet is of a clock that is ahead, and one pod's samples that are all late, of a clock
// that is behind; they count for the window that they belong to. Single late samples keep their number.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "runtime/protocol/sample.hpp"

namespace empi::agent {

class SampleRing {
 public:
  // Of pod `from`. `now`: index of the window that has ended last, by our clock.
  void add(const std::string& from, WindowSample partial, std::int64_t now);
  // What the lead before us has merged.
  void take_over(const std::vector<WindowSample>& windows, std::int64_t now);
  void forget(const std::string& pod) { lags_.erase(pod); }
  // Windows with an index above `since`, newest last. The newest may still lack pods.
  std::vector<WindowSample> since(std::int64_t index) const;

 private:
  void keep(const WindowSample& sample);

  std::map<std::int64_t, WindowSample> windows_;
  std::map<std::string, std::deque<std::int64_t>> lags_;  // of a pod's last samples, in windows
};

}  // namespace empi::agent
