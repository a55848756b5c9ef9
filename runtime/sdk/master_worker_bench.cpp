// SPDX-License-Identifier: Apache-2.0
// ./dev bench masterworker [SECONDS]: how much of the time that workers are there they spend in tasks.
//
// Eight emulated pods (slow cores), tasks of 10 ms on the average, the longest ten times the shortest. First
// at a fixed size; then pods join and leave at random, each 5 s, the one with the queue too. A pod that joins
// is counted from the start of its program.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"
#include "runtime/protocol/names.hpp"

namespace {

using empi::Member;
using empi::testing::LocalPods;
namespace fs = std::filesystem;

constexpr int kPods = 8;
constexpr double kMeanMs = 10;
constexpr int kSlowdown = 8;
constexpr std::chrono::seconds kBetweenChanges{5};

struct Sums {
  double present = 0, busy = 0, idle = 0;
  int ranks = 0;
};

class Run {
 public:
  explicit Run(double seconds) {
    char name[] = "/tmp/empi-bench-tasks.XXXXXX";
    if (!mkdtemp(name)) throw std::runtime_error("cannot make a folder");
    folder_ = name;
    fs::create_directory(folder_ + "/phases");
    pods_.slots = 1;
    pods_.patience = std::chrono::seconds(300);
    pods_.environment[empi::names::kSlowdown] = std::to_string(kSlowdown);
    const auto tasks = static_cast<long>(seconds * kPods / (kMeanMs * 1e-3));
    pods_.command = {empi::testing::beside("bench_tasks"), folder_, std::to_string(tasks),
                     std::to_string(kMeanMs)};
    members_ = pods_.launch(kPods);
    pods_.start(members_);
  }
  ~Run() { fs::remove_all(folder_); }

  bool over() {
    return std::ranges::all_of(members_, [&](const Member& m) { return !pods_.running(m.uid); });
  }

  // 4 to 8 pods. Returns how many came and went.
  int change(std::mt19937& random) {
    empi::testing::WantedChange wanted;
    const auto size = static_cast<int>(members_.size());
    const int target = 4 + static_cast<int>(random() % 5);
    std::vector<Member> old = members_;
    std::ranges::shuffle(old, random);
    const int leave = std::max(0, size - target) + static_cast<int>(random() % 2);
    for (int i = 0; i < leave; ++i) wanted.remove.push_back(old[static_cast<std::size_t>(i)].uid);
    if (const int join = target - (size - leave); join > 0) wanted.add = pods_.launch(join);
    if (wanted.add.empty() && wanted.remove.empty()) return 0;
    const empi::ChangeStatus status = pods_.change(wanted);
    if (status.outcome != empi::ChangeOutcome::Committed) {
      for (const Member& m : wanted.add) pods_.wait_for_end(m.uid);
      return 0;
    }
    std::erase_if(members_, [&](const Member& m) {
      return std::ranges::find(wanted.remove, m.uid) != wanted.remove.end();
    });
    members_.insert(members_.end(), wanted.add.begin(), wanted.add.end());
    return static_cast<int>(wanted.add.size() + wanted.remove.size());
  }

  Sums finish() {
    for (const Member& m : members_)
      if (pods_.wait_for_end(m.uid) != 0)
        throw std::runtime_error("pod " + m.name + " failed\n" + pods_.all_logs());
    Sums sums;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (!entry.is_regular_file()) continue;
      double present = 0, busy = 0, idle = 0;
      std::ifstream(entry.path()) >> present >> busy >> idle;
      sums.present += present;
      sums.busy += busy;
      sums.idle += idle;
      ++sums.ranks;
    }
    return sums;
  }

 private:
  std::string folder_;
  LocalPods pods_;
  std::vector<Member> members_;
};

void print(const char* figure, const Sums& sums, const std::string& note) {
  std::printf("bench masterworker.%s %.4f 1\n", figure, sums.busy / sums.present);
  std::fprintf(stderr, "  %d ranks were there for %.1f s together, in tasks %.1f s, waiting %.1f s%s\n",
               sums.ranks, sums.present, sums.busy, sums.idle, note.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 30;
  if (seconds < 1 || argc > 2) {
    std::fprintf(stderr,
                 "usage: bench_master_worker [SECONDS]: length of a run at fixed size, at least 1 (30)\n");
    return 2;
  }
  try {
    {
      Run fixed(seconds);
      print("efficiency", fixed.finish(), "");
    }
    Run elastic(seconds);
    std::mt19937 random(3);
    int changed = 0;
    for (auto next = std::chrono::steady_clock::now() + kBetweenChanges;; next += kBetweenChanges) {
      while (!elastic.over() && std::chrono::steady_clock::now() < next)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (elastic.over()) break;
      try {
        changed += elastic.change(random);
      } catch (const std::runtime_error&) {
        if (!elastic.over()) throw;  // else the phase has ended meanwhile
      }
    }
    print("elastic_efficiency", elastic.finish(), "; " + std::to_string(changed) + " pods came or went");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench masterworker: %s\n", e.what());
    return 1;
  }
  return 0;
}
