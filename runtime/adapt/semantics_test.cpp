// Decision R4 on real processes: what MPI_COMM_WORLD means after a change, and what stands in the way of one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/agent/testing/local_pods.hpp"

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
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    pods.command = {folder / "semantics_program", scratch + "/stop", scratch + "/keep"};
  }
  void TearDown() override {
    if (HasFailure()) std::printf("%s\n", pods.all_logs().c_str());
    std::filesystem::remove_all(scratch);
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
  EXPECT_EQ(pods.change({.add = pods.launch(1)}).outcome, "committed");
  EXPECT_EQ(pods.change({.remove = {members[1].uid}}).outcome, "committed");
  expect_finish("finished: changes 2, rollbacks 0");
}

TEST_F(Semantics, ALiveDuplicateWithALeaverIsNamedAndTheChangeRolledBack) {
  const auto members = pods.launch(2);
  pods.start(members);
  std::ofstream(scratch + "/keep") << "yes";
  const ChangeStatus refused = pods.change({.remove = {members[1].uid}});
  EXPECT_EQ(refused.outcome, "rolled back");
  EXPECT_NE(pods.all_logs().find("communicator 'a duplicate that is kept' made by MPI_Comm_dup"),
            std::string::npos);
  std::filesystem::remove(scratch + "/keep");
  EXPECT_EQ(pods.change({.remove = {members[1].uid}}).outcome, "committed");
  expect_finish("finished: changes 1, rollbacks 1");
}

}  // namespace
}  // namespace empi
