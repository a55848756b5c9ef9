// SPDX-License-Identifier: Apache-2.0
// Between a rank and an agent whose end the test plays: no message is too long.
#include "runtime/rank/agent_link.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>

#include "runtime/base/datagram.hpp"

namespace empi::rank {
namespace {

class AgentLinkTest : public ::testing::Test {
 protected:
  std::string folder;
  UniqueFd listener, agent;
  AgentLink link;

  void SetUp() override {
    char name[] = "/tmp/empi-link.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
    const std::string path = folder + "/rank.sock";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    listener = UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(listener.get(), 1), 0);
    link.connect(path, {"job.1", 3});
    agent = UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(agent);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
};

// Those that leave may have come in many changes, each a namespace.
TEST_F(AgentLinkTest, AnOrderThatNamesManyRanksArrives) {
  RankOrder order;
  order.kind = RankOrder::Kind::Leave;
  for (std::uint32_t i = 0; i < 3000; ++i) order.procs.push_back({"tsunami-of-2010." + std::to_string(i), 0});
  const std::string text = encode(order);
  ASSERT_GT(text.size(), 64u * 1024);
  ASSERT_EQ(send_datagram(agent.get(), text), 0);
  RankOrder got;
  ASSERT_EQ(link.receive(10'000, got), AgentLink::Received::Order);
  EXPECT_EQ(got.kind, RankOrder::Kind::Leave);
  EXPECT_EQ(got.procs, order.procs);
}

// A program may have any number of objects in the way of a commit.
TEST_F(AgentLinkTest, AReportWhoseErrorIsTooLongIsSentWithItsBeginning) {
  RankReport report;
  report.kind = RankReport::Kind::Agreed;
  report.ok = false;
  report.error = "live objects: " + std::string(std::size_t{4} << 20, 'x');
  link.send(report);
  std::string text;
  ASSERT_GT(recv(agent.get(), nullptr, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT), 0) << "nothing was sent";
  ASSERT_GT(receive_datagram(agent.get(), text), 0);
  const auto got = decode_report(text);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->proc, (ProcId{"job.1", 3}));
  EXPECT_FALSE(got->ok);
  EXPECT_EQ(got->error.substr(0, 20), report.error.substr(0, 20));
}

}  // namespace
}  // namespace empi::rank
