// SPDX-License-Identifier: Apache-2.0
// What many workers ask of the master. Promise: a message of one costs a look at that one.
#include <gtest/gtest.h>

#include <deque>
#include <future>
#include <string>
#include <vector>

#include "runtime/queue/master.hpp"
#include "runtime/queue/testing/by_hand.hpp"

namespace empi::queue {
namespace {

TEST(MasterWork, AWorkersMessageIsNoLookAtAllWorkers) {
  constexpr int kWorkers = 40, kRounds = 50;
  const Phase phase{1, 5000, 0};
  Master master("master", "127.0.0.1");
  // The master computes its own share until the workers have gone.
  struct Run {
    std::promise<void> over;
    std::future<bool> end = {};
    ~Run() { over.set_value(); }
  } run;
  run.end = std::async(std::launch::async, [&, over = run.over.get_future().share()] {
    return master.run(phase, {}, [&](std::int64_t, std::byte*) { over.wait(); }).left;
  });
  std::vector<Connection> workers;
  std::deque<Range> chunks;  // of the first worker
  for (int i = 0; i < kWorkers; ++i) {
    Connection& worker = workers.emplace_back(Connection::to(master.address(), 30));
    by_hand::say_hello(worker, master.address(), "worker " + std::to_string(i), Newcomer::Member, 0);
    worker.send({.kind = Kind::Enter, .phase = phase.number, .first = phase.tasks, .count = phase.width});
    worker.flush();
    for (std::size_t chunk = 0; chunk < kInFlight; ++chunk) {
      const Range tasks = by_hand::receive(worker, Kind::Work).tasks();
      if (i == 0) chunks.push_back(tasks);
    }
  }
  const std::uint64_t before = master.looks();
  for (int round = 0; round < kRounds; ++round) {
    const auto n = static_cast<double>(chunks.front().count);
    workers.front().send({.kind = Kind::Done,
                          .phase = phase.number,
                          .first = chunks.front().first,
                          .count = chunks.front().count,
                          .times = {chunks.front().count, 1e-3 * n, 1e-6 * n}});
    workers.front().flush();
    chunks.pop_front();
    chunks.push_back(by_hand::receive(workers.front(), Kind::Work).tasks());
  }
  EXPECT_LE(master.looks() - before, 4u * kRounds) << "of " << kWorkers << " workers";
}

}  // namespace
}  // namespace empi::queue
