// SPDX-License-Identifier: Apache-2.0
// Agents that speak TLS, good ones and others: who commands them shows a certificate, and believes nobody
// else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "operator/agents/http_runtime.hpp"
#include "runtime/base/http_server.hpp"
#include "runtime/base/testing/loopback.hpp"
#include "runtime/base/tls.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/protocol/json.hpp"

namespace emj {
namespace {

using empi::UniqueFd;
using empi::tls::Authority;
using empi::tls::Credentials;
using empi::tls::Session;
using nlohmann::json;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

JobCredentials credentials(const Authority& authority, std::optional<int> worker) {
  return std::make_shared<Credentials>(
      authority.issue(worker, empi::tls::months_around(std::chrono::system_clock::now())),
      authority.certificate());
}

// An agent of worker 0 that tells of a job of one pod, to the controller.
class SecureAgent {
 public:
  explicit SecureAgent(const Authority& authority)
      : server_({}, [](const auto&, auto& response, bool& trusted) {
          const auto peer = empi::HttpServer::peer();
          trusted = peer && !peer->worker;
          if (!trusted) response.status = 403;
          return trusted;
        }) {
    server_.secure(credentials(authority, 0));
    server_.Get(empi::paths::kReport, [](const httplib::Request&, httplib::Response& response) {
      empi::Report report;
      report.view.uid = "uid-0";
      report.view.fence.value = 1;
      report.view.membership.epoch.value = 1;
      report.view.membership.members = {{"uid-0", "w-0", "10.0.0.1:1", 1, "n", 0}};
      response.set_content(json(report).dump(), "application/json");
    });
    server_.Post(empi::paths::kStop, [this](const httplib::Request&, httplib::Response&) { ++stopped; });
    port_ = server_.open("127.0.0.1", 0);
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    server_.wait_until_ready();
  }
  ~SecureAgent() {
    server_.stop();
    thread_.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  std::atomic<int> stopped{0};

 private:
  empi::HttpServer server_;
  int port_ = 0;
  std::thread thread_;
};

// A job that runs, and speaks TLS when there are credentials.
ElasticMPIJob a_secure_job() {
  ElasticMPIJob job;
  job.metadata.name = "job";
  job.status.epoch = 1;
  job.status.fence = 1;
  job.status.mutual_tls = true;
  return job;
}

PodView secure_pod(const std::string& address) {
  PodView pod;
  pod.uid = "uid-0";
  pod.name = "w-0";
  pod.ip = address;
  return pod;
}

HttpRuntime controller(JobCredentials as) {
  HttpRuntimeOptions options;
  options.timeouts = {Millis(2000), Millis(20000)};
  options.credentials_of = [as = std::move(as)](const ElasticMPIJob& job) {
    return job.status.mutual_tls ? as : nullptr;
  };
  return {[](const ElasticMPIJob&) { return std::vector<std::string>{"token"}; }, options};
}

RuntimeView look(const std::string& address, const JobCredentials& as) {
  return controller(as).observe(a_secure_job(), {secure_pod(address)});
}

TEST(SecureAgents, AreSpokenToByTheirController) {
  const Authority job("secret", "job");
  const SecureAgent agent(job);
  EXPECT_TRUE(look(agent.address(), credentials(job, std::nullopt)).reachable);
  // Nobody else is: no plain request, no member of the job, no other authority.
  EXPECT_FALSE(look(agent.address(), nullptr).reachable);
  EXPECT_FALSE(look(agent.address(), credentials(job, 1)).reachable);
  for (const auto& [secret, uid] : {std::pair{"secret", "another"}, {"another", "job"}}) {
    const RuntimeView view = look(agent.address(), credentials(Authority(secret, uid), std::nullopt));
    EXPECT_FALSE(view.reachable);
    EXPECT_THAT(view.problem, HasSubstr("TLS: the peer's certificate is not accepted"));
  }
}

// By a connection of its own.
TEST(SecureAgents, AreToldToStopThoughTheLastLookFailed) {
  const Authority authority("secret", "job");
  SecureAgent agent(authority);
  HttpRuntime runtime = controller(credentials(authority, std::nullopt));
  ElasticMPIJob job = a_secure_job();
  ASSERT_TRUE(runtime.observe(job, {secure_pod(agent.address())}).reachable);
  job.status.epoch = 7;  // so that nobody is believed to lead
  ASSERT_FALSE(runtime.observe(job, {secure_pod(agent.address())}).reachable);
  const Outcome outcome =
      runtime.stop(job, {1, "it is to start again", addresses_of({secure_pod(agent.address())})});
  EXPECT_TRUE(outcome.ok()) << outcome.message;
  EXPECT_EQ(agent.stopped, 1);
}

// A pod of the job, so its certificate is good; what it answers need not be.
class HostileAgent {
 public:
  using Answer = std::function<void(Session&)>;
  HostileAgent(const Authority& authority, Answer answer)
      : credentials_(credentials(authority, 0)),
        listener_(empi::testing_loopback::listen_on_loopback(port_)) {
    thread_ = std::thread([this, answer = std::move(answer)] {
      for (;;) {
        const UniqueFd peer(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!peer) return;
        Session session(credentials_->now(), peer.get(), Session::Side::Server);
        if (answer) {
          if (session.shake_hands(Session::Clock::now() + 20s)) answer(session);
        } else {
          char byte;
          while (recv(peer.get(), &byte, 1, 0) > 0) continue;
        }
      }
    });
  }
  ~HostileAgent() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  const JobCredentials credentials_;
  int port_ = 0;
  const UniqueFd listener_;
  std::thread thread_;
};

std::string problem_of(const Authority& job, const std::string& address, Millis whole) {
  AgentClient client(address, "token", {Millis(2000), whole}, "agent", credentials(job, std::nullopt));
  const auto answer = client.membership();
  return answer ? "none" : answer.error().message;
}

TEST(SecureAgents, ThatSayNothingHoldNobodyForLong) {
  const Authority job("secret", "job");
  const HostileAgent silent(job, nullptr);
  EXPECT_THAT(problem_of(job, silent.address(), Millis(50)), HasSubstr("no whole handshake in time"));
}

TEST(SecureAgents, ThatAnswerWithoutAnEndAreCutOff) {
  const Authority job("secret", "job");
  const HostileAgent endless(job, [](Session& session) {
    const auto until = Session::Clock::now() + 20s;
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", piece(1 << 16, 'x');
    if (session.write(head.data(), head.size(), until) <= 0) return;
    while (session.write(piece.data(), piece.size(), until) > 0) continue;
  });
  EXPECT_THAT(problem_of(job, endless.address(), Millis(20000)), HasSubstr("larger than allowed"));
  const HostileAgent slow(job, [](Session& session) {
    const auto until = Session::Clock::now() + 20s;
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx";
    session.write(head.data(), head.size(), until);
    char byte;
    while (session.read(&byte, 1, until) > 0) continue;  // until the asker has had enough
  });
  EXPECT_THAT(problem_of(job, slow.address(), Millis(2000)), HasSubstr("no whole answer in time"));
}

}  // namespace
}  // namespace emj
