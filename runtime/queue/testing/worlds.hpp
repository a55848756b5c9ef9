// SPDX-License-Identifier: Apache-2.0
// MPI's part of a world at the end of a phase, for tests without MPI.
#pragma once
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/queue/participant.hpp"

namespace empi::queue {

// In place of MPI: a world is there when all its ranks have begun to build it.
class Worlds {
 public:
  Worlds() : thread_([this] { run(); }) {}
  ~Worlds() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void begin(const std::string& name, const std::vector<WorkerId>& ranks, const WorkerId& id,
             Participant& participant) {
    const std::lock_guard lock(mutex_);
    World& world = worlds_[name];
    world.ranks = ranks;
    world.begun[id] = &participant;
    changed_.notify_all();
  }
  void gone(const WorkerId& id) {  // it builds nothing any more
    const std::lock_guard lock(mutex_);
    for (auto& [name, world] : worlds_) world.begun.erase(id);
  }
  std::vector<WorkerId> ranks(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return worlds_[name].ranks;
  }
  // All that have ended this phase are in the same world.
  void expect_same(int phase, const std::string& name) {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(after_.try_emplace(phase, name).first->second, name) << "after phase " << phase;
  }

 private:
  struct World {
    std::vector<WorkerId> ranks;
    std::map<WorkerId, Participant*> begun;
    bool told = false;
  };
  void run() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      std::vector<std::pair<std::string, std::map<WorkerId, Participant*>>> told;
      for (auto& [name, world] : worlds_) {
        if (world.told || world.begun.size() < world.ranks.size()) continue;
        world.told = true;
        told.emplace_back(name, world.begun);
      }
      if (told.empty()) {  // with the lock held since the look: nothing is missed
        changed_.wait(lock);
        continue;
      }
      // Without the lock: participants call `begin` with theirs held.
      lock.unlock();
      for (const auto& [name, begun] : told)
        for (const auto& [id, participant] : begun) participant->world_built(name, "");
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::map<std::string, World> worlds_;
  std::map<int, std::string> after_;
  std::thread thread_;
};

}  // namespace empi::queue
