// SPDX-License-Identifier: Apache-2.0
// elastic::Loop on agents. Promise: data is whole in every iteration through growth, shrinking and both at
// once; whatever goes wrong in a window leaves the old world and the old data, and the job goes on.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"

namespace elastic {
namespace {

using empi::ChangeStatus;
using empi::Member;
using empi::testing::LocalPods;
namespace fs = std::filesystem;

class LoopOnPods : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/elastic-loop.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
    pods.command = {empi::testing::beside("loop_program"), folder};
  }
  void TearDown() override { fs::remove_all(folder); }

  void start(int count, int slots) {
    pods.slots = slots;
    members = pods.launch(count);
    pods.start(members);
    pods.wait_until("the program iterates", [&] { return fs::exists(folder + "/iterating"); });
  }
  void put(const std::string& name) { std::ofstream(folder + "/" + name) << "\n"; }
  void take_away(const std::string& name) { fs::remove(folder + "/" + name); }

  ChangeStatus change(std::vector<Member> add, std::vector<std::string> remove = {}) {
    const ChangeStatus status = pods.change({.add = add, .remove = remove});
    if (status.outcome != empi::ChangeOutcome::Committed) return status;
    std::erase_if(members, [&](const Member& m) { return std::ranges::find(remove, m.uid) != remove.end(); });
    members.insert(members.end(), add.begin(), add.end());
    return status;
  }
  void expect_committed(const ChangeStatus& status) {
    if (status.outcome != empi::ChangeOutcome::Committed)
      throw std::runtime_error("change " + std::string(to_string(status.outcome)) + ": " + status.reason +
                               "\n" + pods.all_logs());
  }
  // Ends the program; every rank checked its data in every iteration, so exit code 0 says all was well.
  void expect_good_end(int ranks, int rollbacks) {
    put("stop");
    for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << pods.all_logs();
    const std::string wanted =
        "finished ranks " + std::to_string(ranks) + " rollbacks " + std::to_string(rollbacks);
    EXPECT_NE(pods.all_logs().find(wanted), std::string::npos) << "expected: " << wanted << "\n"
                                                               << pods.all_logs();
  }

  LocalPods pods;
  std::string folder;
  std::vector<Member> members;
};

TEST_F(LoopOnPods, GrowsShrinksAndDoesBothAtOnce) {
  start(2, 1);
  const ChangeStatus grown = change(pods.launch(2));
  expect_committed(grown);
  EXPECT_GT(grown.moved_bytes, 0) << "the ranks say what they move";
  expect_committed(change({}, {members[1].uid, members[2].uid}));
  // Rank 0 and the lead leave, others join, in one change.
  expect_committed(change(pods.launch(2), {members[0].uid}));
  expect_committed(change({}, {members[0].uid, members[2].uid}));
  expect_good_end(1, 0);
}

TEST_F(LoopOnPods, SeveralRanksPerPod) {
  start(1, 2);
  expect_committed(change(pods.launch(1)));
  expect_committed(change({}, {members[0].uid}));
  expect_good_end(2, 0);
}

TEST_F(LoopOnPods, AnExceptionOnAnOldRankRollsBackEverywhere) {
  start(2, 1);
  put("throw-first");
  const ChangeStatus status = change(pods.launch(1));
  EXPECT_EQ(status.outcome, empi::ChangeOutcome::RolledBack) << pods.all_logs();
  EXPECT_NE(pods.all_logs().find("change given up on this rank: no room for the tally"), std::string::npos)
      << pods.all_logs();
  take_away("throw-first");
  expect_committed(change(pods.launch(1)));
  put("throw-first");
  EXPECT_EQ(change({}, {members[0].uid}).outcome, empi::ChangeOutcome::RolledBack) << pods.all_logs();
  EXPECT_EQ(change(pods.launch(1), {members[1].uid}).outcome, empi::ChangeOutcome::RolledBack)
      << pods.all_logs();
  take_away("throw-first");
  expect_committed(change(pods.launch(1), {members[1].uid}));
  expect_good_end(3, 3);
}

TEST_F(LoopOnPods, AnExceptionOnAJoinerRollsBackEverywhere) {
  start(2, 1);
  put("throw-last");
  const ChangeStatus status = change(pods.launch(2));
  EXPECT_EQ(status.outcome, empi::ChangeOutcome::RolledBack) << pods.all_logs();
  take_away("throw-last");
  expect_committed(change(pods.launch(1)));
  expect_good_end(3, 1);
}

// The search for a number that ends with it stays noted in Open MPI (quirk blocked-search) or does not end
// (quirk cid-retries), and after a change those of the world and of the next change wait for it.
TEST_F(LoopOnPods, AJoinerThatIsLostWhileACommunicatorIsMadeSpoilsOneChangeOnly) {
  start(2, 1);
  expect_committed(change(pods.launch(1)));
  for (const char* call : {"merge", "activate", "split"}) {
    SCOPED_TRACE(call);
    pods.environment["EMPI_TEST_DIES_IN"] = call;
    EXPECT_EQ(change(pods.launch(1)).outcome, empi::ChangeOutcome::RolledBack) << pods.all_logs();
    pods.environment.erase("EMPI_TEST_DIES_IN");
    expect_committed(change(pods.launch(1)));
  }
  EXPECT_EQ(pods.membership().parked_helpers, 0);
  expect_good_end(6, 0);
}

TEST_F(LoopOnPods, JoinersThatRegisterSomethingElseAreRefused) {
  start(2, 1);
  put("mismatch");
  const ChangeStatus status = change(pods.launch(1));
  EXPECT_EQ(status.outcome, empi::ChangeOutcome::RolledBack) << pods.all_logs();
  EXPECT_NE(pods.all_logs().find("must register the same things in the same order"), std::string::npos)
      << pods.all_logs();
  take_away("mismatch");
  expect_committed(change(pods.launch(1)));
  expect_good_end(3, 1);
}

TEST_F(LoopOnPods, JoinersEnterTheLoopThatRuns) {
  pods.command[0] = empi::testing::beside("phases_program");
  pods.slots = 1;
  members = pods.launch(2);
  pods.start(members);
  for (const char* end_of_loop : {"1", "2", "3"}) {
    const auto joined = pods.launch(1);
    expect_committed(change(joined));
    expect_committed(change(pods.launch(1), {members[0].uid}));
    expect_committed(change({}, {joined[0].uid}));
    put(end_of_loop);
  }
  for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << pods.all_logs();
  EXPECT_NE(pods.all_logs().find("finished ranks 2 rollbacks 0"), std::string::npos) << pods.all_logs();
}

}  // namespace
}  // namespace elastic
