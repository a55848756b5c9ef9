// SPDX-License-Identifier: Apache-2.0
// Who connects to a master and has not shown its key. Promise: it costs the master little, and keeps no
// worker out.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/queue/master.hpp"
#include "runtime/queue/testing/by_hand.hpp"

namespace empi::queue {
namespace {

using by_hand::connect_to;
using by_hand::kPatienceMs;
using by_hand::readable;
using by_hand::receive;
using by_hand::say_hello;

bool is_closed(Connection& connection) {
  while (readable(connection.fd(), kPatienceMs))
    if (!connection.read_some()) return true;
  return false;
}

TEST(Strangers, OneThatAnnouncesMuchIsSentAwayBeforeItSendsIt) {
  Master master("master", "127.0.0.1");
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  connect_to(fd, master.address());
  Head head{.kind = Kind::Hello};
  head.length = std::uint64_t{1} << 40;
  ASSERT_EQ(send(fd.get(), &head, sizeof head, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof head));
  ASSERT_EQ(fcntl(fd.get(), F_SETFL, O_NONBLOCK), 0);
  Connection connection(std::move(fd));
  EXPECT_TRUE(is_closed(connection));
}

TEST(Strangers, OneThatSaysNothingIsSentAway) {
  Master master("master", "127.0.0.1");
  master.patience_with_strangers(0.2);
  Connection silent = Connection::to(master.address(), 30);
  EXPECT_TRUE(is_closed(silent));
  Connection worker = Connection::to(master.address(), 30);
  say_hello(worker, master.address(), "w", Newcomer::Joiner, 0);
  EXPECT_EQ(receive(worker).head.kind, Kind::Welcome);
  EXPECT_FALSE(readable(worker.fd(), 500)) << "one that is known may be silent for as long as it likes";
}

TEST(Strangers, AWrongKeyOpensNothing) {
  Master master("master", "127.0.0.1");
  for (const std::string& key : {std::string(), master.address().key + "x", master.address().key.substr(1)}) {
    Connection connection = Connection::to(master.address(), 30);
    say_hello(connection, {"127.0.0.1", 0, key}, "w", Newcomer::Joiner, 0);
    EXPECT_TRUE(is_closed(connection)) << key;
    EXPECT_FALSE(connection.next());
  }
}

TEST(Strangers, ManyOfThemLetAWorkerIn) {
  Master master("master", "127.0.0.1");
  std::vector<Connection> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(Connection::to(master.address(), 30));
  Connection worker = Connection::to(master.address(), 30);
  say_hello(worker, master.address(), "w", Newcomer::Joiner, 0);
  EXPECT_EQ(receive(worker).head.kind, Kind::Welcome);
}

TEST(Strangers, OneThatSendsMuchHasItsTurnAndNoMore) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  UniqueFd writer(ends[0]);
  Connection reader{UniqueFd(ends[1])};
  const int size = 1 << 20;
  setsockopt(writer.get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  const std::vector<char> much(64 * 1024);
  while (send(writer.get(), much.data(), much.size(), MSG_NOSIGNAL) > 0) {
  }
  int before = 0, after = 0;
  ASSERT_EQ(ioctl(ends[1], FIONREAD, &before), 0);
  ASSERT_GT(static_cast<std::size_t>(before), Connection::kTurn);
  EXPECT_TRUE(reader.read_some());
  ASSERT_EQ(ioctl(ends[1], FIONREAD, &after), 0);
  EXPECT_GE(after, before - static_cast<int>(Connection::kTurn));
  EXPECT_LT(after, before);
  EXPECT_TRUE(reader.read_some(Connection::kAll))
      << "a worker has one master only: it reads all that is there";
  ASSERT_EQ(ioctl(ends[1], FIONREAD, &after), 0);
  EXPECT_EQ(after, 0);
}

TEST(Strangers, NoDescriptorIsSaidSo) {
  Listener listener("127.0.0.1");
  EXPECT_FALSE(listener.accept());
  EXPECT_FALSE(listener.exhausted()) << "there is just nobody";
  Connection client = Connection::to({"127.0.0.1", listener.port(), ""}, 30);
  ASSERT_TRUE(readable(listener.fd(), kPatienceMs));
  const int free = dup(listener.fd());  // the lowest number that is to be had
  close(free);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit none{static_cast<rlim_t>(free), limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const bool accepted = listener.accept().has_value();
  setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_FALSE(accepted);
  EXPECT_TRUE(listener.exhausted());
  EXPECT_TRUE(listener.accept());
  EXPECT_FALSE(listener.exhausted());
}

}  // namespace
}  // namespace empi::queue
