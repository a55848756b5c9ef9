// SPDX-License-Identifier: Apache-2.0
// Rule Q34: where changes cost nothing and nothing must rest, a full machine comes to rest all the same.
#include <gtest/gtest.h>

#include <vector>

#include "operator/decide/queue/plan.hpp"
#include "operator/decide/queue/testing/jobs.hpp"

namespace emj::queue {
namespace {

using namespace testing_queue;

// 64 cores, all held by malleable jobs; rigid and malleable ones wait.
QueueState full_machine() {
  QueueState state = machine(64);
  state.rules.growth.cooldown = state.rules.moves.rest = Seconds(0);
  for (int i = 0; i < 8; ++i)
    state.jobs.push_back(running(job("runs-" + std::to_string(i), 2 + i % 3, 16, i), 8));
  for (int i = 0; i < 6; ++i) {
    const int size = 3 + 2 * i;
    state.jobs.push_back(job("waits-" + std::to_string(i), i % 2 == 0 ? size : 2, size, 10 + i));
  }
  for (Demand& demand : state.jobs) demand.lost_seconds = 0;
  return state;
}

enum class Freed { BelongsToWhomItWasFreedFor, IsAnybodys };

// Grants of each of so many passes at one instant. Pods that have to go have gone before the next.
std::vector<int> passes(int count, Freed freed) {
  QueueState state = full_machine();
  std::vector<int> grants;
  for (int i = 0; i < count; ++i) {
    const Plan plan = schedule(state, at(100));
    carry_out(state, plan, at(100));
    for (Demand& demand : state.jobs) release(demand);
    if (freed == Freed::IsAnybodys)
      for (Demand& demand : state.jobs) demand.allocation.promised = 0;
    grants.push_back(static_cast<int>(plan.grants.size()));
  }
  return grants;
}

TEST(Livelock, TenThousandPassesAtOneInstantMakeFewChanges) {
  const std::vector<int> grants = passes(10'000, Freed::BelongsToWhomItWasFreedFor);
  int all = 0, late = 0;
  for (std::size_t i = 0; i < grants.size(); ++i) (i < 60 ? all : late) += grants[i];
  EXPECT_GT(all, 6) << "some start, by shrinking others";
  EXPECT_LE(all, 14 * 10) << "of fourteen jobs";
  EXPECT_EQ(late, 0);
}

// That is what promises are for: without them the donor takes back what it has let go of, for ever.
TEST(Livelock, WhereWhatIsFreedIsAnybodysItNeverEnds) {
  const std::vector<int> grants = passes(1'000, Freed::IsAnybodys);
  EXPECT_GT(grants.back(), 0);
}

}  // namespace
}  // namespace emj::queue
