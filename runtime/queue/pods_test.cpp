// SPDX-License-Identifier: Apache-2.0
// elastic::MasterWorker on pods that come and go, and the worlds of its phases.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <random>

#include "runtime/queue/testing/tasks_on_pods.hpp"

namespace elastic {
namespace {

using empi::Member;
using testing::TasksOnPods;
namespace fs = std::filesystem;

TEST_F(TasksOnPods, FixedSize) {
  start(2, 2, {"phases", "3", "tasks", "300"}, "300");
  expect_good_end();
}

TEST_F(TasksOnPods, TheControllerSeesTheQueue) {
  pods.environment[empi::names::kWindowMillis] = "100";
  start(2, 1, {"phases", "1", "tasks", "20000"}, "4000");
  std::optional<empi::WindowSample> seen;
  pods.wait_until("a window shows the queue", [&] {
    for (const empi::WindowSample& window : pods.samples())
      if (window.master_worker() && window.ranks == 2 && window.tasks.ended > 4) seen = window;
    return seen.has_value();
  });
  const empi::TaskQueue& queue = seen->tasks.queue;
  EXPECT_EQ(queue.phase, 1u);
  EXPECT_EQ(queue.total, 20000u);
  EXPECT_LT(queue.done + queue.queued, queue.total) << "some are in work";
  EXPECT_GT(queue.queued, 10000u);
  EXPECT_GT(seen->tasks.task_s / static_cast<double>(seen->tasks.ended), 0.0008) << "sleeps 0.8 to 8 ms";
  EXPECT_TRUE(empi::task_efficiency(*seen).known);
  expect_good_end();
}

TEST_F(TasksOnPods, GrowsAndShrinksWithinAPhase) {
  start(2, 2, {"phases", "2", "tasks", "20000"}, "4000");
  commit({.add = pods.launch(1)});
  commit({.remove = {members[1].uid}});
  commit({.add = pods.launch(1), .remove = {members[1].uid}});
  expect_good_end();
}

TEST_F(TasksOnPods, TheQueueIsHandedOverWhenRankZeroLeaves) {
  start(3, 1, {"phases", "2", "tasks", "20000"}, "4000");
  commit({.remove = {members[0].uid}});
  commit({.add = pods.launch(2), .remove = {members[0].uid}});
  commit({.remove = {members[0].uid, members[1].uid}});
  expect_good_end();
}

// Pods come and go, rank 0 and the lead like any other, in one phase.
TEST_F(TasksOnPods, AHundredRandomJoinsAndLeaves) {
  start(2, 1, {"phases", "1", "tasks", "60000"},
        "40000");  // minutes, unless hurried: a busy machine is slow to start pods
  std::mt19937 random(1);
  for (int joined_or_left = 0; joined_or_left < 100;) {
    empi::testing::WantedChange wanted;
    std::vector<Member> old = members;
    std::ranges::shuffle(old, random);
    const std::size_t most = members.size() < 3 ? members.size() - 1 : 2;
    for (std::size_t i = 0; i < random() % (most + 1); ++i) wanted.remove.push_back(old[i].uid);
    const std::size_t stay = members.size() - wanted.remove.size();
    if (stay < 5) wanted.add = pods.launch(static_cast<int>(random() % std::min<std::size_t>(3, 6 - stay)));
    joined_or_left += static_cast<int>(wanted.add.size() + wanted.remove.size());
    if (!wanted.add.empty() || !wanted.remove.empty()) commit(wanted);
  }
  EXPECT_FALSE(fs::exists(folder + "/result")) << "too few tasks for so many changes";
  expect_good_end();
}

// Sizes of the worlds after the phases so far.
std::vector<int> worlds(const std::string& folder) {
  std::vector<int> sizes;
  std::ifstream in(folder + "/result.worlds");
  for (int size = 0; in >> size;) sizes.push_back(size);
  return sizes;
}

// The program itself checks after every phase that the world is what it should be, and that it works.
TEST_F(TasksOnPods, TheWorldIsRebuiltAtTheEndOfAPhase) {
  start(2, 2, {"phases", "40", "tasks", "400", "world", "1"}, "4000");
  const auto wait_for_world_of = [&](int ranks) {
    pods.wait_until("a world of " + std::to_string(ranks), [&] {
      const auto sizes = worlds(folder);
      return !sizes.empty() && sizes.back() == ranks;
    });
  };
  wait_for_world_of(4);
  commit({.add = pods.launch(2)});
  wait_for_world_of(8);
  commit({.remove = {members[1].uid, members[2].uid}});
  wait_for_world_of(4);
  commit({.add = pods.launch(1), .remove = {members[0].uid}});  // the queue and rank 0 go
  commit({.add = pods.launch(1)});
  wait_for_world_of(6);
  EXPECT_LT(worlds(folder).size(), 40u) << "too few phases for so many changes";
  expect_good_end();
  EXPECT_EQ(worlds(folder).size(), 40u);
}

// Pods come and go at any moment of the phases, while worlds are built too.
TEST_F(TasksOnPods, WorldsWhilePodsComeAndGo) {
  start(2, 1, {"phases", "400", "tasks", "60", "world", "1"}, "4000");
  std::mt19937 random(3);
  for (int change = 0; change < 12; ++change) {
    empi::testing::WantedChange wanted;
    std::vector<Member> old = members;
    std::ranges::shuffle(old, random);
    if (members.size() > 1 && random() % 2 == 0) wanted.remove = {old[0].uid};
    if (members.size() < 5 || wanted.remove.empty())
      wanted.add = pods.launch(1 + static_cast<int>(random() % 2));
    if (members.size() + wanted.add.size() - wanted.remove.size() <= 6) commit(wanted);
  }
  EXPECT_FALSE(fs::exists(folder + "/result")) << "too few phases for so many changes";
  expect_good_end();
  EXPECT_EQ(worlds(folder).size(), 400u);
}

// Killed in a phase: the world is that of those who are left.
TEST_F(TasksOnPods, TheWorldIsRebuiltWithoutTheDead) {
  start(4, 1, {"phases", "3", "tasks", "20000", "world", "1"}, "4000");
  wait_until_all_work(4);
  commit({.add = pods.launch(1)});
  for (const std::size_t victim : {4, 2}) {
    kill(pods.ranks(members[victim].uid)[0], SIGKILL);
    expect_dropped(members[victim]);
  }
  expect_good_end();
  EXPECT_EQ(worlds(folder), (std::vector<int>{3, 3, 3}));
}

}  // namespace
}  // namespace elastic
