// SPDX-License-Identifier: Apache-2.0
// Between an agent and a rank whose end the test plays: nothing is cut, and an order that cannot be sent says
// why.
#include "runtime/agent/rank_link.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/agent/reactor.hpp"
#include "runtime/base/datagram.hpp"
#include "runtime/base/unique_fd.hpp"

namespace empi::agent {
namespace {

class RankLinkTest : public ::testing::Test {
 protected:
  const ProcId proc{"job.1", 3};
  std::string folder;
  Reactor reactor;
  std::vector<RankReport> reports;
  UniqueFd rank;

  void SetUp() override {
    char name[] = "/tmp/empi-link.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path() const { return folder + "/rank.sock"; }
  void connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path().c_str(), sizeof address.sun_path - 1);
    rank = UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(rank.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  // Runs the loop until the report is there, which it does once.
  void report(RankReport said, RankLink& link) {
    said.proc = proc;
    ASSERT_EQ(send_datagram(rank.get(), encode(said)), 0);
    reactor.after(std::chrono::seconds(20), [this] { reactor.stop(); });
    reactor.run();
    ASSERT_EQ(reports.size(), 1u) << "nothing was received";
    ASSERT_TRUE(link.connected(proc));
  }
  RankLink::OnReport keep() {
    return [this](const RankReport& report) {
      reports.push_back(report);
      reactor.stop();
    };
  }
};

TEST_F(RankLinkTest, ALongReportArrivesWhole) {
  RankLink link(reactor, path(), keep());
  connect();
  RankReport said;
  said.kind = RankReport::Kind::Agreed;
  said.error = std::string(100'000, 'x');
  ASSERT_NO_FATAL_FAILURE(report(said, link));
  EXPECT_EQ(reports.at(0).error, said.error);
}

TEST_F(RankLinkTest, AnOrderThatIsNotOnItsWaySaysWhy) {
  RankLink link(reactor, path(), keep());
  RankOrder order;
  EXPECT_EQ(link.send(proc, order), "it is not connected to its agent");
  connect();
  ASSERT_NO_FATAL_FAILURE(report({}, link));
  EXPECT_EQ(link.send(proc, order), "");
  order.port = std::string(std::size_t{8} << 20, 'x');
  EXPECT_NE(link.send(proc, order).find("Message too long ("), std::string::npos) << link.send(proc, order);
  order.port.clear();
  shutdown(rank.get(), SHUT_RD);  // a rank that has finalised
  EXPECT_NE(link.send(proc, order).find("Broken pipe"), std::string::npos) << link.send(proc, order);
}

}  // namespace
}  // namespace empi::agent
