// SPDX-License-Identifier: Apache-2.0
// Decision R19: the programs of the thesis, typed in as printed (seed 000, Algorithms 4.2, 4.3, 5.2, 6.2 and,
// with a master, 4.5 to 4.7, 7.3 and 7.4), go through forty changes with an exact checksum, wherever they
// probe (R2'), also when the next change is asked for while one is in hand. Leavers never break out of their
// loops (R5'). Those that probe elsewhere than printed have CHANGES_OF_VARIANTS changes, and those compiled
// as C++ CHANGES_IN_CXX: forty in `./dev test full`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"

namespace empi {
namespace {

class Thesis : public ::testing::Test {
 protected:
  testing::LocalPods pods;
  std::string scratch;
  std::vector<Member> members;
  bool keeps_first = false;  // the pod of world rank 0 stays
  int fewest = 1;            // workers

  void SetUp() override {
    char name[] = "/tmp/empi-thesis.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    scratch = name;
    pods.slots = 1;
  }
  void TearDown() override {
    if (HasFailure()) std::printf("%s\n", pods.all_logs().c_str());
    std::filesystem::remove_all(scratch);
  }
  void begin(const std::string& program, const std::vector<std::string>& arguments, int workers = 2) {
    pods.command = {testing::beside(program), scratch + "/stop", scratch + "/phase"};
    pods.command.insert(pods.command.end(), arguments.begin(), arguments.end());
    members = pods.launch(workers);
    pods.start(members);
  }
  void commit(const testing::WantedChange& wanted) {
    const ChangeStatus s = pods.change(wanted);
    ASSERT_EQ(s.outcome, ChangeOutcome::Committed) << s.reason;
    members = pods.membership().membership.members;
  }
  // A change of 2 to 4 workers: some leave, some come, or both.
  testing::WantedChange some_change(std::mt19937& random) {
    const int now = static_cast<int>(members.size());
    int leave = static_cast<int>(random() % 3), join = static_cast<int>(random() % 3);
    if (now - leave < fewest) leave = now - fewest;
    if (now - leave + join > 4) join = 4 - (now - leave);
    if (leave + join == 0) (now < 4 ? join : leave) = 1;
    std::shuffle(members.begin() + (keeps_first ? 1 : 0), members.end(), random);
    if (keeps_first) std::ranges::rotate(members, members.begin() + 1);  // the last is not taken
    testing::WantedChange wanted;
    for (int i = 0; i < leave; ++i) wanted.remove.push_back(members[i].uid);
    wanted.add = pods.launch(join);
    return wanted;
  }
  void changes(int count) {
    std::mt19937 random(2019);
    for (int round = 0; round < count; ++round) {
      SCOPED_TRACE("change " + std::to_string(round));
      ASSERT_NO_FATAL_FAILURE(commit(some_change(random)));
    }
  }
  void expect_finish() {
    members = pods.membership().membership.members;
    std::ofstream(scratch + "/stop") << "now";
    for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << m.name;
    const std::string logs = pods.all_logs();
    EXPECT_NE(logs.find("finished: size " + std::to_string(members.size()) + ","), std::string::npos);
    EXPECT_EQ(logs.find("BAD"), std::string::npos);
  }
  void go_through(int count, const std::string& program, const std::vector<std::string>& arguments) {
    begin(program, arguments);
    ASSERT_NO_FATAL_FAILURE(changes(count));
    expect_finish();
  }
  void both_loops(int count, const std::string& program, const std::vector<std::string>& arguments) {
    begin(program, arguments);
    ASSERT_NO_FATAL_FAILURE(changes(count / 2));
    std::ofstream(scratch + "/phase") << "next";
    ASSERT_NO_FATAL_FAILURE(changes(count / 2));
    expect_finish();
  }
  // Of programs whose master alone probes. A change whose iteration comes when there are no jobs left is not
  // begun: the next probe withdraws it.
  void master_worker(int count, const std::string& program, const std::vector<std::string>& arguments) {
    pods.probe = ProbeMode::Root;
    keeps_first = true;
    fewest = 2;
    begin(program, arguments);
    std::mt19937 random(47);
    for (int committed = 0, asked = 0; committed < count; ++asked) {
      SCOPED_TRACE("change " + std::to_string(asked));
      ASSERT_LT(asked, 10 * count) << "most changes are not withdrawn";
      const ChangeStatus s = pods.change(some_change(random));
      committed += s.outcome == ChangeOutcome::Committed;
      if (s.outcome != ChangeOutcome::Committed) {
        ASSERT_EQ(s.ended_by, ChangeEvent::Disagreed) << s.reason;
      }
      members = pods.membership().membership.members;
    }
    expect_finish();
    EXPECT_EQ(pods.all_logs().find("WARNING"), std::string::npos) << "Open MPI's, of files that are opened";
  }
  void as_printed(const std::string& program) { go_through(40, program, {}); }
  void variant(const std::string& program, const std::vector<std::string>& arguments) {
    go_through(CHANGES_OF_VARIANTS, program, arguments);
  }
};

TEST_F(Thesis, TheSecondChangeOfAlgorithm42ComesAsTheFirst) {
  pods.patience = std::chrono::seconds(20);
  begin("thesis_4_2", {"every=2"});
  const auto joined = pods.launch(2);
  ASSERT_NO_FATAL_FAILURE(commit({.add = joined}));
  ASSERT_NO_FATAL_FAILURE(commit({.remove = {joined[0].uid, joined[1].uid}}));
  expect_finish();
}

TEST_F(Thesis, ALeaverThatGoesOnInItsLoopIsEndedInItsNextProbe) {
  pods.patience = std::chrono::seconds(20);
  begin("thesis_4_2", {}, 3);
  const std::string leaver = members[1].uid;
  ASSERT_NO_FATAL_FAILURE(commit({.remove = {leaver}}));
  EXPECT_EQ(pods.wait_for_end(leaver), 0);
  expect_finish();
}

TEST_F(Thesis, Algorithm42) { as_printed("thesis_4_2"); }
TEST_F(Thesis, Algorithm42ProbesEverySeventhIteration) { variant("thesis_4_2", {"every=7"}); }
TEST_F(Thesis, Algorithm42ProbesAtTheTop) { variant("thesis_4_2", {"top"}); }
TEST_F(Thesis, Algorithm42ProbesAtTheTopOfEveryThirdIteration) { variant("thesis_4_2", {"top", "every=3"}); }
TEST_F(Thesis, Algorithm42PointToPoint) { variant("thesis_4_2", {"point-to-point"}); }
TEST_F(Thesis, Algorithm42PointToPointAtTheTop) {
  variant("thesis_4_2", {"point-to-point", "top", "every=2"});
}
TEST_F(Thesis, Algorithm42WithABroadcastAfterTheCommit) { variant("thesis_4_2", {"broadcast"}); }
TEST_F(Thesis, Algorithm42WithABroadcastAfterTheCommitAtTheTop) {
  variant("thesis_4_2", {"broadcast", "top"});
}
TEST_F(Thesis, Algorithm42PointToPointWithABroadcastAfterTheCommit) {
  variant("thesis_4_2", {"point-to-point", "broadcast", "every=2"});
}
TEST_F(Thesis, Algorithm42PointToPointWithABroadcastAfterTheCommitAtTheTop) {
  variant("thesis_4_2", {"point-to-point", "broadcast", "top"});
}

TEST_F(Thesis, Algorithm43InBothLoops) { both_loops(40, "thesis_4_3", {"every=2"}); }
TEST_F(Thesis, Algorithm43ProbesAtTheTopInBothLoops) {
  both_loops(CHANGES_OF_VARIANTS, "thesis_4_3", {"top", "point-to-point"});
}

TEST_F(Thesis, Algorithm52) { as_printed("thesis_5_2"); }
TEST_F(Thesis, Algorithm52ProbesEveryFifthIteration) { variant("thesis_5_2", {"every=5"}); }
TEST_F(Thesis, Algorithm62) { as_printed("thesis_6_2"); }
TEST_F(Thesis, Algorithm62ProbesEveryThirdIteration) { variant("thesis_6_2", {"every=3"}); }

TEST_F(Thesis, Algorithm47TheMasterAloneProbes) { master_worker(40, "thesis_4_7", {}); }
TEST_F(Thesis, Algorithms73And74) { master_worker(40, "thesis_7_3", {}); }
TEST_F(Thesis, Algorithms73And74ProbeAfterEveryThirdJob) {
  master_worker(CHANGES_OF_VARIANTS, "thesis_7_3", {"every=3"});
}

TEST_F(Thesis, Algorithm42InCxx) { go_through(CHANGES_IN_CXX, "thesis_4_2_cxx", {}); }
TEST_F(Thesis, Algorithm43InCxx) { both_loops(CHANGES_IN_CXX, "thesis_4_3_cxx", {}); }
TEST_F(Thesis, Algorithm52InCxx) { go_through(CHANGES_IN_CXX, "thesis_5_2_cxx", {}); }
TEST_F(Thesis, Algorithm47InCxx) { master_worker(CHANGES_IN_CXX, "thesis_4_7_cxx", {}); }
TEST_F(Thesis, Algorithms73And74InCxx) { master_worker(CHANGES_IN_CXX, "thesis_7_3_cxx", {}); }

TEST_F(Thesis, ARankThatProbesAloneIsRefusedInWordsUnlessTheJobSaysSo) {
  begin("thesis_4_7", {}, 3);
  const ChangeStatus s =
      pods.change({.remove = {members[2].uid}, .deadline = std::chrono::milliseconds(1500)});
  EXPECT_EQ(s.outcome, ChangeOutcome::RolledBack);
  EXPECT_EQ(s.ended_by, ChangeEvent::ProbesDoNotMatch);
  EXPECT_NE(s.reason.find("has not called MPI_Probe_adapt"), std::string::npos) << s.reason;
  EXPECT_NE(s.reason.find("spec.runtime.probe: Root"), std::string::npos) << s.reason;
  expect_finish();
}

TEST_F(Thesis, AChangeThatTheProgramDoesNotBeginIsWithdrawnByItsNextProbe) {
  pods.probe = ProbeMode::Root;
  begin("thesis_4_7", {"ignores"}, 3);
  const std::string leaver = members[2].uid;
  const ChangeStatus s = pods.change({.add = pods.launch(1), .remove = {leaver}});
  EXPECT_EQ(s.outcome, ChangeOutcome::RolledBack);
  EXPECT_NE(s.reason.find("did not call MPI_Comm_adapt_begin"), std::string::npos) << s.reason;
  ChangeStatus again;
  for (int i = 0; i < 20 && again.outcome != ChangeOutcome::Committed; ++i)  // or all jobs are given out
    again = pods.change({.add = pods.launch(1), .remove = {leaver}});
  EXPECT_EQ(again.outcome, ChangeOutcome::Committed) << again.reason;
  expect_finish();
}

TEST_F(Thesis, AChangeThatTheProgramDoesNotBeginIsWithdrawnByItsEnd) {
  pods.probe = ProbeMode::Root;
  begin("thesis_4_7", {"ends"});
  pods.wait_for_change_or_end(pods.request_change({.add = pods.launch(1)}));
  for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << m.name;
  EXPECT_NE(pods.all_logs().find("finished: size 2, changes 0"), std::string::npos);
}

TEST_F(Thesis, ChangesAreAskedForWhileAnotherIsInHand) {
  begin("thesis_4_2", {"every=2"});
  std::mt19937 random(52);
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE("change " + std::to_string(round));
    const std::string first = pods.request_change({.add = pods.launch(1)});
    // Refused as long as the first is in hand, and asked for again until it is taken.
    const std::string second = pods.request_change({.remove = {members[random() % members.size()].uid}});
    for (const std::string& id : {first, second}) {
      const ChangeStatus s = pods.wait_for_change(id);
      ASSERT_EQ(s.outcome, ChangeOutcome::Committed) << s.reason;
    }
    members = pods.membership().membership.members;
  }
  expect_finish();
}

TEST_F(Thesis, RanksThatProbeAtOtherPlacesAreToldSoAndGoOn) {
  begin("thesis_4_2", {"every=3", "own-clock"});
  const auto joined = pods.launch(1);
  ASSERT_NO_FATAL_FAILURE(commit({.add = joined}));
  const ChangeStatus s = pods.change({.remove = {joined[0].uid}});
  EXPECT_EQ(s.outcome, ChangeOutcome::RolledBack);
  EXPECT_EQ(s.ended_by, ChangeEvent::ProbesDoNotMatch);
  EXPECT_NE(s.reason.find("do not call MPI_Probe_adapt at the same places"), std::string::npos) << s.reason;
  expect_finish();
}

// Nobody guesses: neither of the two ways to read such a program is taken.
TEST_F(Thesis, WhatCannotBeToldEndsAtItsDeadlineInWords) {
  begin("thesis_4_2", {"silent"});
  const auto joined = pods.launch(1);
  ASSERT_NO_FATAL_FAILURE(commit({.add = joined}));
  const ChangeStatus s = pods.change({.remove = {joined[0].uid}, .deadline = std::chrono::seconds(2)});
  EXPECT_EQ(s.outcome, ChangeOutcome::RolledBack);
  EXPECT_EQ(s.ended_by, ChangeEvent::ProbesDoNotMatch);
  EXPECT_NE(s.reason.find("MPIX_Probe_adapt_aligned"), std::string::npos) << s.reason;
  expect_finish();
}

TEST_F(Thesis, RanksThatNeverCommunicateAreToldByTheirOtherCalls) {
  begin("thesis_4_2", {"asks"});
  ASSERT_NO_FATAL_FAILURE(changes(6));
  expect_finish();
}
TEST_F(Thesis, RanksThatNeverCommunicateAreToldByTheirOtherCallsAtTheTop) {
  begin("thesis_4_2", {"asks", "top"});
  ASSERT_NO_FATAL_FAILURE(changes(6));
  expect_finish();
}

}  // namespace
}  // namespace empi
