// SPDX-License-Identifier: Apache-2.0
// What a grow asks of the lead is linear in the pods, and does not depend on how many ranks a pod has. What
// is counted is messages and bytes; `./dev bench change-scale` tells the time.
#include <gtest/gtest.h>

#include "runtime/agent/lead/testing/grow.hpp"

namespace empi::agent::histories {
namespace {

Meter cost_of_grow(int pods, int slots) {
  const Growth growth = grow_from_half(pods, slots);
  EXPECT_TRUE(growth.committed) << pods << " pods of " << slots << " ranks";
  return growth.lead;
}

// One report a pod and phase, however many of its ranks come to it.
TEST(ChangeScale, TheLeadHearsPodsNotRanks) {
  const Meter few = cost_of_grow(8, 2), many = cost_of_grow(8, 32);
  EXPECT_LT(many.heard, 2 * few.heard);
  EXPECT_LT(many.said, 2 * few.said);
  EXPECT_LT(many.encoded, 2 * few.encoded);
}

// Four times as many pods: something quadratic would be sixteen times as much.
TEST(ChangeScale, WhatTheLeadHearsAndSaysIsLinearInThePods) {
  const Meter few = cost_of_grow(10, 2), many = cost_of_grow(40, 2);
  EXPECT_LT(many.heard, 6 * few.heard);
  EXPECT_LT(many.said, 6 * few.said);
  EXPECT_LT(many.encoded, 6 * few.encoded);
}

}  // namespace
}  // namespace empi::agent::histories
