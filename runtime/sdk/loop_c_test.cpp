// SPDX-License-Identifier: Apache-2.0
// elastic_loop.h on agents. Promise: a program in C grows, shrinks, goes on without a rank that is killed,
// and goes on from its checkpoints, with every value as it was.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"

namespace elastic {
namespace {

using empi::Member;
using empi::testing::LocalPods;
namespace fs = std::filesystem;

class LoopInCOnPods : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/elastic-loop-c.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  void prepare(LocalPods& pods) {
    pods.command = {empi::testing::beside("loop_c_program"), folder, "10"};
    pods.slots = 1;
    pods.patience = std::chrono::seconds(60);
  }
  void end_well(LocalPods& pods, const std::vector<Member>& members, const std::string& said) {
    std::ofstream(folder + "/stop") << "\n";
    for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << pods.all_logs();
    EXPECT_NE(pods.all_logs().find(said), std::string::npos) << "expected: " << said << "\n"
                                                             << pods.all_logs();
    fs::remove(folder + "/stop");
  }

  std::string folder;
};

TEST_F(LoopInCOnPods, GrowsShrinksLosesARankAndGoesOnFromACheckpoint) {
  {
    LocalPods pods;
    prepare(pods);
    std::vector<Member> members = pods.launch(2);
    pods.start(members);
    for (int i = 0; i < 2; ++i) {
      const auto added = pods.launch(1);
      const auto grown = pods.change({.add = added});
      ASSERT_EQ(grown.outcome, empi::ChangeOutcome::Committed) << grown.reason << pods.all_logs();
      members.push_back(added[0]);
    }
    const auto shrunk = pods.change({.remove = {members[1].uid}});
    ASSERT_EQ(shrunk.outcome, empi::ChangeOutcome::Committed) << shrunk.reason << pods.all_logs();
    members.erase(members.begin() + 1);
    pods.wait_until("the loss of a rank can be borne", [&] { return pods.membership().survives_loss; });
    kill(pods.ranks(members[1].uid).back(), SIGKILL);
    pods.wait_until("the others go on", [&] {
      const auto view = pods.membership();
      return view.membership.members.size() == 2 && view.recovering.empty();
    });
    members.erase(members.begin() + 1);
    pods.wait_until("there is a checkpoint", [&] { return pods.membership().checkpoint.number > 0; });
    end_well(pods, members, "finished ranks 2, changes 3, recoveries 1, began");
  }
  LocalPods pods;
  prepare(pods);
  const auto members = pods.launch(3);
  pods.start(members);
  pods.wait_until("the program has gone on", [&] { return !pods.membership().checkpoint.restored.empty(); });
  end_well(pods, members, "finished ranks 3, changes 0, recoveries 0, went on");
}

}  // namespace
}  // namespace elastic
