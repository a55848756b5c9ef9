// SPDX-License-Identifier: Apache-2.0
// Unmodified MPI programs over several pods.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"
#include "runtime/protocol/json.hpp"

namespace empi {
namespace {

using testing::LocalPods;

class Rigid : public ::testing::Test {
 protected:
  LocalPods pods;
  void SetUp() override {
    pods.mode = "rigid";
    pods.job = "rigid-" + std::to_string(getpid());
  }
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
};

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST_F(Rigid, RingOverThreePods) {
  const auto members = run({testing::beside("agent_plain_ring")});
  expect_success(members);
  EXPECT_EQ(count(pods.log(members[0].uid), "[pod-0 " + pods.job + ".1/0] ring of 6: right"), 1)
      << pods.all_logs();
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
  const auto members = run({testing::beside("agent_plain_ring"), "to_nobody"}, 2);
  for (const Member& m : members) EXPECT_NE(pods.wait_for_end(m.uid), 0);
  EXPECT_EQ(count(pods.all_logs(), "An error occurred in MPI_Send"), 1) << pods.all_logs();
  EXPECT_NE(pods.termination_log(members[1].uid).find("MPI_ERR_RANK"), std::string::npos)
      << pods.termination_log(members[1].uid);
}

// The start says two ranks, the pod was made for three.
TEST_F(Rigid, AStartWhoseRanksAreNotWhereItSaysFails) {
  pods.command = {testing::beside("agent_plain_ring")};
  pods.slots = 3;
  std::vector<Member> members = pods.launch(1);
  pods.slots = 2;
  members.push_back(pods.launch(1)[0]);
  members[0].slots = 2;
  pods.start(members);
  for (const Member& m : members) {
    EXPECT_NE(pods.wait_for_end(m.uid), 0);
    const std::string end = pods.termination_log(m.uid);
    EXPECT_NE(end.find("pod-0 was made for 3 ranks, and is to start 2"), std::string::npos) << end;
  }
}

// MPI_Init of the others would wait for it for ever.
TEST_F(Rigid, ARankThatEndsBeforeMpiInitFailsTheStart) {
  pods.patience = std::chrono::seconds(30);
  const std::string ring = testing::beside("agent_plain_ring");
  const auto members = run({"sh", "-c", "test $PMIX_RANK = 3 && exit 0; exec " + ring}, 2);
  for (const Member& m : members) EXPECT_NE(pods.wait_for_end(m.uid), 0);
  const std::string end = pods.termination_log(members[0].uid);
  EXPECT_NE(end.find("rank 3 (pod pod-1) ended without MPI_Init"), std::string::npos) << end;
}

// PMIx's own record of such a rank is damaged; the agent ends by its own status all the same.
TEST_F(Rigid, ARankThatDiesWhileItConnectsFailsTheStart) {
  pods.patience = std::chrono::seconds(30);
  const auto members = run({testing::beside("agent_dies_connecting"), "1"}, 2);
  for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 137) << pods.all_logs();
  EXPECT_EQ(count(pods.all_logs(), "by force"), 0) << pods.all_logs();
}

// The pod is asked to go, as by a node that is drained or a namespace that is deleted: its ranks can write
// what they have, and need not be waited for.
TEST_F(Rigid, RanksAreToldThatTheirPodIsAskedToTerminate) {
  pods.slots = 1;
  const auto members =
      run({"sh", "-c", "trap 'echo saved; exit 3' TERM; echo ready; while :; do sleep 0.05; done"}, 2);
  for (const Member& m : members)
    pods.wait_until("its program runs", [&] { return count(pods.log(m.uid), "ready") > 0; });
  pods.signal(members[1].uid, SIGTERM);
  for (const Member& m : members) EXPECT_NE(pods.wait_for_end(m.uid), 0);
  EXPECT_EQ(count(pods.log(members[1].uid), "saved"), 1) << pods.all_logs();
  EXPECT_NE(pods.termination_log(members[0].uid).find("its pod had been asked to terminate"),
            std::string::npos)
      << pods.termination_log(members[0].uid);
}

// However many slots there are, a program that has not called MPI has no rank.
TEST_F(Rigid, RanksAreThoseThatPmixHasSeen) {
  const auto members = run({"sh", "-c", "while ! test -e $EMPI_RUN_DIR/stop; do sleep 0.05; done"}, 2);
  for (const Member& m : members)
    pods.wait_until("its processes run", [&] { return pods.ranks(m.uid).size() >= 2; });  // and their sleeps
  EXPECT_EQ(pods.membership().ranks, 0);
  for (const Member& m : members) std::ofstream(pods.run_dir(m.uid) + "/stop") << "now";
  expect_success(members);
}

TEST_F(Rigid, ProgramWithoutMpi) {
  expect_success(run({"sh", "-c", "echo rank of $EMPI_POD_NAME"}, 2));
  EXPECT_EQ(count(pods.all_logs(), "rank of pod-1"), 2) << pods.all_logs();
}

}  // namespace
}  // namespace empi
