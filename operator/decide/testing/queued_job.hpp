// SPDX-License-Identifier: Apache-2.0
// A job of a queue, for tests of its side of that bargain; the test is the scheduler.
#pragma once
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "operator/decide/queueing.hpp"
#include "operator/decide/testing/world.hpp"

namespace emj::testing_world {

inline World queued(int min = 1, int max = 8, const std::string& spec = "", const std::string& worker = "") {
  return World(make_job("  scheduling: {queueName: main}\n" + spec, min, max, worker));
}

inline void give(World& world, int workers, int promised = 0) {
  AllocationStatus next = world.status().allocation.value_or(AllocationStatus{});
  next.workers = workers;
  next.promised = promised;
  next.pool = "cores";
  ++next.sequence;
  next.time = world.now;
  next.reason = "the test says so";
  world.grant = QueueGrant{next, QueueCause::Unknown, "", {}};
}

inline void say(World& world, QueueCause cause, const std::string& reason,
                std::optional<Time> start = std::nullopt) {
  world.grant = QueueGrant{std::nullopt, cause, reason, start};
}

inline int allocated(const World& world) { return world.status().allocation->workers; }

inline World running_with(int workers, int min = 1, const std::string& spec = "",
                          const std::string& worker = "") {
  World world = queued(min, 8, spec, worker);
  give(world, workers);
  world.settle(6);
  EXPECT_EQ(world.size(), workers);
  return world;
}

}  // namespace emj::testing_world
