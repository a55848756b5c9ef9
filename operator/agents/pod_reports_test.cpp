// SPDX-License-Identifier: Apache-2.0
// A job is looked at through the sidecar of its lead's pod; whatever that one does, commands go on.

#include "operator/agents/pod_reports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "operator/agents/http_runtime.hpp"
#include "operator/kube/testing/stub_server.hpp"
#include "runtime/protocol/json.hpp"

namespace emj {
namespace {

using kube::testing::Exchange;
using kube::testing::Request;
using kube::testing::StubServer;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

empi::Report report_with(int windows) {
  empi::Report report;
  report.view.uid = "uid-0";
  report.view.fence.value = 1;
  report.view.membership.epoch.value = 1;
  report.view.membership.members = {{"uid-0", "w-0", "10.0.0.1:1", 1, "n", 0}};
  for (int i = 0; i < windows; ++i) {
    empi::WindowSample window;
    window.index = 100 + i;
    window.width_s = window.elapsed_s = window.useful_s = window.max_useful_s = window.max_pod_useful_s = 1;
    window.ranks = window.pods = 1;
    window.epoch = 1;
    report.windows.push_back(window);
  }
  return report;
}

void tell(const Request& request, Exchange& exchange) {
  const auto since = request.query.find("since");
  const bool wanted = since == request.query.end() || std::stoll(since->second) < 1000;
  exchange.reply(200, json(report_with(wanted ? 8 : 0)).dump());
}

// A pod whose sidecar does what a test says, and the operator's side of it.
class LookedThrough : public ::testing::Test {
 protected:
  void behave(StubServer::Handler handler) {
    const std::lock_guard lock(mutex_);
    sidecar_does_ = std::move(handler);
  }
  static void die(const Request&, Exchange& exchange) { exchange.hang_up(); }
  static void hang(const Request&, Exchange& exchange) { exchange.wait_end(); }

  RuntimeView look() {
    PodView pod;
    pod.name = "job-w-0";
    pod.uid = "uid-0";
    pod.ip = "127.0.0.1";
    return runtime_.observe(job(), {pod});
  }
  ElasticMPIJob job() const {
    ElasticMPIJob job;
    job.metadata.name = "job";
    job.status.epoch = job.status.fence = 1;
    job.spec.autoscaling.window = Seconds(2);
    return job;
  }
  std::size_t asked(const StubServer& server, const std::string& path = empi::paths::kReport) const {
    std::size_t count = 0;
    for (const Request& request : server.requests()) count += request.path == path;
    return count;
  }

