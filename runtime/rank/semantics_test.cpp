// SPDX-License-Identifier: Apache-2.0
// Decision R4 on real processes: what MPI_COMM_WORLD means after a change, and what stands in the way of one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"

namespace empi {
namespace {

class Semantics : public ::testing::Test {
 protected:
  testing::LocalPods pods;
  std::string scratch;

  void SetUp() override {
    char name[] = "/tmp/empi-semantics.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    scratch = name;
    pods.command = {testing::beside("semantics_program"), scratch + "/stop", scratch + "/keep"};
  }
  void TearDown() override {
    if (HasFailure()) std::printf("%s\n", pods.all_logs().c_str());
    std::filesystem::remove_all(scratch);
  }
  // What old ranks keep in windows from now on. Never half written: ranks look at any time.
  void keep(const std::string& what) {
    std::ofstream(scratch + "/keep.new") << what;
    std::filesystem::rename(scratch + "/keep.new", scratch + "/keep");
  }
  void expect_finish(const std::string& line) {
    const auto members = pods.membership().membership.members;
    std::ofstream(scratch + "/stop") << "now";
    for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << m.name;
    EXPECT_NE(pods.all_logs().find(line), std::string::npos) << line;
  }
};

TEST_F(Semantics, TheWorldKeepsWhatTheProgramSetOnIt) {
  const auto members = pods.launch(2);
  pods.start(members);
  EXPECT_EQ(pods.change({.add = pods.launch(1)}).outcome, ChangeOutcome::Committed);
  EXPECT_EQ(pods.change({.remove = {members[1].uid}}).outcome, ChangeOutcome::Committed);
  expect_finish("finished: changes 2, rollbacks 0");
}

// The name is Latin-1: what is no UTF-8 must not stand in the way of the report.
TEST_F(Semantics, ALiveDuplicateWithALeaverIsNamedAndTheChangeRolledBack) {
  const auto members = pods.launch(2);
  pods.start(members);
  keep("duplicate");
  const ChangeStatus refused = pods.change({.remove = {members[1].uid}});
  EXPECT_EQ(refused.outcome, ChangeOutcome::RolledBack);
  EXPECT_NE(refused.reason.find("communicator 'a kept \uFFFDt\uFFFD' made by MPI_Comm_dup"),
            std::string::npos)
      << refused.reason;
  keep("");
  EXPECT_EQ(pods.change({.remove = {members[1].uid}}).outcome, ChangeOutcome::Committed);
  expect_finish("finished: changes 1, rollbacks 1");
}

// Started after the commit, it would go on among the ranks of the old world.
TEST_F(Semantics, APersistentRequestOfTheWorldIsNamedAndTheChangeRolledBack) {
  const auto members = pods.launch(2);
  pods.start(members);
  keep("persistent");
  for (const testing::WantedChange& wanted :
       {testing::WantedChange{.add = pods.launch(1)}, testing::WantedChange{.remove = {members[1].uid}}}) {
    const ChangeStatus refused = pods.change(wanted);
    EXPECT_EQ(refused.outcome, ChangeOutcome::RolledBack);
    EXPECT_NE(refused.reason.find("a persistent request of MPI_Recv_init"), std::string::npos)
        << refused.reason;
  }
  keep("");
  EXPECT_EQ(pods.change({.remove = {members[1].uid}}).outcome, ChangeOutcome::Committed);
  expect_finish("finished: changes 1, rollbacks 2");
}

TEST_F(Semantics, APendingRequestOfTheWorldIsNamedAndTheChangeRolledBack) {
  const auto members = pods.launch(2);
  pods.start(members);
  keep("pending");
  const ChangeStatus refused = pods.change({.add = pods.launch(1)});
  EXPECT_EQ(refused.outcome, ChangeOutcome::RolledBack);
  EXPECT_NE(refused.reason.find("a pending request of MPI_Irecv"), std::string::npos) << refused.reason;
  keep("");
  EXPECT_EQ(pods.change({.remove = {members[1].uid}}).outcome, ChangeOutcome::Committed);
  expect_finish("finished: changes 1, rollbacks 1");
}

// Its calls would reach libmpi untranslated: said at once, instead of wrong answers after the first change.
TEST_F(Semantics, AProgramThatLinksLibmpiFirstRunsRigidAndSaysSo) {
  pods.command = {testing::beside("libmpi_first_program")};
  const auto members = pods.launch(1);
  pods.start(members);
  for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << pods.all_logs();
  EXPECT_NE(pods.all_logs().find(
                "this program cannot adapt and runs with the ranks it has: MPI_Abort is taken from"),
            std::string::npos)
      << pods.all_logs();
}

TEST_F(Semantics, AProgramWithFortranPartsRunsRigidAndSaysSo) {
#ifndef EMPI_FORTRAN
  GTEST_SKIP() << "this Open MPI has no Fortran";
#endif
  pods.command = {testing::beside("fortran_parts_program")};
  const auto members = pods.launch(1);
  pods.start(members);
  for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << pods.all_logs();
  EXPECT_NE(pods.all_logs().find(
                "this program cannot adapt and runs with the ranks it has: it has parts in Fortran"),
            std::string::npos)
      << pods.all_logs();
}

}  // namespace
}  // namespace empi
