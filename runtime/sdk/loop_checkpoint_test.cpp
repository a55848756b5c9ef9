// SPDX-License-Identifier: Apache-2.0
// elastic::Loop::checkpoint on agents. Promise: a program that was killed goes on from the newest whole
// checkpoint, on any number of ranks, with every value as it was; what is damaged is refused and the one
// before it taken; a volume that fails costs the checkpoint and not the run.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"

namespace elastic {
namespace {

using empi::Member;
using empi::testing::LocalPods;
namespace fs = std::filesystem;

class CheckpointsOnPods : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/elastic-checkpoint.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
    checkpoints = folder + "/checkpoints";
  }
  void TearDown() override { fs::remove_all(folder); }

  // One start of the job; its ranks check all that they have in every iteration.
  struct Run {
    Run(const CheckpointsOnPods& test, int ranks, const std::string& every = "20") {
      pods.command = {empi::testing::beside("loop_program"), test.folder, every};
      pods.slots = 1;
      pods.patience = std::chrono::seconds(30);
      members = pods.launch(ranks);
    }
    void start() { pods.start(members); }
    void kill() {
      for (const Member& m : members) pods.signal(m.uid, SIGKILL);
      for (const Member& m : members) pods.wait_for_end(m.uid);
    }
    LocalPods pods;
    std::vector<Member> members;
  };

  std::string file(int number) const {
    char name[64];
    std::snprintf(name, sizeof name, "/loop_program.%06d.h5", number);
    return checkpoints + name;
  }
  // Of the whole ones; 0: there is none.
  int newest() const {
    int number = 999;
    while (number > 0 && !fs::exists(file(number))) --number;
    return number;
  }
  void wait_for(Run& run, int number) {
    run.pods.wait_until("checkpoint " + std::to_string(number), [&] { return newest() >= number; });
  }
  void expect_good_end(Run& run) {
    std::ofstream(folder + "/stop") << "\n";
    for (const Member& m : run.members) EXPECT_EQ(run.pods.wait_for_end(m.uid), 0) << run.pods.all_logs();
    fs::remove(folder + "/stop");
  }
  static void expect_said(Run& run, const std::string& what) {
    EXPECT_NE(run.pods.all_logs().find(what), std::string::npos) << "expected: " << what << "\n"
                                                                 << run.pods.all_logs();
  }

  std::string folder, checkpoints;
};

TEST_F(CheckpointsOnPods, AnyNumberOfRanksGoesOnFromTheNewestWholeOne) {
  {
    Run run(*this, 3);
    run.start();
    wait_for(run, 3);
    run.pods.wait_until("two are kept", [&] { return !fs::exists(file(1)); });
    run.kill();
  }
  {
    Run run(*this, 5);
    run.start();
    wait_for(run, 5);
    run.pods.change({.add = run.pods.launch(1), .remove = {run.members[0].uid}});  // rank 0 leaves
    wait_for(run, 7);
    expect_said(run, ", iteration ");
    expect_said(run, "written by 3 ranks");
    EXPECT_GT(run.pods.membership().checkpoint.number, 0) << "the lead knows of none";
    EXPECT_EQ(run.pods.membership().checkpoint.trouble, "");
    run.pods.signal(run.members[2].uid, SIGKILL);
    run.kill();
  }
  // The newest is damaged, and a newer one is nobody's.
  {
    const std::string damaged = file(newest());
    std::fstream f(damaged, std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(static_cast<std::streamoff>(fs::file_size(damaged) / 2));
    f << "damage";
  }
  std::ofstream(file(99)) << "not a checkpoint\n";
  {
    Run run(*this, 1);
    run.start();
    wait_for(run, 100);
    expect_good_end(run);
    expect_said(run, "loop_program.000099.h5 is refused: ");
    expect_said(run, "it is damaged: the checksum of what rank");
    expect_said(run, "written by 5 ranks");
    expect_said(run, "went on from step");
  }
}

TEST_F(CheckpointsOnPods, AVolumeThatFailsCostsTheCheckpointAndNotTheRun) {
  std::ofstream(checkpoints) << "a file where the folder should be\n";
  Run run(*this, 2, "5");
  run.start();
  run.pods.wait_until("the job says why", [&] { return !run.pods.membership().checkpoint.trouble.empty(); });
  EXPECT_NE(run.pods.membership().checkpoint.trouble.find(checkpoints), std::string::npos);
  fs::remove(checkpoints);
  fs::create_directory(checkpoints);
  run.pods.wait_until("a checkpoint", [&] { return run.pods.membership().checkpoint.number > 0; });
  EXPECT_EQ(run.pods.membership().checkpoint.trouble, "");
  expect_good_end(run);
  expect_said(run, "the run goes on");
}

}  // namespace
}  // namespace elastic
