// SPDX-License-Identifier: Apache-2.0
// MPIX_Wish_adapt in a queue: what a running program says that it needs is not taken from it (rule Q15).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/testing/queue_world.hpp"

namespace emj {
namespace {

using ::testing::HasSubstr;
using testing::kPerfect;
using testing::QueueWorld;

// A runs on all 8, could run on 2, and says that it needs `least`; 0: it takes that back.
void a_needs(QueueWorld& world, int least) {
  Sample sample;
  sample.workers = 8;
  sample.wish_min = least;
  sample.wish_max = least > 0 ? 8 : 0;
  world.jobs["a"]->samples.push_back(sample);
}
void run_a(QueueWorld& world) {
  world.add("a", 2, 8, std::string(kPerfect) + ", expectedSeconds: 3600", "", "    replicas: 8\n");
  world.settle(8);
  ASSERT_EQ(world.jobs["a"]->size(), 8);
}

TEST(ProgramFloor, IsNotTakenForWhoComesLater) {
  QueueWorld world(8);
  run_a(world);
  a_needs(world, 6);
  world.settle(4);
  auto& b = world.add_rigid("b", 4);
  world.settle(20);
  EXPECT_EQ(world.jobs["a"]->size(), 8) << "nobody is shrunk in vain";
  EXPECT_EQ(b.status().state, JobState::Queued);
  EXPECT_THAT(b.status().queue->reason,
              HasSubstr("2 can be had from a (8 -> 6) (4 more are kept: programs say"));
  auto& c = world.add_rigid("c", 2);  // passes b, who cannot start before a ends
  world.settle(20);
  EXPECT_EQ(c.size(), 2);
  EXPECT_EQ(world.jobs["a"]->size(), 6);
  a_needs(world, 0);
  world.settle(30);
  EXPECT_EQ(b.size(), 4) << "taken back: the spec's minReplicas count";
  EXPECT_EQ(world.jobs["a"]->size(), 2);
}

TEST(ProgramFloor, DoesNotBreakAPromiseThatStood) {
  QueueWorld world(8);
  run_a(world);
  auto& b = world.add_rigid("b", 4);
  while (!b.status().allocation || b.status().allocation->promised == 0) world.turn();
  ASSERT_EQ(b.status().allocation->promised, 4);
  a_needs(world, 6);
  world.settle(30);
  EXPECT_EQ(b.size(), 4);
  EXPECT_EQ(world.jobs["a"]->size(), 4);
  EXPECT_THAT(world.jobs["a"]->status().allocation->reason,
              HasSubstr("(8 -> 4), below the 6 that its program says it needs: they were promised before"));
}

TEST(ProgramFloor, IsNoClaimToMoreThanItHas) {
  QueueWorld world(8);
  run_a(world);
  auto& b = world.add_rigid("b", 4);
  world.settle(30);
  ASSERT_EQ(b.size(), 4);
  a_needs(world, 6);
  auto& c = world.add_rigid("c", 2);
  world.settle(30);
  EXPECT_EQ(world.jobs["a"]->size(), 4);
  EXPECT_EQ(c.status().state, JobState::Queued);
}

}  // namespace
}  // namespace emj
