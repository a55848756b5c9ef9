// SPDX-License-Identifier: Apache-2.0
// What a queue's status says to people and to those who count.

#include "operator/controller/queue_books.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/decide/queue/testing/jobs.hpp"

namespace emj {
namespace {

using queue::Resources;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kGibi = std::int64_t{1} << 30;

// A pool of `capacity`, of which one job has three workers and waits for nobody.
QueueStatus described(PoolRoom room, const Resources& worker) {
  queue::QueueState state;
  room.pool.capacity -= room.foreign;
  state.pools = {room.pool};
  state.pools[0].capacity -= room.unplaceable;
  queue::Demand job = queue::testing_queue::running(queue::testing_queue::job("a", 1, 8), 3);
  job.worker = worker;
  job.allocation.promised = 4;
  state.jobs = {job};
  QueueStatus status;
  describe_queue(status, ElasticQueue{}, state, {room}, {}, queue::testing_queue::kStart);
  return status;
}

TEST(QueueBooks, SayWhoHasWhatOfMemoryAndDevices) {
  const auto gpu = queue::device_of_nodes("example.com/gpu");
  ASSERT_TRUE(gpu);
  PoolRoom room;
  room.pool.capacity = {16'000, 64 << 10};
  room.pool.capacity.devices[*gpu] = 8;
  room.foreign = {1000, 4 << 10};
  room.unplaceable = {2000, 2 << 10};
  Resources worker{1000, 8 << 10};
  worker.devices[*gpu] = 2;
  const PoolStatus pool = described(room, worker).pools.at(0);
  EXPECT_EQ(pool.held_milli_cpu, 3000);
  EXPECT_THAT(pool.resources,
              ElementsAre(ResourceStatus{"memory", 60 * kGibi, 24 * kGibi, 8 * kGibi, 4 * kGibi, 2 * kGibi},
                          ResourceStatus{"example.com/gpu", 8, 6, 2, 0, 0}));
  const QueueStatus before = described(room, worker);
  room.pool.capacity.devices[*gpu] = 7;
  EXPECT_TRUE(urgent(before, described(room, worker))) << "a device less is another capacity";
}

TEST(QueueBooks, SayNothingOfWhatAPoolDoesNotBound) {
  PoolRoom room;
  room.pool.capacity = queue::everything(kNotCounted);
  room.pool.capacity.milli_cpu = 4000;
  EXPECT_THAT(described(room, {1000, 1024}).pools.at(0).resources, IsEmpty());
}

TEST(QueueBooks, HowMuchWasUsedIsNoNewsAndByWhomIs) {
  QueueStatus before;
  before.usage = {{"a", 2}, {"b", 1}};
  QueueStatus now = before;
  now.usage = {{"b", 3}, {"a", 2}};
  now.busy_percent = 70;
  EXPECT_TRUE(same_but_for_use(before, now));
  now.usage.push_back({"c", .1});
  EXPECT_FALSE(same_but_for_use(before, now));
}

// The clock of the machine may be set while somebody lets go, and a donor may be in a long iteration.
TEST(QueueBooks, AReleaseIsCountedWithinBounds) {
  QueueStatus status;
  for (int i = 0; i < 3; ++i) count_release(status, -3600);
  EXPECT_GE(status.release_seconds, 0);
  EXPECT_LE(status.release_seconds, 5);
  for (int i = 0; i < 300; ++i) count_release(status, 36'000);
  EXPECT_LE(status.release_seconds, 300);
  status.release_seconds = -175;  // as an operator before this one has left it
  EXPECT_EQ(release_seconds(status), 0);
  count_release(status, 6);
  EXPECT_NEAR(status.release_seconds, .3, 1e-9);
}

}  // namespace
}  // namespace emj
