// SPDX-License-Identifier: Apache-2.0
// Pitfall 9, with a clock that stands still unless it is moved.

#include "operator/kube/work_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "operator/kube/testing/manual_clock.hpp"

namespace emj::kube {
namespace {

const ObjectKey a{"n", "a"}, b{"n", "b"}, c{"n", "c"};

class Queue : public ::testing::Test {
 protected:
  testing::ManualClock clock;
  WorkQueue queue{clock};
};

TEST_F(Queue, OnceHoweverOftenAdded) {
  queue.add(a);
  queue.add(b);
  queue.add(a);
  EXPECT_EQ(queue.take(), a);
  EXPECT_EQ(queue.take(), b);
  EXPECT_EQ(queue.stats().ready, 0u);
  EXPECT_EQ(queue.stats().in_hand, 2u);
}

TEST_F(Queue, NeverInTwoHandsAndAgainAfterwards) {
  queue.add(a);
  EXPECT_EQ(queue.take(), a);
  queue.add(a);
  queue.add(a);
  queue.add(b);
  EXPECT_EQ(queue.take(), b);  // a is in hand
  EXPECT_EQ(queue.stats().ready, 0u);
  queue.done(a);
  EXPECT_EQ(queue.take(), a);
  queue.done(a);
  EXPECT_EQ(queue.stats().ready, 0u);
}

TEST_F(Queue, DelaysAreKeptAndTheEarliestCounts) {
  queue.add_after(a, Millis(100));
  queue.add_after(a, Millis(50));
  queue.add_after(a, Millis(200));
  queue.add_after(b, Millis(70));
  std::vector<ObjectKey> taken;
  std::thread worker([&] {
    while (const auto key = queue.take()) {
      taken.push_back(key->key);
      queue.done(*key);
      if (taken.size() == 2) return;
    }
  });
  EXPECT_EQ(clock.next_wait(), Millis(50));
  clock.advance(Millis(50));
  EXPECT_EQ(clock.next_wait(), Millis(20));
  clock.advance(Millis(20));
  worker.join();
  EXPECT_EQ(taken, (std::vector<ObjectKey>{a, b}));
  EXPECT_EQ(queue.stats().delayed, 0u);
}

TEST_F(Queue, AnEarlierAddWakesASleepingTaker) {
  queue.add_after(a, Seconds(1000));
  std::optional<ObjectKey> taken;
  std::thread worker([&] { taken = queue.take(); });
  EXPECT_EQ(clock.next_wait(), Seconds(1000));
  queue.add(b);
  worker.join();
  EXPECT_EQ(taken, b);
}

TEST_F(Queue, NewsGoBeforeLooks) {
  queue.add(a, WorkQueue::Lane::Look);
  queue.add_after(b, Millis(0));
  queue.add(c);
  EXPECT_EQ(queue.stats().ready, 3u);
  clock.advance(Millis(30));
  const auto first = queue.take();
  EXPECT_EQ(first, c);
  EXPECT_EQ(first->lane, WorkQueue::Lane::News);
  EXPECT_EQ(first->waited, Millis(30));
  EXPECT_EQ(queue.take(), a);
  EXPECT_EQ(queue.take(), b);
}

TEST_F(Queue, ALookThatIsNewsByNowGoesWithTheNews) {
  queue.add(a, WorkQueue::Lane::Look);
  queue.add(b, WorkQueue::Lane::Look);
  queue.add(b);
  queue.add(b, WorkQueue::Lane::Look);  // and stays there
  EXPECT_EQ(queue.take(), b);
  EXPECT_EQ(queue.take(), a);
  queue.add(a, WorkQueue::Lane::Look);  // in hand
  queue.add(b, WorkQueue::Lane::Look);
  queue.add(b);
  queue.done(a);
  queue.done(b);
  EXPECT_EQ(queue.take(), b);
  EXPECT_EQ(queue.take(), a);
  EXPECT_EQ(queue.stats().ready, 0u);
}

TEST_F(Queue, LooksAreNotForgottenOverNews) {
  queue.add(a, WorkQueue::Lane::Look);
  queue.add(b, WorkQueue::Lane::Look);
  int news = 0;
  for (int looks = 0; looks < 2; ++looks) {
    for (;; ++news) {
      queue.add({"news", std::to_string(news)});
      const auto taken = queue.take();
      queue.done(taken->key);
      if (taken->lane == WorkQueue::Lane::Look) break;
      ASSERT_LE(news, 4 * WorkQueue::kNewsInARow);
    }
    EXPECT_EQ(queue.stats().in_hand, 0u);
  }
  EXPECT_EQ(news, 2 * WorkQueue::kNewsInARow);
}

// With sixty threads that have nothing to do, a key that is due woke all of them.
TEST(QueueThreads, AKeyWakesOneThreadNotAll) {
  testing::ManualClock clock;
  WorkQueue queue(clock);
  constexpr int workers = 16;
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int w = 0; w < workers; ++w)
    threads.emplace_back([&] {
      while (const auto key = queue.take()) {
        ++taken;
        queue.done(key->key);
      }
    });
  const auto all_taken = [&](int count) {
    const auto end = std::chrono::steady_clock::now() + Seconds(20);
    while (taken < count && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return taken == count;
  };
  queue.add_after(a, Seconds(1));
  EXPECT_EQ(clock.next_wait(Seconds(1)), Seconds(1));
  const auto before = queue.stats().wake_ups;
  for (int i = 1; i <= 20; ++i) {
    queue.add(b);
    EXPECT_TRUE(all_taken(i));
  }
  EXPECT_LE(queue.stats().wake_ups - before, 20u * 2u);
  clock.advance(Seconds(1));
  EXPECT_TRUE(all_taken(21)) << "another thread keeps the time, if the one that did has taken a key";
  queue.shut_down();
  for (auto& thread : threads) thread.join();
}

TEST_F(Queue, BackoffFromFiveMillisecondsToAThousandSeconds) {
  Millis expected(5);
  for (int i = 0; i < 25; ++i) {
    queue.add_after_failure(a);
    EXPECT_EQ(queue.failures(a), i + 1);
    std::optional<ObjectKey> taken;
    std::thread worker([&] { taken = queue.take(); });
    EXPECT_EQ(clock.next_wait(), std::min<Millis>(expected, Seconds(1000)));
    clock.advance(expected);
    worker.join();
    EXPECT_EQ(taken, a);
    queue.done(a);
    expected *= 2;
    if (expected > Seconds(1000)) expected = Seconds(1000);
  }
  queue.forget(a);
  EXPECT_EQ(queue.failures(a), 0);
  queue.add_after_failure(a);
  EXPECT_EQ(queue.stats().delayed, 1u);
  clock.advance(Millis(5));
  EXPECT_EQ(queue.take(), a);
}

// Pitfall 18: no new work, and the key in hand is finished.
TEST_F(Queue, ShutdownWaitsForTheKeyInHand) {
  queue.add(a);
  EXPECT_EQ(queue.take(), a);
  queue.add(b);
  queue.add(a);
  std::thread idle([&] {
    EXPECT_EQ(queue.take(), b);
    EXPECT_EQ(queue.take(), std::nullopt);
    queue.done(b);
  });
  while (queue.stats().taken < 2) std::this_thread::yield();
  queue.shut_down();
  idle.join();
  queue.add(c);
  EXPECT_EQ(queue.take(), std::nullopt);
  bool drained = false;
  std::thread waiter([&] { drained = queue.drain(Seconds(10)); });
  EXPECT_EQ(clock.next_wait(), Seconds(10));
  queue.done(a);
  waiter.join();
  EXPECT_TRUE(drained);
}

TEST_F(Queue, DrainHasALimit) {
  queue.add(a);
  queue.take();
  queue.shut_down();
  bool drained = true;
  std::thread waiter([&] { drained = queue.drain(Seconds(10)); });
  EXPECT_EQ(clock.next_wait(), Seconds(10));
  clock.advance(Seconds(10));
  waiter.join();
  EXPECT_FALSE(drained);
}

TEST(QueueThreads, NoKeyIsLostOrHeldTwice) {
  WorkQueue queue;
  constexpr int keys = 20, rounds = 500, workers = 4;
  std::vector<std::atomic<int>> holders(keys), wanted(keys), done(keys);
  std::atomic<bool> twice{false};
  std::vector<std::thread> threads;
  for (int w = 0; w < workers; ++w)
    threads.emplace_back([&] {
      while (const auto key = queue.take()) {
        const int k = std::stoi(key->key.name);
        if (++holders[k] != 1) twice = true;
        done[k] = wanted[k].load();  // what was wanted before this pass began is served by it
        std::this_thread::yield();
        --holders[k];
        queue.done(*key);
      }
    });
  for (int r = 0; r < rounds; ++r)
    for (int k = 0; k < keys; ++k) {
      ++wanted[k];
      r % 7 == 0 ? queue.add_after({"", std::to_string(k)}, Millis(1)) : queue.add({"", std::to_string(k)});
    }
  for (;;) {
    const auto stats = queue.stats();
    if (stats.ready + stats.delayed + stats.in_hand == 0) break;
    std::this_thread::yield();
  }
  queue.shut_down();
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(twice);
  for (int k = 0; k < keys; ++k) EXPECT_EQ(done[k], rounds) << k;
}

}  // namespace
}  // namespace emj::kube
