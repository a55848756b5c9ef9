// SPDX-License-Identifier: Apache-2.0
// Each quirk of docs/openmpi.md: whether the Open MPI that this is built with still has it is said, and kept
// in quirks/NAME of the build folder; that our way around it holds is asserted.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "runtime/agent/mpi_parameters.hpp"
#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"

namespace empi {
namespace {

struct Ran {
  int status = 0;
  std::string output;
  bool said(const std::string& text) const { return output.find(text + "\n") != output.npos; }
};

Ran run(const std::string& command, int seconds) {
  Ran ran;
  std::FILE* out = popen(("timeout -k 1 " + std::to_string(seconds) + " " + command + " 2>&1").c_str(), "r");
  if (!out) return {.status = -1, .output = "cannot run " + command};
  for (char text[4096]; std::fgets(text, sizeof text, out);) ran.output += text;
  const int status = pclose(out);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return ran;
}

constexpr int kLimit = 20, kLimitOfBare = 4;  // s: one that has the quirk may never end

Ran under_mpirun(int ranks, const std::string& program, const std::string& argument, int seconds,
                 const std::string& btl = "self,sm") {
  const std::string options =
      " --with-ft ulfm --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --mca btl " + btl +
      " --mca coll ^han,cuda -n ";
  Ran ran =
      run(EMPI_MPIEXEC + options + std::to_string(ranks) + " " + testing::beside(program) + " " + argument,
          seconds);
  EXPECT_TRUE(ran.said("begun")) << program << ": " << ran.output;
  return ran;
}

const std::string kOverTcp = "self,tcp --mca btl_tcp_if_include lo --mca if_base_retain_loopback 1";

void note(const std::string& quirk, bool there) {
  std::printf("quirk %s: %s\n", quirk.c_str(), there ? "there" : "gone");
  std::filesystem::create_directories(testing::of_build("quirks"));
  std::ofstream(testing::of_build("quirks/") + quirk) << (there ? "there" : "gone") << "\n";
}

// A program that shows it by its words, by crashing or by never ending.
void look_for(const std::string& quirk, int ranks, const std::string& program,
              const std::string& btl = "self,sm") {
  const Ran bare = under_mpirun(ranks, program, "", kLimitOfBare, btl);
  note(quirk, !bare.said("quirk: gone"));
}

void expect_ours_holds(int ranks, const std::string& program, const std::string& btl = "self,sm") {
  const Ran ours = under_mpirun(ranks, program, "ours", kLimit, btl);
  EXPECT_TRUE(ours.said("ours: holds")) << "status " << ours.status << "\n" << ours.output;
}

TEST(Quirks, RevokedFreed) {
  look_for("revoked-freed", 3, "quirk_revoked_freed");
  expect_ours_holds(3, "quirk_revoked_freed");
}

TEST(Quirks, AgreementIds) {
  look_for("agreement-ids", 3, "quirk_agreement_ids");
  expect_ours_holds(3, "quirk_agreement_ids");
}

TEST(Quirks, CidRetries) {
  look_for("cid-retries", 4, "quirk_cid_retries");
  expect_ours_holds(4, "quirk_cid_retries");
}

TEST(Quirks, BlockedSearch) {
  look_for("blocked-search", 3, "quirk_blocked_search");
  expect_ours_holds(3, "quirk_blocked_search");
}

TEST(Quirks, EarlyMessages) {
  look_for("early-messages", 6, "quirk_early_messages", kOverTcp);
  expect_ours_holds(6, "quirk_early_messages", kOverTcp);
}

TEST(Quirks, UnwatchedReceives) { look_for("unwatched-receives", 2, "quirk_unwatched_receives", kOverTcp); }

TEST(Quirks, AcceptRoot) {
  look_for("accept-root", 2, "quirk_accept_root");
  expect_ours_holds(2, "quirk_accept_root");
}

TEST(Quirks, ConnectWaits) {
  look_for("connect-waits", 2, "quirk_connect_waits");
  expect_ours_holds(2, "quirk_connect_waits");
}

TEST(Quirks, GetStatus) {
  look_for("get-status", 2, "quirk_get_status");
  expect_ours_holds(2, "quirk_get_status");
}

TEST(Quirks, RequestsFreed) {
  look_for("requests-freed", 2, "quirk_requests_freed", kOverTcp);
  expect_ours_holds(2, "quirk_requests_freed", kOverTcp);
}

TEST(Quirks, SendrecvNull) {
  look_for("sendrecv-null", 2, "quirk_sendrecv_null");
  expect_ours_holds(2, "quirk_sendrecv_null_ours");
}

TEST(Quirks, BrokenPipes) {
  look_for("broken-pipes", 2, "quirk_broken_pipes", kOverTcp);
  expect_ours_holds(2, "quirk_broken_pipes", kOverTcp);
}

TEST(Quirks, FailedWrites) {
  look_for("failed-writes", 2, "quirk_failed_writes", kOverTcp);
  const auto ours = std::ranges::find(agent::kMpiParameters, std::string_view("OMPI_MCA_btl_tcp_flags"),
                                      &agent::MpiParameter::name);
  ASSERT_NE(ours, agent::kMpiParameters.end());
  expect_ours_holds(2, "quirk_failed_writes", kOverTcp + " --mca btl_tcp_flags " + ours->text);
}

TEST(Quirks, RevokeThreads) {
  look_for("revoke-threads", 2, "quirk_revoke_threads", kOverTcp);
  expect_ours_holds(2, "quirk_revoke_threads", kOverTcp);
}

// No way around it: with an Open MPI that has it no change may be rolled back.
TEST(Quirks, EarlyRevocation) {
  const Ran bare = under_mpirun(3, "quirk_early_revocation", "", 8);
  note("early-revocation", !bare.said("quirk: gone"));
  const bool supported = std::string(EMPI_MPI_VERSION).starts_with("5.0.7");
  EXPECT_TRUE(!supported || bare.said("quirk: gone")) << bare.output;
}

TEST(Quirks, ErrorClass) {
  const Ran ran = under_mpirun(1, "quirk_error_class", "", kLimit);
  EXPECT_TRUE(ran.said("quirk: there") || ran.said("quirk: gone")) << ran.output;
  note("error-class", ran.said("quirk: there"));
}

// On pods, whose names differ: to Open MPI each is a host.
class OnPods : public ::testing::Test {
 protected:
  testing::LocalPods pods;
  std::string run_on_pods(const std::string& program, int slots, int number = 2) {
    pods.mode = "rigid";
    pods.job = "quirk-" + std::to_string(getpid());
    pods.slots = slots;
    pods.command = {testing::beside(program)};
    pods.patience = std::chrono::seconds(20);
    const auto members = pods.launch(number);
    pods.start(members);
    for (const Member& member : members) pods.wait_for_end(member.uid);
    return pods.all_logs();
  }
  static int count(const std::string& text, const std::string& part) {
    int n = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
  }
};

TEST_F(OnPods, Han) {
  pods.environment["OMPI_MCA_mpi_ft_enable"] = "1";
  pods.environment["OMPI_MCA_coll_han_priority"] = "100";
  const std::string bare = run_on_pods("quirk_han", 2);
  note("han", count(bare, "waits for ever") > 0);
}

TEST_F(OnPods, WithoutHan) {
  pods.environment["OMPI_MCA_mpi_ft_enable"] = "1";
  pods.environment["OMPI_MCA_coll"] = "^han,cuda";
  const std::string ours = run_on_pods("quirk_han", 2);
  EXPECT_EQ(count(ours, "] rank "), 3) << ours;
  EXPECT_EQ(count(ours, ": interrupted"), 3) << ours;
  EXPECT_EQ(count(ours, "cuda"), 0) << "a component that is not there is excluded without a word\n" << ours;
}

TEST_F(OnPods, LateNeighbour) {
  pods.environment["QUIRK_BARE"] = "1";
  note("late-neighbour", count(run_on_pods("quirk_late_neighbour", 2, 1), "quirk: gone") == 0);
}

TEST_F(OnPods, ALateNeighbourIsWaitedFor) {
  const std::string log = run_on_pods("quirk_late_neighbour", 2, 1);
  EXPECT_EQ(count(log, "quirk: gone"), 1) << log;
}

TEST_F(OnPods, TcpDrops) {
  const std::string log = run_on_pods("quirk_tcp_drops", 1);
  EXPECT_EQ(count(log, "all is well"), 1) << log;
  EXPECT_EQ(count(log, "inbound"), 0) << "not the user's business\n" << log;
  note("tcp-drops", count(log, "does not arrive by itself") > 0);
}

}  // namespace
}  // namespace empi
