// SPDX-License-Identifier: Apache-2.0
// The agent's port by TLS: who may do what, and what those cost who are nobody.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>

#include "runtime/agent/http_api.hpp"
#include "runtime/agent/peers.hpp"
#include "runtime/base/bounded_http.hpp"
#include "runtime/base/tls.hpp"
#include "runtime/base/token.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::agent {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

struct Handlers final : ApiHandlers {
  std::atomic<int> commands{0};
  std::promise<std::string> heard;
  ApiAnswer health() override { return {200, "{}"}; }
  ApiAnswer start(const json&) override { return command(); }
  ApiAnswer put_change(const json&) override { return command(); }
  ApiAnswer get_changes() override { return command(); }
  ApiAnswer cancel_change(const std::string&, Fence) override { return command(); }
  ApiAnswer membership() override { return command(); }
  ApiAnswer samples(std::int64_t) override { return command(); }
  ApiAnswer report(std::int64_t) override { return command(); }
  ApiAnswer put_fence(const json&) override { return command(); }
  ApiAnswer put_lead(const json&) override { return command(); }
  ApiAnswer notice(const json&) override { return command(); }
  ApiAnswer stop(const json&) override { return command(); }
  ApiAnswer batch(const Batch& batch) override {
    heard.set_value(batch.from);
    return {200, "{}"};
  }
  ApiAnswer command() {
    ++commands;
    return {200, "{}"};
  }
};

std::shared_ptr<tls::Credentials> credentials(const tls::Authority& authority, std::optional<int> worker) {
  return std::make_shared<tls::Credentials>(
      authority.issue(worker, tls::months_around(std::chrono::system_clock::now())), authority.certificate());
}

class HttpApiTls : public ::testing::Test {
 protected:
  const tls::Authority job{"secret", "job"};
  std::string folder;
  std::unique_ptr<TokenFile> token;
  Handlers handlers;
  HttpLimits limits;
  std::unique_ptr<HttpApi> api;

  void SetUp() override {
    folder = (std::filesystem::temp_directory_path() / "empi-tls.XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    std::ofstream(folder + "/token") << "secret\n";
    token = std::make_unique<TokenFile>(folder + "/token");
  }
  void TearDown() override {
    api.reset();
    std::filesystem::remove_all(folder);
  }
  void serve() {
    api = std::make_unique<HttpApi>("127.0.0.1", 0, *token, handlers, limits, credentials(job, 0));
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(api->port()); }
  HttpAnswer ask(std::shared_ptr<tls::Credentials> who, const std::string& method, const std::string& path,
                 const std::string& bearer = "secret") const {
    return BoundedHttp(address(), {2s, 20s}, std::move(who))
        .ask(method, path, bearer, method == "GET" ? "" : "{}");
  }
  UniqueFd connect() const {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(api->port()));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    return fd;
  }
};

TEST_F(HttpApiTls, TheControllerCommandsAndMembersDoNot) {
  serve();
  const auto controller = credentials(job, std::nullopt), worker = credentials(job, 1);
  for (const auto& [method, path] : {std::pair{"POST", paths::kStart},
                                     {"PUT", paths::kChange},
                                     {"GET", paths::kReport},
                                     {"PUT", paths::kFence},
                                     {"PUT", paths::kLead},
                                     {"POST", paths::kNotice},
                                     {"POST", paths::kStop},
                                     {"GET", paths::kMembership}}) {
    handlers.commands = 0;
    const HttpAnswer refused = ask(worker, method, path);
    EXPECT_EQ(refused.status, 403) << method << path << refused.problem;
    EXPECT_NE(refused.body.find("empi://job/job/worker/1"), std::string::npos) << refused.body;
    EXPECT_EQ(handlers.commands, 0);
    EXPECT_EQ(ask(controller, method, path).status, 200) << method << path;
    EXPECT_EQ(ask(controller, method, path, "wrong").status, 401);
    EXPECT_EQ(handlers.commands, 1);
  }
}

TEST_F(HttpApiTls, MembersSendMessages) {
  serve();
  RunningClock clock;
  Peers peers(
      "us", *token, clock, {}, [](const DeliveryNews& failure) { ADD_FAILURE() << failure.what; },
      credentials(job, 1));
  peers.add("them", address());
  peers.send("them", "bytes");
  auto heard = handlers.heard.get_future();
  ASSERT_EQ(heard.wait_for(20s), std::future_status::ready);
  EXPECT_EQ(heard.get(), "us");
  EXPECT_TRUE(peers.flush(20s));
}

TEST_F(HttpApiTls, AnotherJobsControllerIsNobody) {
  serve();
  for (const auto& [secret, uid] : {std::pair{"secret", "another"}, {"another", "job"}}) {
    const HttpAnswer answer =
        ask(credentials(tls::Authority(secret, uid), std::nullopt), "POST", paths::kStop);
    EXPECT_EQ(answer.status, 0);
    EXPECT_NE(answer.problem.find("TLS"), std::string::npos) << answer.problem;
  }
  EXPECT_EQ(handlers.commands, 0);
}

TEST_F(HttpApiTls, WhoShowsNoCertificateMayAskForHealthOnly) {
  serve();
  httplib::SSLClient kubelet("127.0.0.1", api->port());
  kubelet.enable_server_certificate_verification(false);
  const auto health = kubelet.Get(paths::kHealth);
  ASSERT_TRUE(health) << httplib::to_string(health.error());
  EXPECT_EQ(health->status, 200);
  const auto stop =
      kubelet.Post(paths::kStop, {{"Authorization", "Bearer secret"}}, "{}", "application/json");
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->status, 403);
  EXPECT_EQ(handlers.commands, 0);
}

TEST_F(HttpApiTls, APlainRequestGetsNoAnswer) {
  serve();
  const HttpAnswer answer = ask(nullptr, "POST", paths::kStop);
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(handlers.commands, 0);
}

// They hold their threads until the deadline of a handshake, or until others need the room.
TEST_F(HttpApiTls, WhoConnectsAndSaysNothingMakesRoom) {
  limits.connections = 3;
  limits.handshake = 60s;
  serve();
  std::vector<UniqueFd> silent, garbage;
  for (int i = 0; i < 3; ++i) silent.push_back(connect());
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(ask(credentials(job, std::nullopt), "GET", paths::kReport).status, 200) << i;
  for (int i = 0; i < 3; ++i) {
    garbage.push_back(connect());
    const std::string noise(200, '\x16');  // the first byte of a handshake that is to be long
    ASSERT_GT(::send(garbage.back().get(), noise.data(), noise.size(), MSG_NOSIGNAL), 0);
  }
  EXPECT_EQ(ask(credentials(job, std::nullopt), "GET", paths::kReport).status, 200);
}

TEST_F(HttpApiTls, AHandshakeHasADeadline) {
  limits.handshake = 30ms;
  serve();
  const UniqueFd silent = connect();
  timeval limit{.tv_sec = 20, .tv_usec = 0};
  setsockopt(silent.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  char byte;
  EXPECT_EQ(recv(silent.get(), &byte, 1, 0), 0);
}

}  // namespace
}  // namespace empi::agent
