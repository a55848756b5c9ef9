// SPDX-License-Identifier: Apache-2.0
// Processes of a master-worker program as threads of this one, over real sockets, without MPI.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "runtime/queue/packing.hpp"
#include "runtime/queue/participant.hpp"
#include "runtime/queue/testing/worlds.hpp"

namespace empi::queue {

using namespace std::chrono_literals;

inline double work(std::int64_t index, double seed) {
  double x = seed + static_cast<double>(index);
  for (int i = 0; i < 40; ++i) x = std::sin(x) * 1.5 + 0.1;
  return x;
}

// The program that every process runs: phases whose tasks depend on the results before.
struct Program {
  int phases = 3;
  std::int64_t tasks = 200;
  std::chrono::microseconds pause{200};

  struct State {
    int phase = 0;
    double seed = 0.5;
  };
  static double reduce(const Bytes& results) {
    double sum = 0;
    for (std::size_t at = 0; at < results.size(); at += sizeof(double)) {
      double value = 0;
      std::memcpy(&value, results.data() + at, sizeof value);
      sum = sum * 0.75 + value;
    }
    return sum;
  }
  double alone() const {
    State s;
    for (; s.phase < phases; ++s.phase) {
      Bytes results(static_cast<std::size_t>(tasks) * sizeof(double));
      for (std::int64_t i = 0; i < tasks; ++i) {
        const double value = work(i, s.seed);
        std::memcpy(results.data() + static_cast<std::size_t>(i) * sizeof value, &value, sizeof value);
      }
      s.seed = reduce(results);
    }
    return s.seed;
  }
};

// A process: a thread with a Participant. `broken` makes it stop in its next task, as if it were killed.
struct Process {
  Process(std::string id, const Program& program, std::optional<std::string> pod = std::nullopt)
      : participant(std::move(id), "127.0.0.1", std::move(pod)), program(program) {}
  void start(bool joining) {
    thread = std::thread([this, joining] { run(joining); });
  }
  void run(bool joining) {
    try {
      Program::State s;
      if (joining) {
        const auto values = participant.await_values();
        if (!values) return finish(false);
        s = Unpacker(*values).get<Program::State>();
      }
      const auto pack = [&] {
        if (in_values) in_values();
        Packer out;
        out.put(s);
        return out.take();
      };
      for (; s.phase < program.phases; ++s.phase) {
        const double seed = s.seed;
        const Outcome outcome = participant.phase(
            program.tasks, sizeof(double),
            [&](std::int64_t i, std::byte* result) {
              do {
                if (broken && (holds || may_break())) throw Broken();
                if (holds) held = true, std::this_thread::sleep_for(std::chrono::milliseconds(1));
              } while (holds);
              ++done;
              std::this_thread::sleep_for(program.pause * (i % 5));
              const double value = work(i, seed);
              std::memcpy(result, &value, sizeof value);
            },
            pack);
        if (outcome.left) return finish(false);
        if (worlds) check_world(s.phase, outcome);
        s.seed = Program::reduce(*outcome.results);
      }
      result = s.seed;
      finish(true);
    } catch (const Broken&) {
      if (worlds) worlds->gone(name);
      participant.break_down();  // closes the connections, as the kernel does for a killed process
      over = true;
    } catch (const std::exception& e) {
      error = e.what();
      if (worlds) worlds->gone(name);
      participant.break_down();  // or the others would wait for it, instead of saying what went wrong
      over = true;
    }
  }
  // A master in the phase, not between two, and its mirror knows so.
  bool may_break() const {
    const auto figures = participant.figures();
    return !figures || figures->completed > 20;
  }
  void use(Worlds& all, const std::string& id) {
    worlds = &all;
    name = id;
    participant.use_world({.build =
                               [this](const std::string& world, const std::vector<WorkerId>& ranks) {
                                 if (breaks_in_build) throw Broken();
                                 worlds->begin(world, ranks, name, participant);
                               },
                           .adopt = [this](const std::string& world) { this->world = world; }});
  }
  void check_world(int phase, const Outcome& outcome) {
    worlds->expect_same(phase, world);
    if (world.empty()) return;  // that of the start still holds
    const auto ranks = worlds->ranks(world);
    EXPECT_EQ(static_cast<int>(ranks.size()), outcome.workers) << name;
    EXPECT_EQ(std::ranges::count(ranks, name), 1) << name;
    EXPECT_EQ(ranks.front() == name, participant.is_master()) << name;
  }
  void finish(bool to_the_end) {
    if (worlds) worlds->gone(name);
    was_master = participant.is_master();
    finished = to_the_end;
    if (lost_at_the_end) throw Broken();
    participant.finish();
    over = true;
  }
  struct Broken {};

