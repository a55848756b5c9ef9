// Unmodified MPI programs over several pods.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/protocol/json.hpp"

namespace empi {
namespace {

using testing::LocalPods;

class Rigid : public ::testing::Test {
 protected:
  LocalPods pods;
  void SetUp() override { pods.mode = "rigid"; }
  void TearDown() override { EXPECT_EQ(pods.sanitizer_reports(), ""); }

  std::vector<Member> run(std::vector<std::string> command, int count = 3) {
    pods.command = std::move(command);
    std::vector<Member> members = pods.launch(count);
    pods.start(members);
    return members;
  }
  void expect_success(const std::vector<Member>& members) {
    for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << pods.all_logs();
  }
  static std::string beside(const std::string& name) {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
  }
};

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST_F(Rigid, RingOverThreePods) {
  const auto members = run({beside("agent_plain_ring")});
  expect_success(members);
  EXPECT_EQ(count(pods.log(members[0].uid), "[pod-0 job.1/0] ring of 6: right"), 1) << pods.all_logs();
  EXPECT_NE(pods.termination_log(members[2].uid).find("\"result\":\"succeeded\""), std::string::npos);
}

TEST_F(Rigid, Mpi4pyHelloWorld) {
  expect_success(run({"python3", "-m", "mpi4py.bench", "helloworld"}));
  const std::string logs = pods.all_logs();
  for (int rank = 0; rank < 6; ++rank)
    EXPECT_EQ(count(logs, "Hello, World! I am process " + std::to_string(rank) + " of 6"), 1) << logs;
}

TEST_F(Rigid, Mpi4pyRingTest) {
  expect_success(run({"python3", "-m", "mpi4py.bench", "ringtest"}));
  EXPECT_EQ(count(pods.all_logs(), "time for 1 loops"), 1) << pods.all_logs();
}

TEST_F(Rigid, FatalErrorsOfMpiAreShown) {
  const auto members = run({beside("agent_plain_ring"), "to_nobody"}, 2);
  for (const Member& m : members) EXPECT_NE(pods.wait_for_end(m.uid), 0);
  EXPECT_EQ(count(pods.all_logs(), "An error occurred in MPI_Send"), 1) << pods.all_logs();
  EXPECT_NE(pods.termination_log(members[1].uid).find("MPI_ERR_RANK"), std::string::npos)
      << pods.termination_log(members[1].uid);
}

TEST_F(Rigid, ProgramWithoutMpi) {
  expect_success(run({"sh", "-c", "echo rank of $EMPI_POD_NAME"}, 2));
  EXPECT_EQ(count(pods.all_logs(), "rank of pod-1"), 2) << pods.all_logs();
}

}  // namespace
}  // namespace empi
