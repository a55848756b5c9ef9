// SPDX-License-Identifier: Apache-2.0
// Delivery between agents over real sockets: what a lost answer and a closed listener do. The rules
// themselves are tested without sockets in wire/channel_test.cpp.
#include "runtime/agent/peers.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/agent/wire/inbox.hpp"
#include "runtime/base/host_port.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/token.hpp"
#include "runtime/base/unique_fd.hpp"

namespace empi::agent {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

// One connection after the other, by hand: a test may leave a request without an answer.
class RawServer {
 public:
  explicit RawServer(int port = 0, const std::string& host = "127.0.0.1") : host_(host) {
    SocketAddress address(host, port);
    listener_ = UniqueFd(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener_.get(), address.get(), address.length) || listen(listener_.get(), 8) ||
        getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.length))
      throw std::runtime_error("no port for a test server");
    port_ = port_of(address.storage);
    timeval limit{.tv_sec = 20, .tv_usec = 0};
    setsockopt(listener_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  int port() const { return port_; }
  std::string address() const { return HostPort{host_, port_}.text(); }

  // The next batch of whoever connects; the connection stays open for answer().
  json next() {
    for (;;) {
      if (!connection_) connection_ = UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!connection_) throw std::runtime_error("nobody connects");
      std::string text;
      char buffer[4096];
      for (;;) {
        const auto head = text.find("\r\n\r\n");
        if (head != text.npos) {
          const auto field = text.find("Content-Length: ");
          const std::size_t body = std::stoul(text.substr(field + 16));
          if (text.size() >= head + 4 + body) return json_text::from_cbor(text.substr(head + 4, body));
        }
        const ssize_t n = recv(connection_.get(), buffer, sizeof buffer, 0);
        if (n <= 0) break;
        text.append(buffer, static_cast<std::size_t>(n));
      }
      connection_.reset();
    }
  }
  // Whether the client closes its connection within `time`.
  bool is_left_within(std::chrono::milliseconds time) {
    pollfd ready{connection_.get(), POLLIN | POLLRDHUP, 0};
    char byte;
    return poll(&ready, 1, static_cast<int>(time.count())) > 0 &&
           recv(connection_.get(), &byte, 1, MSG_PEEK) == 0;
  }
  void answer(const std::string& status, const std::string& body = "{}") {
    const std::string text =
        "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    if (send(connection_.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) connection_.reset();
  }
  void hang_up() { connection_.reset(); }

 private:
  const std::string host_;
  UniqueFd listener_, connection_;
  int port_ = 0;
};

