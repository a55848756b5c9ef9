// SPDX-License-Identifier: Apache-2.0
// What the agent's port bears from those who have no token, and from those who are slow.
#include "runtime/agent/http_api.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "runtime/agent/peers.hpp"
#include "runtime/agent/reactor.hpp"
#include "runtime/base/bounded_http.hpp"
#include "runtime/base/token.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::agent {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

struct Handlers final : ApiHandlers {
  Reactor reactor;
  Millis limit{300};
  ApiAnswer health() override { return health_of(reactor.age(), limit); }
  ApiAnswer start(const json& body) override {
    static_cast<void>(body.get<StartRequest>());
    return {200, "{}"};
  }
  ApiAnswer put_change(const json& body) override {
    return {200, json{{"bytes", body.at("x").get<std::string>().size()}}.dump()};
  }
  ApiAnswer get_changes() override { return {200, "[]"}; }
  ApiAnswer cancel_change(const std::string&, Fence) override { return {}; }
  ApiAnswer membership() override { return {200, "{}"}; }
  ApiAnswer samples(std::int64_t) override { return {}; }
  ApiAnswer report(std::int64_t) override { return {200, "{}"}; }
  ApiAnswer put_fence(const json&) override { return {}; }
  ApiAnswer put_lead(const json&) override { return {}; }
  ApiAnswer stop(const json&) override { return {}; }
  ApiAnswer notice(const json&) override { return {}; }
  std::vector<std::thread::id> batches;  // of the connection that each came on
  ApiAnswer batch(const Batch&) override {
    batches.push_back(std::this_thread::get_id());
    return {200, "{}"};
  }
};

// A client by hand: it sends what it likes, and no more.
class Raw {
 public:
  explicit Raw(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    timeval limit{.tv_sec = 30, .tv_usec = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address))
      throw std::runtime_error("cannot connect");
  }
  bool send(const std::string& text) {
    return ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // What comes until `mark`, or until the server closes.
  std::string read_until(const std::string& mark) {
    std::string text;
    char buffer[4096];
    while (text.find(mark) == text.npos) {
      const ssize_t n = recv(fd_.get(), buffer, sizeof buffer, 0);
      if (n <= 0) break;
      text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
  }
  // True when the server closes within the time of the socket.
  bool is_closed() {
    char byte;
    for (;;) {
      const ssize_t n = recv(fd_.get(), &byte, 1, 0);
      if (n > 0) continue;
      return n == 0 || errno == ECONNRESET;
    }
  }

 private:
  UniqueFd fd_;
};

class HttpApiTest : public ::testing::Test {
 protected:
  std::string folder;
  std::unique_ptr<TokenFile> token;
  Handlers handlers;
  HttpLimits limits;
  void SetUp() override {
    char name[] = "/tmp/empi-http.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
    std::ofstream(folder + "/token") << "secret\n";
    token = std::make_unique<TokenFile>(folder + "/token");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  static std::string head(const std::string& line, const std::string& more, bool good = true) {
    return line + " HTTP/1.1\r\nHost: x\r\n" + (good ? "Authorization: Bearer secret\r\n" : "") + more +
           "\r\n";
  }
  static bool is_served(Raw& client) {
    client.send(head(std::string("GET ") + paths::kMembership, ""));
    return client.read_until("{}").starts_with("HTTP/1.1 200");
  }
};

TEST_F(HttpApiTest, WithoutATokenNoByteOfABodyIsRead) {
  HttpApi api("127.0.0.1", 0, *token, handlers);
  for (const char* field : {"Content-Length: 1000000000\r\n", "Transfer-Encoding: chunked\r\n"}) {
    Raw client(api.port());
    client.send(head(std::string("POST ") + paths::kMessage, field, false));
    const std::string answer = client.read_until("\r\n\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 401")) << field;
    EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos) << "nobody is to ask by it again";
    EXPECT_EQ(answer.find("Keep-Alive"), std::string::npos) << answer;
    EXPECT_TRUE(client.is_closed()) << "what follows is no request";
  }
}