  Participant participant;
  const Program program;
  Worlds* worlds = nullptr;
  std::string name, world;
  std::atomic<int> done{0};                  // tasks
  std::atomic<bool> lost_at_the_end{false};  // after its last phase
  std::atomic<bool> holds{false};            // in its task, until it is broken
  std::atomic<bool> held{false};             // it does
  std::function<void()> in_values;           // when a worker is about to be the master
  std::atomic<bool> broken{false}, breaks_in_build{false}, over{false}, finished{false}, was_master{false};
  double result = 0;
  std::string error;
  std::thread thread;
};

class Nodes : public testing::Test {
 public:
  ~Nodes() override {
    for (auto& [id, process] : all)
      if (process->thread.joinable()) process->thread.join();
  }

 protected:
  Process& add(const std::string& id, bool joining, const Program& p) {
    auto process = std::make_unique<Process>(id, p, pod);
    process->participant.on_master([this, id](const std::string& where) {
      const std::lock_guard lock(mutex);
      address = where;
      master = id;
      mirror.clear();
    });
    process->participant.on_mirror([this, id](const WorkerId& who) {
      const std::lock_guard lock(mutex);
      if (master == id) mirror = who;
    });
    if (all.empty())
      process->participant.be_master();
    else
      process->participant.be_worker(master_address(), joining);
    if (with_worlds) process->use(worlds, id);
    if (joining) {
      begin();
      process->start(true);
    }
    return *(all[id] = std::move(process));
  }
  // Whether there still was a program to join.
  bool add_joiner(const std::string& id, const Program& p) {
    try {
      add(id, true, p);
      return true;
    } catch (const std::runtime_error&) {  // it has just ended
      all.erase(id);
      return false;
    }
  }
  // Those from the start: when the master knows them all.
  void begin() {
    for (auto& [id, process] : all)
      if (!process->thread.joinable() && !process->over) process->start(false);
  }
  std::string master_address() {
    const std::lock_guard lock(mutex);
    return address;
  }
  void expect_all_done(const Program& p) {
    const double expected = p.alone();
    int finished = 0;
    begin();
    tell_of_deaths();
    for (auto& [id, process] : all) {
      process->thread.join();
      EXPECT_EQ(process->error, "") << id;
      if (!process->finished) continue;
      ++finished;
      EXPECT_EQ(process->result, expected) << id;
    }
    EXPECT_GT(finished, 0);
  }

  // What the agents do meanwhile when a process ends that should not: the master waits for who has been let
  // in.
  void tell_of_deaths() {
    std::set<std::string> told;
    while (std::ranges::any_of(all, [](const auto& entry) { return !entry.second->over; })) {
      for (auto& [id, process] : all)
        if (process->over && !process->error.empty() && told.insert(id).second) tell_lost(id);
      std::this_thread::sleep_for(1ms);
    }
  }

  // Whether it came to be so.
  template <class Condition>
  static bool wait_until(const Condition& is_so) {
    for (int ms = 0; ms < 30'000; ++ms) {
      if (is_so()) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }
  std::string mirror_of_master() {
    const std::lock_guard lock(mutex);
    return mirror;
  }
  std::string master_now() {
    const std::lock_guard lock(mutex);
    return master;
  }
  // What the agents do when a process is killed: all are told, and who mirrors the queue takes it over.
  void tell_lost(const std::string& victim) {
    const std::string next = master_now() == victim ? mirror_of_master() : "";
    for (auto& [id, process] : all)
      if (id != victim && !process->over) process->participant.lost(victim, next);
  }
  void kill_process(const std::string& victim) {
    all[victim]->broken = true;
    EXPECT_TRUE(wait_until([&] { return all[victim]->over.load(); }));
    tell_lost(victim);
  }
  // One whose queue is mirrored.
  std::string kill_master() {
    EXPECT_TRUE(wait_until([&] { return !mirror_of_master().empty(); })) << "nobody mirrors the queue";
    const std::string victim = master_now();
    kill_process(victim);
    return victim;
  }
  int tasks_done() const {
    int sum = 0;
    for (const auto& [id, process] : all) sum += process->done;
    return sum;
  }

  std::mutex mutex;
  std::string address, master, mirror;
  std::optional<std::string> pod;  // of those that are added; absent: each has one of its own
  bool with_worlds = false;
  std::map<std::string, std::unique_ptr<Process>> all;
  Worlds worlds;
};

}  // namespace empi::queue
