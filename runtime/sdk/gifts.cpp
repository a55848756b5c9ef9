// SPDX-License-Identifier: Apache-2.0
#include "runtime/sdk/gifts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace elastic {
namespace {

// The first two ranks on different pods that stay with a copy, and who can give it.
struct Whereabouts {
  std::array<int, 2> keepers{-1, -1};
  int giver = -1;
};

// Takes ranks that stay one after the other, and passes over those that are where one is.
class Takers {
 public:
  explicit Takers(const std::vector<Holder>& holders) : holders_(holders) {
    for (std::size_t rank = 0; rank < holders.size(); ++rank)
      if (!holders[rank].leaving) staying_.push_back(static_cast<int>(rank));
    on_several_nodes_ =
        std::ranges::any_of(staying_, [&](int rank) { return of(rank).node != of(staying_.front()).node; });
  }

  // On another node than `keeper` where there is one, on another pod; -1: there is none. Of nobody (-1): any.
  int next_apart_from(int keeper) {
    if (keeper < 0) return next([](const Holder&) { return true; });
    if (on_several_nodes_) return next([&](const Holder& other) { return other.node != of(keeper).node; });
    return next([&](const Holder& other) { return other.pod != of(keeper).pod; });
  }

 private:
  template <class Suits>
  int next(Suits suits) {
    for (std::size_t tried = 0; tried < staying_.size(); ++tried) {
      const int rank = staying_[next_++ % staying_.size()];
      if (suits(of(rank))) return rank;
    }
    return -1;
  }
  const Holder& of(int rank) const { return holders_[static_cast<std::size_t>(rank)]; }

  const std::vector<Holder>& holders_;
  std::vector<int> staying_;
  std::size_t next_ = 0;
  bool on_several_nodes_ = false;
};

std::vector<Whereabouts> whereabouts_of(const std::vector<Holder>& holders, int copies) {
  std::vector<Whereabouts> found(static_cast<std::size_t>(copies));
  for (std::size_t rank = 0; rank < holders.size(); ++rank)
    for (const int copy : holders[rank].copies) {
      Whereabouts& where = found[static_cast<std::size_t>(copy)];
      const bool leaving = holders[rank].leaving;
      if (where.giver < 0 || leaving)
        where.giver = static_cast<int>(rank);  // rather one who has no more to do
      const auto is_there = [&](int keeper) {
        return keeper >= 0 && holders[static_cast<std::size_t>(keeper)].pod == holders[rank].pod;
      };
      if (leaving || std::ranges::any_of(where.keepers, is_there)) continue;
      if (const auto room = std::ranges::find(where.keepers, -1); room != where.keepers.end())
        *room = static_cast<int>(rank);
    }
  return found;
}

}  // namespace

std::vector<Gift> gifts(const std::vector<Holder>& holders, int copies) {
  Takers takers(holders);
  std::vector<Gift> all;
  const auto found = whereabouts_of(holders, copies);
  for (int copy = 0; copy < copies; ++copy) {
    auto [keepers, giver] = found[static_cast<std::size_t>(copy)];
    if (giver < 0 || keepers[1] >= 0) continue;
    for (int missing = keepers[0] < 0 ? 2 : 1; missing > 0; --missing) {
      const int taker = takers.next_apart_from(keepers[0]);
      if (taker < 0) break;
      all.push_back({copy, giver, taker});
      keepers[0] = taker;
    }
  }
  return all;
}

}  // namespace elastic
