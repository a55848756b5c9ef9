// SPDX-License-Identifier: Apache-2.0
// What the sources of the application's calls share.
#pragma once
#include "runtime/protocol/page.hpp"

namespace empi::rank {

// Where this rank stands in the current world.
void describe_world(Page& page);

// One turn of a wait in which MPI must progress (others may be in collectives that pass through here).
void wait_a_little(int turn);

template <class T>
void give(T* out, T value) {
  if (out) *out = value;
}

}  // namespace empi::rank
