// SPDX-License-Identifier: Apache-2.0
// Ranks as agents start them, which say nothing to each other before they have something to say, sleep while
// they wait for messages (testing/asleep_program.cpp is the same without agents).
#include <gtest/gtest.h>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"

namespace empi {
namespace {

TEST(WaitingOnPods, IsSleeping) {
  for (const char* mode : {"malleable", "rigid"}) {
    testing::LocalPods pods;
    pods.mode = mode;
    pods.slots = 1;
    pods.command = {testing::beside("asleep_program"), "tcp"};
    const auto members = pods.launch(2);
    pods.start(members);
    for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << mode << '\n' << pods.all_logs();
  }
}

}  // namespace
}  // namespace empi
