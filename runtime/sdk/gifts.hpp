// SPDX-License-Identifier: Apache-2.0
// Who gives which copy of a snapshot to whom before ranks leave, so that no loss right after that takes along
// what nobody else has. Pure.
#pragma once
#include <cstdint>
#include <vector>

namespace elastic {

/// What a rank has told of itself: which ranks' copies it holds, and where it is.
struct Holder {
  std::vector<int> copies;  // of ranks of the world that took the snapshot
  int pod = 0;
  bool leaving = false;
  std::uint64_t node = 0;  // of that pod
};

struct Gift {
  int copy = 0, giver = 0, taker = 0;  // a rank of the world that took the snapshot, and two of `holders`
};

/// So that each of the copies 0 .. copies - 1 that anybody holds is on two pods that stay, or on the only
/// one. What is given goes to another node where there are several, to takers that are chosen in turn. Copies
/// that are there already are not moved. Linear in ranks and copies but for the ranks of one node in a row.
std::vector<Gift> gifts(const std::vector<Holder>& holders, int copies);

}  // namespace elastic
