// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/mpi_messages.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/agent/output.hpp"

namespace empi::agent {
namespace {

// As it stands in a log: of 5.0.7 and 5.0.11.
TEST(MpiMessages, WhatNonBlockingCollectivesPrintIsTold) {
  const std::string line =
      "NBC_Progress: an error 77 was found during schedule 0x7fc9 at row-offset 0 - aborting the schedule";
  PrintedByMpi printed;
  std::vector<std::string> lines = {"mine", line, "", "", "mine, too", line};
  EXPECT_EQ(printed.take(lines), (std::vector{line, line}));
  EXPECT_EQ(lines, (std::vector<std::string>{"mine", "", "mine, too"}));
  lines = {"", "more"};
  EXPECT_TRUE(printed.take(lines).empty()) << "the end of it came later";
  EXPECT_EQ(lines, std::vector<std::string>{"more"});
}

TEST(MpiMessages, WhatConnectionsPrintIsTold) {
  const std::string line =
      "[pod-0][[40746,0],0][/openmpi-5.0.11/opal/mca/btl/tcp/btl_tcp_frag.c:127:mca_btl_tcp_frag_send] peer: "
      "unknown "
      "mca_btl_tcp_frag_send: writev failed: Broken pipe (32)";
  PrintedByMpi printed;
  std::vector<std::string> lines = {line, "", "[mine][[too]] opal/mca/btl/ is a folder", "[mine] a[[1]] = 2"};
  EXPECT_EQ(printed.take(lines), std::vector{line});
  EXPECT_EQ(lines.size(), 3u);
}

TEST(MpiMessages, ConnectionsBetweenRanksAreTheRuntimesBusiness) {
  EXPECT_TRUE(is_the_runtimes("help-mpi-btl-tcp.txt", "dropped inbound connection"));
  EXPECT_TRUE(is_the_runtimes("peer hung up", "/opt/openmpi/share/openmpi/help-mpi-btl-tcp.txt"))
      << "as it comes where the file is not installed";
  EXPECT_FALSE(is_the_runtimes("help-mpi-btl-tcp.txt", "invalid if_inexclude")) << "the user's";
  EXPECT_FALSE(is_the_runtimes("help-mpi-errors.txt", "mpi_errors_are_fatal")) << "the user's";
  EXPECT_FALSE(is_the_runtimes("", ""));
}

TEST(MpiMessages, FaultToleranceIsTheRuntimesChoice) {
  EXPECT_TRUE(is_the_runtimes("help-mpi-ft.txt", "module:untested:failundef")) << "a program opens a file";
  EXPECT_TRUE(is_the_runtimes("module:untested:shouldwork", "/usr/share/openmpi/help-mpi-ft.txt"));
  EXPECT_FALSE(is_the_runtimes("help-mpi-ft.txt", "anything else"));
}

TEST(OutputTest, MessagesOfMpiAreForwardedWhenTheRankFails) {
  const ProcId proc{"n", 4};
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Output output(true, "pod");
  output.add(proc, UniqueFd(ends[0]), kMpiMessages);
  for (int i = 0; i < 60; ++i) dprintf(ends[1], "message %d\n", i);
  output.say(proc, kMpiMessages, "said");
  output.drain(std::chrono::seconds(10));
  EXPECT_TRUE(output.tail(proc).empty());
  output.failed(proc);
  close(ends[1]);
  output.drain(std::chrono::seconds(10));
  const auto tail = output.tail(proc);
  ASSERT_EQ(tail.size(), 40u);
  EXPECT_EQ(tail.back(), "said");
}

}  // namespace
}  // namespace empi::agent
