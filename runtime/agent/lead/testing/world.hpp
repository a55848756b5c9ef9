// SPDX-License-Identifier: Apache-2.0
// What all pods of a simulated history share.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/agent/lead/testing/network.hpp"

namespace empi::agent::histories {

class SimulatedPod;
class Program;

// What one pod has to do with the others as their lead: its Pod and Lead, the channel, and the coding of all
// that goes through it. Benchmarks ask for it; then programs do all that real ones do, nobody is late by
// chance, and the batches of this pod travel as bytes.
struct Meter {
  std::string uid;
  std::chrono::nanoseconds busy{0};   // processor time
  std::uint64_t heard = 0, said = 0;  // messages, those of the own pod not counted
  std::uint64_t encoded = 0;          // bytes of messages that were encoded
  bool on = false, running = false;
  std::chrono::nanoseconds began{0};
};

// Counts the processor time of a scope in which a pod leads or talks; none: nobody measures.
class Measured {
 public:
  explicit Measured(Meter* meter);
  ~Measured();
  Measured(const Measured&) = delete;
  Measured& operator=(const Measured&) = delete;

 private:
  Meter* const meter_;
};

// Not that of a scope in it, in which the simulated program has its turn.
class Unmeasured {
 public:
  explicit Unmeasured(Meter* meter);
  ~Unmeasured();
  Unmeasured(const Unmeasured&) = delete;
  Unmeasured& operator=(const Unmeasured&) = delete;

 private:
  Meter* const meter_;
};

struct World {
  explicit World(std::uint64_t seed);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  Events events;
  Dice dice;
  Network network;
  Program* program = nullptr;
  std::map<std::string, std::unique_ptr<SimulatedPod>> pods;
  MessageCount messages{};
  std::set<std::string> unreachable;                // pods that were given up, and could not be reached then
  std::function<void(const SimulatedPod&)> on_end;  // of a pod, whose outcome is there
  std::vector<std::string> violations;
  std::vector<std::string> story;  // what has befallen whom, to be read where something is violated
  Meter* meter = nullptr;
  bool tells_messages = false;

  void tell(const std::string& what);
  void tell_message(const std::string& what);  // to the log alone
  void violate(const std::string& what) { violations.push_back(what); }
  SimulatedPod* find(const std::string& uid);
};

}  // namespace empi::agent::histories
