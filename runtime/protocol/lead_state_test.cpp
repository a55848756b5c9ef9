// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/lead_state.hpp"

#include <gtest/gtest.h>

namespace empi {
namespace {

// A controller reads all of it at each look; a job of tasks may lose any number of workers.
TEST(LeadStateTest, OfManyLostWorkersTheLastAreRemembered) {
  LeadState state;
  for (int i = 0; i < 40; ++i) {
    ChangeStatus lost;
    lost.request.id = "lost-" + std::to_string(i);
    state.remember(std::move(lost));
  }
  EXPECT_LT(state.history.size(), 32u);
  EXPECT_EQ(state.history.back().request.id, "lost-39");
}

}  // namespace
}  // namespace empi
