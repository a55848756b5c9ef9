// SPDX-License-Identifier: Apache-2.0
#include "runtime/sdk/gifts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace elastic {
namespace {

// The first two pods that stay with a copy, and who can give it.
struct Whereabouts {
  std::array<int, 2> pods{-1, -1};
  int giver = -1;
};

// Takes ranks that stay one after the other, and passes over those on a pod.
class Takers {
 public:
  explicit Takers(const std::vector<Holder>& holders) : holders_(holders) {
    for (std::size_t rank = 0; rank < holders.size(); ++rank)
      if (!holders[rank].leaving) staying_.push_back(static_cast<int>(rank));
  }

  // -1: there is none on another pod.
  int next_not_on(int pod) {
    for (std::size_t tried = 0; tried < staying_.size(); ++tried) {
      const int rank = staying_[next_++ % staying_.size()];
      if (pod_of(rank) != pod) return rank;
    }
    return -1;
  }
  int pod_of(int rank) const { return holders_[static_cast<std::size_t>(rank)].pod; }

 private:
  const std::vector<Holder>& holders_;
  std::vector<int> staying_;
  std::size_t next_ = 0;
};

std::vector<Whereabouts> whereabouts_of(const std::vector<Holder>& holders, int copies) {
  std::vector<Whereabouts> found(static_cast<std::size_t>(copies));
  for (std::size_t rank = 0; rank < holders.size(); ++rank)
    for (const int copy : holders[rank].copies) {
      Whereabouts& where = found[static_cast<std::size_t>(copy)];
      const bool leaving = holders[rank].leaving;
      if (where.giver < 0 || leaving)
        where.giver = static_cast<int>(rank);  // rather one who has no more to do
      if (leaving || std::ranges::count(where.pods, holders[rank].pod)) continue;
      if (const auto room = std::ranges::find(where.pods, -1); room != where.pods.end())
        *room = holders[rank].pod;
    }
  return found;
}

}  // namespace

std::vector<Gift> gifts(const std::vector<Holder>& holders, int copies) {
  Takers takers(holders);
  std::vector<Gift> all;
  const auto found = whereabouts_of(holders, copies);
  for (int copy = 0; copy < copies; ++copy) {
    auto [pods, giver] = found[static_cast<std::size_t>(copy)];
    if (giver < 0 || pods[1] >= 0) continue;
    for (int missing = pods[0] < 0 ? 2 : 1; missing > 0; --missing) {
      const int taker = takers.next_not_on(pods[0]);
      if (taker < 0) break;
      all.push_back({copy, giver, taker});
      pods[0] = takers.pod_of(taker);
    }
  }
  return all;
}

}  // namespace elastic
