// SPDX-License-Identifier: Apache-2.0
// The client against a real HTTP server in this process that speaks the protocol's paths.

#include "operator/agents/agent_client.hpp"

#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "operator/kube/testing/stub_server.hpp"
#include "runtime/protocol/json.hpp"

namespace emj {
namespace {

using kube::testing::Exchange;
using kube::testing::Request;
using kube::testing::StubServer;
using nlohmann::json;

class AgentServer {
 public:
  AgentServer() {
    server.set_pre_routing_handler([](const httplib::Request& request, httplib::Response& response) {
      if (request.path == empi::paths::kHealth ||
          request.get_header_value("Authorization") == "Bearer right") {
        return httplib::Server::HandlerResponse::Unhandled;
      }
      response.status = 401;
      response.set_content(R"({"error": "wrong token"})", "application/json");
      return httplib::Server::HandlerResponse::Handled;
    });
    port = server.bind_to_any_port("127.0.0.1");
    thread = std::thread([this] { server.listen_after_bind(); });
    server.wait_until_ready();
  }
  ~AgentServer() {
    server.stop();
    thread.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port); }

  httplib::Server server;
  int port = 0;
  std::thread thread;
};

TEST(AgentClient, ReadsTheMembership) {
  AgentServer agent;
  agent.server.Get(empi::paths::kMembership, [](const httplib::Request&, httplib::Response& response) {
    empi::MembershipView view;
    view.uid = "a";
    view.membership.epoch.value = 4;
    view.membership.members = {{"a", "w-0", "10.0.0.1:1", 1, "n", 0}};
    response.set_content(json(view).dump(), "application/json");
  });
  const auto view = AgentClient(agent.address(), "right").membership();
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_EQ(view.value().membership.epoch.value, 4);
}

TEST(AgentClient, WantsPlainAnswers) {
  AgentServer agent;
  std::string encoding = "nothing";
  agent.server.Get(empi::paths::kHealth, [&](const httplib::Request& request, httplib::Response& response) {
    encoding = request.get_header_value("Accept-Encoding");
    response.set_content("{}", "application/json");
  });
  ASSERT_TRUE(AgentClient(agent.address(), "right").health());
  EXPECT_EQ(encoding, "identity") << "compressing costs the ranks' node more than it saves";
}

TEST(AgentClient, AsksForSamplesSinceTheLastOne) {
  AgentServer agent;
  std::string since;
  agent.server.Get(empi::paths::kSample, [&](const httplib::Request& request, httplib::Response& response) {
    since = request.get_param_value("since");
    response.set_content(R"({"windows": [{"index": 42, "widthSeconds": 1}]})", "application/json");
  });
  const auto windows = AgentClient(agent.address(), "right").samples(41);
  ASSERT_TRUE(windows);
  EXPECT_EQ(since, "41");
  EXPECT_EQ(windows.value().at(0).index, 42);
}

empi::Report some_report() {
  empi::Report report;
  report.view.uid = "a";
  report.view.fence.value = 7;
  report.view.membership.epoch.value = 4;
  report.view.membership.members = {{"a", "w-0", "10.0.0.1:1", 1, "n", 0}};
  report.changes.resize(1);
  report.changes[0].request.id = "change-1";
  report.windows.resize(1);
  report.windows[0].index = 42;
  return report;
}

TEST(AgentClient, ReadsAllOfALeadInOneRequest) {
  AgentServer agent;
  std::vector<std::string> asked;  // the server has no other path
  agent.server.Get(empi::paths::kReport, [&](const httplib::Request& request, httplib::Response& response) {
    asked.push_back(request.target);
    response.set_content(json(some_report()).dump(), "application/json");
  });
  const auto report = AgentClient(agent.address(), "right").report(40, 7);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(json(report.value()), json(some_report()));
  EXPECT_EQ(asked, std::vector<std::string>{std::string(empi::paths::kReport) + "?since=40&fence=7"});
}

// What an older controller asks for is refused from then on, so that what is read stays true.
TEST(AgentClient, TakesTheJobBeforeItTrustsWhatItReads) {
  AgentServer agent;
  empi::Report told = some_report();
  std::vector<std::string> asked;
  agent.server.Get(empi::paths::kReport, [&](const httplib::Request&, httplib::Response& response) {
    asked.push_back("look");
    response.set_content(json(told).dump(), "application/json");
  });
  agent.server.Put(empi::paths::kFence, [&](const httplib::Request& request, httplib::Response& response) {
    asked.push_back("take");
    told.view.fence.value = json::parse(request.body).at("fence");
    told.view.change = "of the older controller, in the last moment";
    response.set_content("{}", "application/json");
  });
  AgentClient client(agent.address(), "right");
  const auto report = client.report(40, 8);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report.value().view.change, "of the older controller, in the last moment");
  EXPECT_EQ(asked, (std::vector<std::string>{"look", "take", "look"}));
  asked.clear();
  EXPECT_TRUE(client.report(40, 8));
  EXPECT_EQ(asked, std::vector<std::string>{"look"}) << "once";
  told.view.uid = "b";  // a member that does not lead
  EXPECT_TRUE(client.report(40, 9));
  told.view.membership.members.clear();  // not started
  EXPECT_TRUE(client.report(40, 9));
  EXPECT_EQ(asked, (std::vector<std::string>{"look", "look", "look"}));
}

TEST(AgentClient, AnOlderAgentLearnsTheFenceByBeingAsked) {
  AgentServer agent;
  int takes = 0;
  agent.server.Get(empi::paths::kReport, [&](const httplib::Request&, httplib::Response& response) {
    response.set_content(json(some_report()).dump(), "application/json");
  });
  agent.server.Put(empi::paths::kFence, [&](const httplib::Request&, httplib::Response& response) {
    ++takes;
    response.status = 404;
  });
  AgentClient client(agent.address(), "right");
  EXPECT_TRUE(client.report(40, 8));
  EXPECT_TRUE(client.report(40, 8));
  EXPECT_EQ(takes, 1);
}

