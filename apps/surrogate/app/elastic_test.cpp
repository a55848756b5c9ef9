// SPDX-License-Identifier: Apache-2.0
// Promise: workers that join, leave and break down within a phase, a hundred times, the one with the queue
// among them, do not change a bit of the grid and of the samples. A worker is a thread with a participant of
// its own and its own Inversion; resize_test.cpp does the same with some real processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "apps/surrogate/app/inversion.hpp"
#include "apps/surrogate/app/testing/run_through.hpp"
#include "runtime/queue/packing.hpp"
#include "runtime/queue/participant.hpp"

namespace surrogate {
namespace {

using namespace std::chrono_literals;
using empi::queue::Bytes;
using empi::queue::Participant;

constexpr int kChanges = 100;

// What the workers of one run share in this test, beside the sockets.
struct Job {
  std::mutex mutex;
  std::string queue;                     // where it is
  std::map<std::int64_t, State> states;  // at the beginning of the phases
  std::atomic<int> changes{0};
  std::atomic<std::int64_t> model_runs{0};

  // Keeps the phase from ending before all changes were made, as long as a change takes less than seconds.
  void pace() {
    const std::int64_t mine = ++model_runs;
    for (int ms = 0; ms < 300 && changes < kChanges && mine > 40 + 12 * (changes + 1); ++ms)
      std::this_thread::sleep_for(1ms);
  }
  std::string address() {
    const std::lock_guard lock(mutex);
    return queue;
  }
  Bytes keep(const State& state) {
    const std::lock_guard lock(mutex);
    states[state.phase] = state;
    empi::queue::Packer out;
    out.put(state.phase);
    return out.take();
  }
  State state_in(const Bytes& values) {
    const std::lock_guard lock(mutex);
    return states.at(empi::queue::Unpacker(values).get<std::int64_t>());
  }
  std::int64_t phase() {
    const std::lock_guard lock(mutex);
    return states.empty() ? 0 : states.rbegin()->first;
  }
};

Problem problem(Job* job) {
  Problem p;
  for (const char* name : {"a", "b", "c", "d", "e"}) p.parameters.push_back({name, 0.2, 1.4});
  p.outputs = 3;
  p.model = [job](std::span<const double> x, std::span<double> y) {
    if (job != nullptr) job->pace();
    for (std::size_t k = 0; k < y.size(); ++k) {
      const double s = static_cast<double>(k + 1);
      y[k] = std::sin(s * x[0] + x[1]) * std::exp(-x[2] * x[3]) + s * x[4];
    }
  };
  p.truth = {0.5, 0.6, 0.7, 0.8, 0.9};
  return p;
}

// One grid, of 1471 points: the second phase.
Settings settings() {
  Settings s;
  s.reference_points = 20;
  s.level = 5;
  s.tolerance = 1;
  s.ensembles = 4;
  s.samples = 64;
  s.sampler.chains = 3;
  s.sampler.burn_in = 100;
  return s;
}

class Worker {
 public:
  Worker(Job& job, std::string id) : id(std::move(id)), participant(this->id, "127.0.0.1"), job_(job) {
    participant.on_master([this](const std::string& where) {
      const std::lock_guard lock(job_.mutex);
      job_.queue = where;
    });
  }
  ~Worker() {
    if (thread_.joinable()) thread_.join();
  }
  // To where the queue is: it may just be on its way to another worker.
  void connect(bool joining) {
    for (int tries = 0;; ++tries) try {
        return participant.be_worker(job_.address(), joining);
      } catch (const std::runtime_error&) {
        if (tries == 1000) throw;
        std::this_thread::sleep_for(1ms);
      }
  }
  void start(bool joining) {
    thread_ = std::thread([this, joining] {
      try {
        run(joining);
      } catch (const Broken&) {
        ended_broken = true;
      } catch (const std::exception& e) {
        error = e.what();
      }
      if (ended_broken || !error.empty())
        participant.break_down();  // its connection is closed, as the kernel does for a killed process
      else
        participant.finish();
      over = true;
    });
  }
  void wait() {
    for (int ms = 0; !over; ++ms) {
      if (ms == 120'000) {
        std::fprintf(stderr, "worker %s does not end\n", id.c_str());
        std::_Exit(1);  // its thread could not be joined
      }
      std::this_thread::sleep_for(1ms);
    }
  }

  const std::string id;
  Participant participant;
  std::atomic<bool> broken{false}, ended_broken{false}, over{false};
  std::uint64_t fingerprint = 0;  // 0: it was not there at the end
  std::string error;

 private:
  struct Broken {};

  void run(bool joining) {
    Inversion inversion(problem(&job_), settings());
    if (joining) {
      const auto values = participant.await_values();
      if (!values) return;
      inversion.state() = job_.state_in(*values);
      inversion.restore();
    }
    while (!inversion.done()) {
      const Work work = inversion.next();
      std::vector<double> row(static_cast<std::size_t>(work.width));
      const std::size_t bytes = row.size() * sizeof(double);
      const auto outcome = participant.phase(
          work.count, static_cast<std::int64_t>(bytes),
          [&](std::int64_t index, std::byte* result) {
            if (broken) throw Broken();
            work.task(index, row);
            std::memcpy(result, row.data(), bytes);
          },
          [&] { return job_.keep(inversion.state()); });
      if (outcome.left) return;
      std::vector<double> rows(outcome.results->size() / sizeof(double));
      std::memcpy(rows.data(), outcome.results->data(), outcome.results->size());
      inversion.absorb(rows);
    }
    fingerprint = inversion.fingerprint();
  }

  Job& job_;
  std::thread thread_;
};

std::uint64_t alone() {
  Inversion inversion(problem(nullptr), settings());
  test::run_through(inversion);
  return inversion.fingerprint();
}

TEST(ElasticInversion, AHundredJoinsAndLeavesInAPhaseDoNotChangeABit) {
  Job job;
  std::vector<std::unique_ptr<Worker>> all;
  std::vector<Worker*> members;
  const auto add = [&](bool joining) {
    all.push_back(std::make_unique<Worker>(job, "w" + std::to_string(all.size())));
    Worker& worker = *all.back();
    if (all.size() == 1)
      worker.participant.be_master(1);
    else
      worker.connect(joining);
    worker.start(joining);
    members.push_back(&worker);
  };
  add(false);
  add(false);
  while (job.phase() == 0) std::this_thread::yield();  // the grid's phase has begun

  std::mt19937 random(7);
  int handed_over = 0, broken = 0;
  for (; job.changes < kChanges; ++job.changes) {
    Worker& chosen = *members[random() % members.size()];
    const bool join = members.size() < 2 || (members.size() < 6 && random() % 2 == 0);
    if (join) {
      add(true);
      continue;
    }
    handed_over += chosen.participant.is_master();
    if (chosen.participant.is_master() || random() % 3 > 0) {
      chosen.participant.leave({chosen.id});
    } else {
      chosen.broken = true;
      ++broken;
    }
    chosen.wait();
    EXPECT_EQ(chosen.error, "") << chosen.id;
    std::erase(members, &chosen);
  }
  EXPECT_EQ(job.phase(), 1) << "the phase ended before all changes were made";
  EXPECT_GT(handed_over, 3);
  EXPECT_GT(broken, 3);

  const std::uint64_t expected = alone();
  for (Worker* member : members) {
    member->wait();
    EXPECT_EQ(member->error, "") << member->id;
    EXPECT_EQ(member->fingerprint, expected) << member->id;
  }
}

}  // namespace
}  // namespace surrogate