  std::mutex mutex_;
  StubServer::Handler sidecar_does_ = tell;
  std::atomic<Millis> agent_takes_{Millis(0)};
  StubServer agent_{[this](const Request& request, Exchange& exchange) {
    std::this_thread::sleep_for(agent_takes_.load());
    tell(request, exchange);
  }};
  StubServer sidecar_{[this](const Request& request, Exchange& exchange) {
    StubServer::Handler handler;
    {
      const std::lock_guard lock(mutex_);
      handler = sidecar_does_;
    }
    handler(request, exchange);
  }};
  std::chrono::steady_clock::time_point now_{};
  Millis reading_{1};  // what a reading of the clock takes
  HttpRuntime runtime_{[](const ElasticMPIJob&) { return std::vector<std::string>{"token"}; },
                       {AgentTimeouts{Millis(1000), Millis(2000)}, agent_.port(), 60, 64, sidecar_.port()},
                       [this] { return now_ += reading_; }};
};

TEST_F(LookedThrough, ThePortOfCommandsIsNotPolled) {
  for (int i = 0; i < 3; ++i) {
    const RuntimeView view = look();
    EXPECT_TRUE(view.reachable);
    EXPECT_THAT(view.unmeasured, IsEmpty());
  }
  EXPECT_EQ(asked(sidecar_), 3u);
  EXPECT_THAT(agent_.requests(), IsEmpty());
  EXPECT_THAT(runtime_.samples(job()), Not(IsEmpty()));
  EXPECT_TRUE(runtime_.cancel(job(), {}).ok());
  EXPECT_EQ(asked(agent_, empi::paths::kChange), 1u) << "commands are the agent's";
  EXPECT_EQ(asked(sidecar_), 3u);
}

TEST_F(LookedThrough, OneThatIsDeadOrHostileCostsTheSamplesOnly) {
  ASSERT_TRUE(look().reachable);
  const std::vector<std::pair<std::string, StubServer::Handler>> troubles{
      {"hangs up", die},
      {"says what is no JSON", [](const Request&, Exchange& e) { e.reply(200, "[[[{"); }},
      {"says other JSON", [](const Request&, Exchange& e) { e.reply(200, "[1, 2]"); }},
      {"is broken", [](const Request&, Exchange& e) { e.reply(500, "{}"); }},
      {"redirects",
       [](const Request&, Exchange& e) { e.reply(302, "", "Location: http://169.254.169.254/\r\n"); }},
      {"says too much",
       [](const Request&, Exchange& e) { e.reply(200, std::string(kLongestAnswer + 1, ' ')); }},
      {"comes byte by byte", [](const Request&, Exchange& e) {
         e.raw("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
         e.wait_end();
       }}};
  for (const auto& [what, trouble] : troubles) {
    SCOPED_TRACE(what);
    behave(trouble);
    const std::size_t before = asked(agent_);
    const RuntimeView view = look();
    EXPECT_TRUE(view.reachable) << view.problem;
    EXPECT_EQ(view.members, std::vector<std::string>{"uid-0"});
    EXPECT_THAT(view.unmeasured, HasSubstr("sidecar 127.0.0.1"));
    EXPECT_EQ(asked(agent_), before + 1) << "for what commands need";
    EXPECT_GT(std::stoll(agent_.requests().back().query.at("since")), 1'000'000) << "and for no samples";
    EXPECT_TRUE(runtime_.cancel(job(), {}).ok());
  }
  behave(tell);
  EXPECT_THAT(look().unmeasured, IsEmpty()) << "it was started again";
}

TEST_F(LookedThrough, OneThatHangsIsAskedEverLessOften) {
  ASSERT_TRUE(look().reachable);
  behave(hang);
  reading_ = Millis(500);  // as if every answer had cost that
  const std::size_t before = asked(sidecar_);
  const auto end = now_ + std::chrono::seconds(30);
  while (now_ < end) {
    EXPECT_THAT(look().unmeasured, HasSubstr("no whole answer in time"));
    now_ += Millis(1000);
  }
  EXPECT_LE(asked(sidecar_) - before, 6u) << "of about twenty looks";
  EXPECT_GE(asked(sidecar_) - before, 3u);
  behave(tell);
  now_ += std::chrono::seconds(60);
  EXPECT_THAT(look().unmeasured, IsEmpty());
}

// It is well and says that its agent is not: asked directly, that one would cost the same time again.
TEST_F(LookedThrough, OneWhoseAgentIsSilentIsBelieved) {
  behave(
      [](const Request&, Exchange& e) { e.reply(504, R"({"error": "this pod's agent does not answer"})"); });
  const RuntimeView view = look();
  EXPECT_FALSE(view.reachable);
  EXPECT_THAT(view.problem, HasSubstr("this pod's agent does not answer"));
  EXPECT_THAT(agent_.requests(), IsEmpty());
}

// A job of before there was this keeps its runtime image, and with it the sidecar.
TEST_F(LookedThrough, OneOfAnEarlierVersionIsLeftAlone) {
  behave([](const Request&, Exchange& e) { e.reply(404, ""); });
  for (int i = 0; i < 3; ++i) {
    const RuntimeView view = look();
    EXPECT_TRUE(view.reachable);
    EXPECT_THAT(view.unmeasured, IsEmpty());
  }
  EXPECT_EQ(asked(sidecar_), 1u);
  EXPECT_EQ(asked(agent_), 3u);
  EXPECT_THAT(runtime_.samples(job()), Not(IsEmpty()));
}

// Of an earlier version, too, as far as anybody can tell: the NetworkPolicy of its time does not admit us.
TEST_F(LookedThrough, OneThatHasNeverAnsweredIsNotMissed) {
  behave(hang);
  agent_takes_ = Millis(700);
  const RuntimeView view = look();
  EXPECT_TRUE(view.reachable) << "two thirds of the time are the agent's: " << view.problem;
  EXPECT_THAT(view.unmeasured, IsEmpty());
  EXPECT_THAT(runtime_.samples(job()), Not(IsEmpty()));
}

// What it tells may be of a lead that does not know this controller yet.
TEST_F(LookedThrough, TheFenceIsRaisedAtTheAgent) {
  ElasticMPIJob taken = job();
  taken.status.fence = 5;
  PodView pod;
  pod.uid = "uid-0";
  pod.ip = "127.0.0.1";
  EXPECT_TRUE(runtime_.observe(taken, {pod}).reachable);
  EXPECT_EQ(asked(agent_, empi::paths::kFence), 1u);
  EXPECT_EQ(asked(agent_), 0u);
  EXPECT_EQ(asked(sidecar_), 2u) << "and again, for what an older controller may have done";
}

}  // namespace
}  // namespace emj