// The runtime in a user's image may be older than the operator.
TEST(AgentClient, ReadsTheReportOfAnOlderAgentInParts) {
  AgentServer agent;
  int reports = 0;
  agent.server.Get(empi::paths::kReport, [&](const httplib::Request&, httplib::Response& response) {
    ++reports;
    response.status = 404;
  });
  const auto serve = [&](const char* path, const json& body) {
    agent.server.Get(path, [body](const httplib::Request&, httplib::Response& response) {
      response.set_content(body.dump(), "application/json");
    });
  };
  serve(empi::paths::kMembership, some_report().view);
  serve(empi::paths::kChange, {{"changes", some_report().changes}});
  serve(empi::paths::kSample, {{"windows", some_report().windows}});
  AgentClient client(agent.address(), "right");
  for (int i = 0; i < 2; ++i) {
    const auto report = client.report(-1, 7);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(json(report.value()), json(some_report()));
  }
  EXPECT_EQ(reports, 1) << "asked for once";
}

TEST(AgentClient, SendsChangesCancelsAndStops) {
  AgentServer agent;
  json change, stop;
  std::string cancelled, fence;
  agent.server.Put(empi::paths::kChange, [&](const httplib::Request& request, httplib::Response&) {
    change = json::parse(request.body);
  });
  agent.server.Delete(empi::paths::kChange, [&](const httplib::Request& request, httplib::Response&) {
    cancelled = request.get_param_value("id");
    fence = request.get_param_value("fence");
  });
  agent.server.Post(empi::paths::kStop, [&](const httplib::Request& request, httplib::Response&) {
    stop = json::parse(request.body);
  });
  AgentClient client(agent.address(), "right");
  empi::ChangeRequest request;
  request.id = "change-1";
  request.remove = {"x"};
  EXPECT_TRUE(client.change(request));
  EXPECT_TRUE(client.cancel("change 1&2", empi::Fence{7}));
  EXPECT_TRUE(client.stop({empi::Fence{2}, "enough"}));
  EXPECT_EQ(change["id"], "change-1");
  EXPECT_EQ(change["remove"], json::array({"x"}));
  EXPECT_EQ(cancelled, "change 1&2");
  EXPECT_EQ(fence, "7");
  EXPECT_EQ(stop["fence"], 2);
  EXPECT_EQ(stop["reason"], "enough");
  EXPECT_FALSE(stop.contains("thisPod")) << "nor a word that older agents have not heard";
}

TEST(AgentClient, ErrorsAreTyped) {
  AgentServer agent;
  agent.server.Get(empi::paths::kMembership, [](const httplib::Request&, httplib::Response& response) {
    response.set_content("{", "application/json");
  });
  agent.server.Put(empi::paths::kChange, [](const httplib::Request&, httplib::Response& response) {
    response.status = 409;
    response.set_content(R"({"error": "epoch 3 is not the present one, 4"})", "application/json");
  });
  const auto unauthorized = AgentClient(agent.address(), "wrong").membership();
  ASSERT_FALSE(unauthorized);
  EXPECT_EQ(unauthorized.error().kind, AgentError::Kind::Unauthorized);
  const auto malformed = AgentClient(agent.address(), "right").membership();
  ASSERT_FALSE(malformed);
  EXPECT_EQ(malformed.error().kind, AgentError::Kind::Malformed);
  const auto conflict = AgentClient(agent.address(), "right").change({});
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().kind, AgentError::Kind::Conflict);
  EXPECT_NE(conflict.error().message.find("epoch 3 is not the present one"), std::string::npos);
  const auto missing = AgentClient(agent.address(), "right").changes();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, AgentError::Kind::NotFound);
}

// An agent closes a connection after a refusal, and when it was not used for a while. Who asks by it at that
// moment would lose the command: during a rotation of the key all of them, for the newest token is refused
// first.
TEST(AgentClient, AskedOnAConnectionThatIsBeingClosedItAsksOnANewOne) {
  StubServer agent([](const Request& request, Exchange& exchange) {
    if (request.connection == 2) return exchange.reply(200, "{}");
    if (request.method == "GET") return exchange.reply(401, R"({"error": "wrong token"})");
    exchange.hang_up();
  });
  AgentClient client("127.0.0.1:" + std::to_string(agent.port()), "new");
  const auto refused = client.membership();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, AgentError::Kind::Unauthorized);
  client.use_token("old");
  const auto stopped = client.stop({empi::Fence{1}, "deleted"});
  EXPECT_TRUE(stopped) << stopped.error().message;
  EXPECT_EQ(agent.requests().size(), 3u);
}

TEST(AgentClient, ANewConnectionThatIsClosedIsAnAnswer) {
  StubServer agent([](const Request&, Exchange& exchange) { exchange.hang_up(); });
  const auto stopped =
      AgentClient("127.0.0.1:" + std::to_string(agent.port()), "t").stop({empi::Fence{1}, ""});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, AgentError::Kind::Unreachable);
  EXPECT_EQ(agent.requests().size(), 1u);
}

// Listens and never answers.
TEST(AgentClient, NeverWaitsForEver) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  AgentClient client("127.0.0.1:" + std::to_string(ntohs(address.sin_port)), "t", {Millis(100), Millis(100)});
  const auto health = client.health();
  ASSERT_FALSE(health);
  EXPECT_EQ(health.error().kind, AgentError::Kind::Unreachable);
  close(listener);
  const auto refused = client.health();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, AgentError::Kind::Unreachable);
}

}  // namespace
}  // namespace emj
