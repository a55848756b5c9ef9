// SPDX-License-Identifier: Apache-2.0
#include "runtime/sdk/guardians.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace elastic {
namespace {

constexpr int kNearHalf = 4;  // distances that are tried on either side of half the world

// Along `order` each one's guardian is so many places on.
std::vector<int> shifted(const std::vector<int>& order, int distance) {
  std::vector<int> all(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    all[static_cast<std::size_t>(order[i])] = order[(i + static_cast<std::size_t>(distance)) % order.size()];
  return all;
}

}  // namespace

std::vector<int> guardians(std::span<const std::uint64_t> nodes) {
  const int pods = static_cast<int>(nodes.size()), half = pods / 2;
  std::vector<int> order(nodes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto is_elsewhere_at = [&](int distance) {
    if (distance <= 0 || distance >= pods) return false;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i] == nodes[(i + static_cast<std::size_t>(distance)) % nodes.size()]) return false;
    return true;
  };
  for (int off = 0; off <= kNearHalf; ++off)
    for (const int distance : {half + off, half - off})
      if (is_elsewhere_at(distance)) return shifted(order, distance);
  // One node's pods in a row: half the row is as long as each of them, or one of them is the longer half, and
  // keeps of its own what is more than the others are.
  std::ranges::stable_sort(order, {}, [&](int pod) { return nodes[static_cast<std::size_t>(pod)]; });
  return shifted(order, half);
}

}  // namespace elastic
