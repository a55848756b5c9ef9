// SPDX-License-Identifier: Apache-2.0
// ./dev bench masterworker-world [PHASES]: by how much MasterWorker::use_world() delays the end of a phase.
//
// Emulated pods (slow cores), tasks of 10 ms on the average; in each phase four pods join or four leave, so
// that the world is rebuilt at its end, for 8 or for 4 ranks. What counts is how long the rank with the last
// task waits for the phase to end, with and without a world; medians over the phases.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"
#include "runtime/protocol/names.hpp"

namespace {

using empi::Member;
using empi::testing::LocalPods;
namespace fs = std::filesystem;

constexpr int kFew = 4, kMany = 8, kTasks = 1200;
constexpr const char* kMeanMs = "10";

struct PhaseEnd {
  std::set<std::string> ranks;
  double wait = std::numeric_limits<double>::infinity();  // of the rank that waited least (s)
};

class Run {
 public:
  Run(int phases, bool world) : phases_(phases) {
    char name[] = "/tmp/empi-bench-world.XXXXXX";
    if (!mkdtemp(name)) throw std::runtime_error("cannot make a folder");
    folder_ = name;
    fs::create_directory(folder_ / "phases");
    pods_.slots = 1;
    pods_.patience = std::chrono::seconds(300);
    pods_.environment[empi::names::kSlowdown] = "8";
    pods_.command = {empi::testing::beside("bench_tasks"), folder_, std::to_string(kTasks), kMeanMs,
                     std::to_string(phases)};
    if (world) pods_.command.emplace_back("world");
    members_ = pods_.launch(kFew);
    pods_.start(members_);
  }
  ~Run() { fs::remove_all(folder_); }

  // Seconds at the ends of phases in which ranks have come or gone, by the number of ranks then.
  std::map<std::size_t, std::vector<double>> waits() {
    for (int over = ends_seen(1); over < phases_ - 1; over = ends_seen(over + 1)) change();
    for (const Member& m : members_)
      if (pods_.wait_for_end(m.uid) != 0)
        throw std::runtime_error("pod " + m.name + " failed\n" + pods_.all_logs());
    const auto ends = read();
    std::map<std::size_t, std::vector<double>> result;
    for (auto end = std::next(ends.begin()); end != ends.end(); ++end)
      if (end->second.ranks != std::prev(end)->second.ranks)
        result[end->second.ranks.size()].push_back(end->second.wait);
    return result;
  }

 private:
  void change() {
    empi::testing::WantedChange wanted;
    if (members_.size() == kFew) {
      wanted.add = pods_.launch(kMany - kFew);
      members_.insert(members_.end(), wanted.add.begin(), wanted.add.end());
    } else {
      for (std::size_t i = kFew; i < members_.size(); ++i) wanted.remove.push_back(members_[i].uid);
      members_.resize(kFew);
    }
    if (const auto status = pods_.change(wanted); status.outcome != empi::ChangeOutcome::Committed)
      throw std::runtime_error("a change was not committed: " + status.reason);
  }
  // Phases that are over, once these are `least` or more.
  int ends_seen(int least) {
    int seen = 0;
    pods_.wait_until("a phase is over", [&] {
      seen = static_cast<int>(read().size());
      return seen >= least;
    });
    return seen;
  }
  std::map<int, PhaseEnd> read() const {
    std::map<int, PhaseEnd> ends;
    for (const auto& entry : fs::directory_iterator(folder_ / "phases")) {
      std::ifstream in(entry.path());
      int phase = 0;
      for (double wait = 0; in >> phase >> wait;) {
        ends[phase].ranks.insert(entry.path().filename());
        ends[phase].wait = std::min(ends[phase].wait, wait);
      }
    }
    return ends;
  }

  const int phases_;
  fs::path folder_;
  LocalPods pods_;
  std::vector<Member> members_;
};

}  // namespace

int main(int argc, char** argv) {
  const int phases = argc > 1 ? std::atoi(argv[1]) : 16;
  if (phases < 4 || argc > 2) {
    std::fprintf(stderr, "usage: bench_world [PHASES]: at least 4 (16)\n");
    return 2;
  }
  try {
    for (const bool world : {false, true})
      for (auto& [ranks, waits] : Run(phases, world).waits()) {
        std::ranges::sort(waits);
        std::printf("bench masterworker-world.%s_%zu %.4f s\n", world ? "rebuilt" : "kept", ranks,
                    waits[waits.size() / 2]);
        std::fprintf(stderr, "  %zu phases, %.4f to %.4f s\n", waits.size(), waits.front(), waits.back());
        std::fflush(stdout);
      }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench masterworker-world: %s\n", e.what());
    return 1;
  }
  return 0;
}
