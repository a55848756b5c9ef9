// SPDX-License-Identifier: Apache-2.0
// Which pod keeps the copies of which (decision R18): on another node where there are several, for what takes
// a node takes all its pods; and far away, for ranks that are lost one right after the other are often
// neighbours (of one node, of one rack, of one merge of a recovery). Pure.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace elastic {

/// For each pod the one that keeps the copies of its ranks. `nodes`: a number for each pod's node, the pods
/// in the order of the world. A permutation without a fixed point, so that each keeps those of one other (a
/// single pod: its own). As few as can be are on the node of their guardian: none, unless a node has more
/// than half of the pods. Where the order of the world allows it they are half the world apart, and an even
/// number of pods are each other's. Of the same nodes the same on all ranks; n log n in the pods.
std::vector<int> guardians(std::span<const std::uint64_t> nodes);

}  // namespace elastic