class PeersTest : public ::testing::Test {
 protected:
  std::string folder;
  std::unique_ptr<TokenFile> token;
  RunningClock clock;
  void SetUp() override {
    char name[] = "/tmp/empi-peers.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
    std::ofstream(folder + "/token") << "secret\n";
    token = std::make_unique<TokenFile>(folder + "/token");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  static std::ptrdiff_t threads() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  }
  static void expect_threads(std::ptrdiff_t count) {
    const auto until = std::chrono::steady_clock::now() + 20s;  // the last one may still be on its way out
    while (threads() > count && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(threads(), count);
  }
};

// An agent knows all others, and talks to few of them: each has a thread while it is talked to. Beats go on
// the connection that is there.
TEST_F(PeersTest, WhoIsNotTalkedToHasNoThreadAndWhoIsKeepsItsConnection) {
  RawServer server;
  const auto before = threads();
  Peers peers("us", *token, clock, {}, [](const DeliveryNews&) {});
  for (int i = 0; i < 50; ++i) peers.add("silent-" + std::to_string(i), "127.0.0.1:1");
  peers.add("them", server.address());
  EXPECT_EQ(threads(), before);
  peers.send("them", "beat");
  server.next();
  EXPECT_EQ(threads(), before + 1);
  server.answer("200 OK");
  EXPECT_FALSE(server.is_left_within(1s)) << "before the next beat";
  EXPECT_TRUE(server.is_left_within(20s));
  expect_threads(before);
  peers.send("them", "again");
  EXPECT_EQ(server.next().get<Batch>().messages.size(), 1u);
  server.answer("200 OK");
  EXPECT_TRUE(peers.flush(20s));
}

TEST_F(PeersTest, APeerWithAnAddressOfIPv6IsReached) {
  std::optional<RawServer> server;
  try {
    server.emplace(0, "::1");
  } catch (const std::runtime_error&) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  Peers peers("us", *token, clock, {}, [](const DeliveryNews&) {});
  peers.add("them", server->address());
  peers.send("them", "hello");
  EXPECT_EQ(server->next().get<Batch>().messages.size(), 1u);
  server->answer("200 OK");
  EXPECT_TRUE(peers.flush(20s));
}

TEST_F(PeersTest, ALostAnswerLosesNoMessage) {
  RawServer server;
  Inbox inbox("them");
  std::vector<std::string> arrived;
  const auto receive = [&] {
    const Batch batch = server.next().get<Batch>();
    if (inbox.accept(batch) != Arrival::New) return;
    for (const std::string& message : batch.messages) arrived.push_back(message);
  };
  Peers peers("us", *token, clock, {}, [](const DeliveryNews&) {});
  peers.add("them", server.address());
  peers.send("them", "first");
  receive();
  peers.send("them", "second");
  server.hang_up();
  std::future<bool> delivered = std::async(std::launch::async, [&] { return peers.flush(20s); });
  while (delivered.wait_for(0s) != std::future_status::ready && arrived.size() < 2) {
    receive();
    server.answer("200 OK");
    if (delivered.wait_for(200ms) == std::future_status::ready) break;
  }
  EXPECT_TRUE(delivered.get());
  EXPECT_EQ(arrived, (std::vector<std::string>{"first", "second"}));
}

// What has no listener for a moment is not lost, however many attempts fall into it.
TEST_F(PeersTest, AClosedListenerIsTroubleNotLoss) {
  std::atomic<int> lost{0};
  auto server = std::make_unique<RawServer>();
  const int port = server->port();
  Peers peers("us", *token, clock, {.silence = 5s}, [&](const DeliveryNews&) { ++lost; });
  clock.advance(std::chrono::steady_clock::now());
  peers.add("them", server->address());
  server.reset();
  peers.send("them", "first");
  const auto until = std::chrono::steady_clock::now() + 500ms;  // that long nobody listens
  while (std::chrono::steady_clock::now() < until) {
    clock.advance(std::chrono::steady_clock::now());
    std::this_thread::sleep_for(10ms);
  }
  server = std::make_unique<RawServer>(port);
  std::future<bool> delivered = std::async(std::launch::async, [&] { return peers.flush(20s); });
  const Batch batch = server->next().get<Batch>();
  EXPECT_EQ(batch.messages.size(), 1u);
  server->answer("200 OK");
  EXPECT_TRUE(delivered.get());
  EXPECT_EQ(lost, 0);
}

// It takes what we send, and nobody there acts on it. One that was only stopped for a while is not lost, and
// one that acts again is said to.
TEST_F(PeersTest, AReceiverWhoseReactorHangsIsSilent) {
  RawServer server;
  std::promise<std::string> lost;
  std::promise<void> again;
  std::atomic<int> losses{0};
  Peers peers("us", *token, clock, {.silence = 10s}, [&](const DeliveryNews& news) {
    if (news.standing == Standing::Good) return again.set_value();
    if (losses++ == 0) lost.set_value(news.what);
  });
  peers.add("them", server.address());
  peers.send("them", "beat");
  const auto hangs = [&] { server.answer("200 OK", encode(Receipt{60s})); };
  const Batch first = server.next().get<Batch>();
  hangs();
  EXPECT_EQ(server.next().get<Batch>(), first);  // so it is not taken for granted
  server.answer("200 OK", encode(Receipt{1s}));
  EXPECT_TRUE(peers.flush(20s));
  EXPECT_EQ(losses, 0);
  peers.send("them", "beat");
  RunningClock::TimePoint now = std::chrono::steady_clock::now();
  clock.advance(now);
  for (int i = 0; i < 100 && losses == 0; ++i) {
    server.next();
    for (int tick = 0; tick < 200; ++tick) clock.advance(now += 100ms);
    hangs();
  }
  auto why = lost.get_future();
  ASSERT_EQ(why.wait_for(20s), std::future_status::ready);
  EXPECT_NE(why.get().find("60 s"), std::string::npos);
  server.next();
  server.answer("200 OK", encode(Receipt{1s}));
  EXPECT_EQ(again.get_future().wait_for(20s), std::future_status::ready);
}

// A failure that is heard of late is not that of the peer that has the uid by now.
TEST_F(PeersTest, AFailureIsOfThePeerThatItWasSaidOf) {
  RawServer server;
  std::promise<DeliveryNews> lost;
  Peers peers("us", *token, clock, {}, [&](const DeliveryNews& failure) { lost.set_value(failure); });
  peers.add("them", server.address());
  peers.send("them", "beat");
  server.next();
  server.answer("409 Conflict");
  auto said = lost.get_future();
  ASSERT_EQ(said.wait_for(20s), std::future_status::ready);
  const DeliveryNews failure = said.get();
  EXPECT_TRUE(peers.is_current(failure));
  peers.drop("them");
  EXPECT_FALSE(peers.is_current(failure));
  peers.add("them", server.address());
  EXPECT_FALSE(peers.is_current(failure));
}

// A farewell is delivered, then nothing is left of the peer: neither a thread nor a connection.
TEST_F(PeersTest, APartedPeerLeavesNoThread) {
  const auto before = threads();
  Peers peers("us", *token, clock, {}, [](const DeliveryNews&) {});
  for (int i = 0; i < 5; ++i) {
    RawServer server;
    std::promise<void> gone;
    peers.add("them", server.address());
    peers.send("them", "farewell");
    peers.part("them", [&] { gone.set_value(); });
    EXPECT_FALSE(peers.knows("them"));
    EXPECT_FALSE(peers.send("them", "too late"));
    EXPECT_EQ(server.next().get<Batch>().messages.size(), 1u);
    server.answer("200 OK");
    ASSERT_EQ(gone.get_future().wait_for(20s), std::future_status::ready);
  }
  expect_threads(before);
}

// A pod that comes again is not sent home by the farewell to its predecessor.
TEST_F(PeersTest, APeerThatIsAddedAgainHearsNoOldFarewell) {
  RawServer server;
  Peers peers("us", *token, clock, {}, [](const DeliveryNews&) {});
  std::atomic<int> gone{0};
  peers.add("them", server.address());
  peers.send("them", "farewell");
  server.next();
  peers.part("them", [&] { ++gone; });
  peers.add("them", server.address());
  peers.send("them", "welcome");
  server.hang_up();
  std::future<bool> delivered = std::async(std::launch::async, [&] { return peers.flush(20s); });
  const Batch batch = server.next().get<Batch>();
  ASSERT_EQ(batch.messages.size(), 1u);
  EXPECT_EQ(batch.messages[0], "welcome");
  server.answer("200 OK");
  EXPECT_TRUE(delivered.get());
  EXPECT_EQ(gone, 0);
}

}  // namespace
}  // namespace empi::agent