// The sidecar's way: whoever can ask by it cannot command.
TEST_F(HttpApiTest, ByItsSocketAnAgentTellsAndTakesNoCommand) {
  const std::string path = folder + "/view.sock";
  {
    HttpApi api(path, *token, handlers);
    BoundedHttp client(path, {});
    EXPECT_EQ(client.ask("GET", paths::kReport, "secret").status, 200);
    EXPECT_EQ(client.ask("GET", paths::kReport, "wrong").status, 401);
    EXPECT_EQ(client.ask("POST", paths::kStop, "secret", R"({"fence": 1})").status, 404);
    EXPECT_EQ(client.ask("PUT", paths::kFence, "secret", R"({"fence": 1})").status, 404);
    EXPECT_EQ(client.ask("PUT", paths::kChange, "secret", R"({"x": ""})").status, 404);
    EXPECT_EQ(client.ask("POST", paths::kMessage, "secret", "{}").status, 404);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  std::ofstream(path) << "of a killed predecessor";
  HttpApi api(path, *token, handlers);
  EXPECT_EQ(BoundedHttp(path, {}).ask("GET", paths::kReport, "secret").status, 200);
  EXPECT_THROW(HttpApi(folder + "/" + std::string(120, 'x'), *token, handlers), std::runtime_error);
}

TEST_F(HttpApiTest, ABodyIsBoundedAlsoWithAToken) {
  limits.body = 4096;
  HttpApi api("127.0.0.1", 0, *token, handlers, limits);
  const auto put = [&](const std::string& fields, const std::string& body) {
    Raw client(api.port());
    client.send(head(std::string("PUT ") + paths::kChange, fields) + body);
    return client.read_until("\r\n\r\n").substr(0, 12);
  };
  const std::string small = json{{"x", std::string(4000, 'x')}}.dump();
  EXPECT_EQ(put("Content-Length: " + std::to_string(small.size()) + "\r\n", small), "HTTP/1.1 200");
  EXPECT_EQ(put("Content-Length: 4097\r\n", ""), "HTTP/1.1 413") << "at once";
  EXPECT_EQ(put("Content-Length: 18446744073709551615\r\n", ""), "HTTP/1.1 413");
  EXPECT_EQ(put("Content-Length: 10\r\nContent-Encoding: gzip\r\n", "xxxxxxxxxx"), "HTTP/1.1 415");
  std::string chunks;
  for (int i = 0; i < 200; ++i) chunks += "400\r\n" + std::string(1024, 'x') + "\r\n";
  EXPECT_NE(put("Transfer-Encoding: chunked\r\n", chunks), "HTTP/1.1 200");
}

// Whoever asks often, and a browser or Prometheus asks so, would have it compress on the processor of a rank.
TEST_F(HttpApiTest, NothingIsCompressedWhateverAClientTakes) {
  HttpApi api("127.0.0.1", 0, *token, handlers);
  for (const char* taken : {"br", "gzip", "br, gzip, deflate, zstd", "*"}) {
    Raw client(api.port());
    client.send(
        head(std::string("GET ") + paths::kMembership, "accept-encoding: " + std::string(taken) + "\r\n"));
    const std::string answer = client.read_until("{}");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << taken;
    EXPECT_EQ(answer.find("Content-Encoding"), std::string::npos) << taken;
    EXPECT_TRUE(answer.ends_with("\r\n\r\n{}")) << taken;
  }
}

TEST_F(HttpApiTest, AHeadIsBounded) {
  HttpApi api("127.0.0.1", 0, *token, handlers, {.head = 4096});
  Raw client(api.port());
  std::string fields;
  for (int i = 0; i < 100; ++i) fields += "X-" + std::to_string(i) + ": " + std::string(100, 'x') + "\r\n";
  client.send(head(std::string("GET ") + paths::kMembership, fields));
  EXPECT_FALSE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 200"));
}

// A byte now and then keeps no thread busy: a request has one deadline, not one for each byte.
TEST_F(HttpApiTest, ARequestThatDripsIsCutOff) {
  limits.request = 300ms;
  HttpApi api("127.0.0.1", 0, *token, handlers, limits);
  Raw client(api.port());
  const auto until = std::chrono::steady_clock::now() + 30s;
  const std::string request = std::string("GET ") + paths::kMembership + " HTTP/1.1\r\nX: ";
  ASSERT_TRUE(client.send(request));
  while (client.send("x") && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(20ms);
  EXPECT_LT(std::chrono::steady_clock::now(), until);
}

TEST_F(HttpApiTest, IdleConnectionsKeepNobodyOut) {
  limits.connections = 8;
  limits.request = limits.idle = 1h;
  HttpApi api("127.0.0.1", 0, *token, handlers, limits);
  Raw member(api.port());
  ASSERT_TRUE(is_served(member));
  std::vector<std::unique_ptr<Raw>> idle;
  for (int i = 0; i < 100; ++i) {
    idle.push_back(std::make_unique<Raw>(api.port()));
    if (i % 2) idle.back()->send("POST /v1/agent HTTP/1.1\r\n");
  }
  Raw beat(api.port());
  EXPECT_TRUE(is_served(beat));
  EXPECT_TRUE(is_served(member)) << "who has shown the token is not put out for one who has not";
  EXPECT_TRUE(idle.front()->is_closed()) << "the oldest makes room";
}

TEST_F(HttpApiTest, AConnectionServesManyRequestsAndEndsWithTheServer) {
  limits.idle = 1h;
  handlers.limit = 1h;  // of the health: nothing else of the agent runs here
  auto api = std::make_unique<HttpApi>("127.0.0.1", 0, *token, handlers, limits);
  Raw client(api->port());
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(is_served(client)) << i;
  client.send(head(std::string("GET ") + paths::kHealth, "", false));
  EXPECT_TRUE(client.read_until("}").starts_with("HTTP/1.1 200")) << "needs no token";
  api.reset();
  EXPECT_TRUE(client.is_closed());
}

// Once a second and pod: neither side gives the connection up in between.
TEST_F(HttpApiTest, TheBeatsOfAPodComeOnOneConnection) {
  HttpApi api("127.0.0.1", 0, *token, handlers);
  RunningClock clock;
  Peers peers("us", *token, clock, {}, [](const DeliveryNews&) {});
  peers.add("them", "127.0.0.1:" + std::to_string(api.port()));
  for (int beat = 0; beat < 2; ++beat) {
    if (beat > 0) std::this_thread::sleep_for(1100ms);  // what passes between beats is what is tried
    peers.send("them", "beat");
    ASSERT_TRUE(peers.flush(20s));
  }
  ASSERT_EQ(handlers.batches.size(), 2u);
  EXPECT_EQ(handlers.batches[0], handlers.batches[1]);
}

// Wrong bytes, wrong values and too deep ones are the asker's mistake, not a defect of the agent.
TEST_F(HttpApiTest, WhatCannotBeReadIsRefusedInWords) {
  HttpApi api("127.0.0.1", 0, *token, handlers);
  const auto post = [&](const std::string& body) {
    Raw client(api.port());
    client.send(head(std::string("POST ") + paths::kStart,
                     "Content-Length: " + std::to_string(body.size()) + "\r\n") +
                body);
    return client.read_until("}");
  };
  const std::string good = json(StartRequest{}).dump();
  EXPECT_TRUE(post(good).starts_with("HTTP/1.1 200")) << good;
  for (const std::string& wrong :
       {std::string("{"), std::string(R"({"fence":"x","members":[]})"),
        std::string(R"({"fence":1,"members":[],"probe":"some"})"), std::string(100'000, '[')}) {
    const std::string answer = post(wrong);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400")) << wrong.substr(0, 80) << ": " << answer;
    EXPECT_NE(answer.find("malformed request"), answer.npos) << answer;
  }
}

TEST_F(HttpApiTest, HealthIsThatOfTheReactor) {
  HttpApi api("127.0.0.1", 0, *token, handlers);
  std::function<void()> tick = [&] { handlers.reactor.after(10ms, tick); };
  tick();
  std::thread loop([&] { handlers.reactor.run(); });
  const auto comes_to = [&](const std::string& status, const std::string& body) {
    const auto until = std::chrono::steady_clock::now() + 30s;
    while (std::chrono::steady_clock::now() < until) {
      Raw client(api.port());
      client.send(head(std::string("GET ") + paths::kHealth, "", false));
      const std::string answer = client.read_until("}");
      if (answer.starts_with("HTTP/1.1 " + status) && answer.find(body) != answer.npos) return true;
      std::this_thread::sleep_for(20ms);
    }
    return false;
  };
  EXPECT_TRUE(comes_to("200", "\"ok\":true"));
  std::promise<void> done;
  handlers.reactor.post([&] { done.get_future().wait(); });
  EXPECT_TRUE(comes_to("503", "has not turned"));
  done.set_value();
  EXPECT_TRUE(comes_to("200", kReactorAge));
  handlers.reactor.stop();
  loop.join();
}

// Reasons hold what programs and their ranks say, which need not be UTF-8.
TEST_F(HttpApiTest, ARefusalIsJsonWhateverItQuotes) {
  EXPECT_EQ(json::parse(refuse(400, "called MPI_Abort: caf\xe9").body).at("error"),
            "called MPI_Abort: caf\ufffd");
}

TEST_F(HttpApiTest, APortIsListenedOnOnce) {
  HttpApi api("127.0.0.1", 0, *token, handlers);
  EXPECT_THROW(HttpApi("127.0.0.1", api.port(), *token, handlers), std::runtime_error);
}

}  // namespace
}  // namespace empi::agent
