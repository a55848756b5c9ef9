// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/sample_ring.hpp"

#include <algorithm>

namespace empi::agent {
namespace {

constexpr std::size_t kWindows = 512;
// Clocks that agree may still see a boundary one after the other.
constexpr std::int64_t kTolerance = 1;
// Longer than a lead that stands still is borne, so that what has piled up meanwhile is not all that counts.
constexpr std::size_t kLags = 64;
constexpr std::int64_t kLastIndex = std::int64_t{1} << 53;

}  // namespace

void SampleRing::add(const std::string& from, WindowSample partial, std::int64_t now) {
  if (partial.index < 0 || partial.index > kLastIndex) return;
  const std::int64_t lag = now - partial.index;
  std::deque<std::int64_t>& lags = lags_[from];
  if (lag < -kTolerance) {  // no delay makes that
    lags.clear();
    partial.index = now;
  } else {
    lags.push_back(lag);
    if (lags.size() > kLags) lags.pop_front();
    if (const std::int64_t least = *std::ranges::min_element(lags); least > kTolerance)
      partial.index += least;
  }
  keep(partial);
}

void SampleRing::take_over(const std::vector<WindowSample>& windows, std::int64_t now) {
  for (const WindowSample& window : windows)
    if (window.index <= now + kTolerance) keep(window);
}

void SampleRing::keep(const WindowSample& sample) {
  auto [at, fresh] = windows_.try_emplace(sample.index, sample);
  if (!fresh) merge(at->second, sample);
  while (windows_.size() > kWindows) windows_.erase(windows_.begin());
}

std::vector<WindowSample> SampleRing::since(std::int64_t index) const {
  std::vector<WindowSample> found;
  for (auto at = windows_.upper_bound(index); at != windows_.end(); ++at) found.push_back(at->second);
  return found;
}

}  // namespace empi::agent
