// SPDX-License-Identifier: Apache-2.0
// A simulated job that grows, without faults: what that asks of its lead.
#pragma once
#include "runtime/agent/lead/testing/world.hpp"

namespace empi::agent::histories {

struct Growth {
  bool committed = false;
  Meter lead;
};

// A job of `pods` / 2 pods with `slots` ranks each grows to `pods`. The same every time.
Growth grow_from_half(int pods, int slots);

}  // namespace empi::agent::histories
