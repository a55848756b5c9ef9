// SPDX-License-Identifier: Apache-2.0
// A job that runs, for tests of what happens to it then.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "operator/decide/testing/world.hpp"

namespace emj::testing_world {

inline World started(int size, const std::string& spec = "", int min = 1, int max = 8) {
  World world(make_job(spec, min, max, "    replicas: " + std::to_string(size) + "\n"));
  world.settle(4);
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(world.size(), size);
  world.events.clear();
  return world;
}

// 1 -> 4 workers where three pods fit, until three run and the rest is awaited.
inline World three_of_four(const std::string& spec = "") {
  World world = started(1, spec);
  world.room = 3;
  world.ask_for(4);
  world.settle(12);
  EXPECT_EQ(world.status().state, JobState::Running);
  EXPECT_EQ(to_string(world.status().active_workers), "0-2");
  return world;
}

}  // namespace emj::testing_world

#define EXPECT_PROMISES_KEPT(world) EXPECT_THAT((world).broken, ::testing::IsEmpty())
