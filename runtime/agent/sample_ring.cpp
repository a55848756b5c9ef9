#include "runtime/agent/sample_ring.hpp"

namespace empi::agent {
namespace {
constexpr std::size_t kWindows = 512;
}

void SampleRing::add(const WindowSample& partial) {
  auto [at, fresh] = windows_.try_emplace(partial.index, partial);
  if (!fresh) merge(at->second, partial);
  while (windows_.size() > kWindows) windows_.erase(windows_.begin());
}

std::vector<WindowSample> SampleRing::since(std::int64_t index) const {
  std::vector<WindowSample> found;
  for (auto at = windows_.upper_bound(index); at != windows_.end(); ++at) found.push_back(at->second);
  return found;
}

}  // namespace empi::agent
