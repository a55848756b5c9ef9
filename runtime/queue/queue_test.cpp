// SPDX-License-Identifier: Apache-2.0
// The queue alone. Promise: whatever is taken, done, given back, lost or handed over, in any order, every
// task is recorded exactly once and none is forgotten.
#include "runtime/queue/queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

namespace empi::queue {
namespace {

constexpr int kWorkers = 5;

std::string name_of(std::size_t worker) { return "worker " + std::to_string(worker); }

TaskTimes one_took(double seconds, std::int64_t tasks = 1) {
  const double n = static_cast<double>(tasks);
  return {tasks, seconds * n, seconds * seconds * n};
}

// Every task is done, waits or is in work (one that was done by two may be more than one of these).
void expect_nothing_forgotten(const TaskQueue& queue) {
  ASSERT_GE(queue.completed() + queue.queued() + queue.in_work(), queue.total());
}

class RandomHistories : public testing::TestWithParam<unsigned> {};

TEST_P(RandomHistories, RecordEveryTaskExactlyOnce) {
  std::mt19937 random(GetParam());
  const auto dice = [&](std::size_t sides) { return random() % sides; };
  const std::int64_t total = 1 + static_cast<std::int64_t>(dice(3000));
  TaskQueue queue(total);
  std::vector<int> recorded(static_cast<std::size_t>(total));
  std::vector<std::pair<WorkerId, Range>> late;  // results of workers that were given up for lost meanwhile
  const auto finish = [&](const WorkerId& worker, Range part) {
    for (const Range& fresh :
         queue.done(worker, part, one_took(1e-3 * static_cast<double>(1 + dice(20)), part.count)))
      for (std::int64_t t = fresh.first; t < fresh.end(); ++t) ++recorded[static_cast<std::size_t>(t)];
  };
  for (int step = 0; !queue.finished(); ++step) {
    ASSERT_LT(step, 200'000) << "no end";
    const WorkerId worker = name_of(dice(kWorkers));
    const std::vector<Range> held = queue.held(worker);
    switch (dice(step < 20'000 ? 12 : 6)) {
      case 6:
        for (const Range& range : held)
          if (dice(2) == 0) late.emplace_back(worker, range);
        queue.give_back(worker);
        break;
      case 7:
        if (!late.empty()) {
          finish(late.back().first, late.back().second);
          late.pop_back();
        }
        break;
      case 8:
        queue = TaskQueue::unpack(queue.pack());
        break;
      case 9:
        if (!held.empty()) queue.keep_only(worker, {held.front()});
        break;
      case 0:
      case 1:
        queue.take(worker, kWorkers);
        break;
      default: {  // a portion of the chunk in work, from its beginning
        if (held.empty()) break;
        Range part = held.front();
        part.count = 1 + static_cast<std::int64_t>(dice(static_cast<std::size_t>(part.count)));
        finish(worker, part);
      }
    }
    expect_nothing_forgotten(queue);
  }
  EXPECT_TRUE(std::ranges::all_of(recorded, [](int n) { return n == 1; }));
  EXPECT_EQ(queue.completed(), total);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomHistories, testing::Range(1u, 41u));

TEST(TaskQueue, GivesTwoChunksToAWorkerAndNoThird) {
  TaskQueue queue(1000);
  EXPECT_TRUE(queue.take("a", 2));
  EXPECT_TRUE(queue.take("a", 2));
  EXPECT_FALSE(queue.take("a", 2));
  EXPECT_TRUE(queue.take("b", 2));
}

TEST(TaskQueue, ChunksShrinkTowardsTheEnd) {
  TaskQueue queue(1000);
  queue.take("a", 4);
  queue.done("a", {0, 1}, one_took(1e-3));
  std::int64_t largest = 0, last = 0;
  while (const auto chunk = queue.take("a", 4)) {
    if (largest > 0) {
      EXPECT_LE(chunk->count, last);
    }
    largest = std::max(largest, chunk->count);
    last = chunk->count;
    queue.done("a", *chunk, one_took(1e-3, chunk->count));
  }
  EXPECT_GT(largest, 20);
  EXPECT_EQ(last, 1);
  EXPECT_TRUE(queue.finished());
}

TEST(TaskQueue, ChunksOfLongTasksAreShortAndOfShortTasksAreLong) {
  TaskQueue slow(100'000), quick(100'000);
  slow.take("a", 2);
  slow.done("a", {0, 1}, one_took(10));
  EXPECT_EQ(slow.take("a", 2)->count, 1) << "a task of 10 s";
  quick.take("a", 1000);
  quick.done("a", {0, 1}, one_took(1e-6));
  EXPECT_GE(quick.take("a", 1000)->count, 45) << "tasks of 1 us, few per worker";
}

// The master has a message for each chunk, of all workers: there is a rate that it can stand.
TEST(TaskQueue, ChunksOfManyWorkersAreLonger) {
  TaskQueue queue(40'000'000);
  for (const int workers : {100, 6400}) {
    const auto chunk = queue.take("a", workers);
    queue.done("a", *chunk, one_took(1e-3, chunk->count));
    const double seconds = 1e-3 * static_cast<double>(queue.take("a", workers)->count);
    EXPECT_LE(workers / seconds, 10'000) << workers << " workers";
    EXPECT_LE(seconds, std::max(0.1, workers * 1e-4) + 1e-9);
    queue.give_back("a");
  }
}

// A second chunk would only wait there while others have nothing to do.
TEST(TaskQueue, TowardsTheEndNobodyHoardsTasks) {
  TaskQueue queue(3);
  ASSERT_TRUE(queue.take("a", 4));
  EXPECT_FALSE(queue.take("a", 4));
  EXPECT_TRUE(queue.take("b", 4));
  EXPECT_TRUE(queue.take("c", 4));
}

TEST(TaskQueue, ALostWorkersTasksComeFirst) {
  TaskQueue queue(100);
  const auto chunk = queue.take("a", 2);
  queue.take("b", 2);
  EXPECT_EQ(queue.give_back("a"), chunk->count);
  EXPECT_EQ(queue.take("b", 2)->first, chunk->first);
}

TEST(TaskQueue, RefusesResultsOfTasksThatDoNotExist) {
  TaskQueue queue(10);
  EXPECT_THROW(queue.done("a", {8, 3}, {}), std::runtime_error);
  EXPECT_THROW(queue.done("a", {-1, 1}, {}), std::runtime_error);
}

TEST(TaskQueue, APackedQueueThatIsCutShortIsRefused) {
  TaskQueue queue(10);
  queue.take("a", 2);
  const auto packed = queue.pack();
  for (std::size_t length = 0; length < packed.size(); ++length)
    EXPECT_THROW(TaskQueue::unpack(std::span(packed).first(length)), std::runtime_error) << length;
  EXPECT_EQ(TaskQueue::unpack(packed).pack(), packed);
}

TEST(TaskQueue, NoTasksIsFinished) { EXPECT_TRUE(TaskQueue(0).finished()); }

TEST(TaskTimes, MeanAndSpread) {
  TaskTimes times;
  for (const double s : {1.0, 2.0, 3.0}) times.add(one_took(s));
  EXPECT_DOUBLE_EQ(times.mean(), 2);
  EXPECT_DOUBLE_EQ(times.deviation(), 1);
}

}  // namespace
}  // namespace empi::queue
