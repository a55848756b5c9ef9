// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/http_runtime.hpp"

#include <gtest/gtest.h>
#include <httplib.h>

#include <chrono>
#include <memory>
#include <thread>

#include "operator/agents/testing/lead.hpp"

namespace emj {
namespace {

using nlohmann::json;
using testing_lead::a_job;
using testing_lead::Lead;

// Each time out is a thread's time, and the threads are those of all jobs.
TEST(HttpRuntimeTest, ASilentJobIsAskedEverLessOften) {
  std::chrono::steady_clock::time_point now{};
  int looks = 0;
  // Each reading of the clock is half a second later: as if every request had cost that.
  HttpRuntime runtime([&](const ElasticMPIJob&) { return std::vector<std::string>{"token"}; }, {},
                      [&] { return now += Millis(500); });
  Lead lead("another token");
  PodView pod = lead.pod();
  std::vector<int> asked_at;  // seconds
  for (; looks < 200; ++looks) {
    const int before = lead.asked;
    const RuntimeView view = runtime.observe(a_job(), {pod});
    EXPECT_FALSE(view.reachable);
    EXPECT_NE(view.problem.find("401"), std::string::npos) << "and says why: " << view.problem;
    if (lead.asked > before) asked_at.push_back(looks);
    now += Millis(1000);
  }
  ASSERT_GE(asked_at.size(), 5u);
  EXPECT_LE(asked_at.size(), 12u) << "of 300 s";
  EXPECT_LE(asked_at[1], 3) << "at first soon";
  for (std::size_t i = 1; i < asked_at.size(); ++i) EXPECT_LE(asked_at[i] - asked_at[i - 1], 61);
  const int before = lead.asked;
  runtime.observe(a_job(), {pod});
  ASSERT_EQ(lead.asked, before);
  pod.ready = !pod.ready;
  runtime.observe(a_job(), {pod});
  EXPECT_GT(lead.asked, before) << "something is new of its pods";
}

// Its link is cut, and each question costs a timeout. What another member knows of it is what the next lead
// is named by: once the pauses had begun only the lead was asked, for ever.
TEST(HttpRuntimeTest, WhileTheLeadIsSilentAMemberThatAnswersIsAskedToo) {
  std::chrono::steady_clock::time_point now{};
  HttpRuntime runtime([&](const ElasticMPIJob&) { return std::vector<std::string>{"token"}; }, {},
                      [&] { return now += Millis(500); });
  Lead lead("another token"), member("token");
  PodView of_lead = lead.pod(), of_member = member.pod(), newcomer = lead.pod();
  of_member.name = "job-w-1";
  member.report.view.uid = of_member.uid = "uid-1";
  newcomer.name = "job-w-2";
  newcomer.uid = "uid-2";
  auto& members = member.report.view.membership.members;
  members.push_back({"uid-1", "w-1", member.address(), 1, "n", 0});
  for (int second = 0; second < 100; ++second) {
    member.report.view.lead_silent_seconds = second;
    const RuntimeView view = runtime.observe(a_job(), {of_lead, newcomer, of_member});
    ASSERT_TRUE(view.reachable && view.lead_silent) << "after " << second << " s: " << view.problem;
    EXPECT_GE(view.lead_silence.count(), second - 15);
    now += Millis(1000);
  }
  EXPECT_LE(lead.asked, 40) << "and it goes on being asked ever less often";
}

// It asks the others what they know before it leads, and one that is lost never answers it: nobody else knows
// so. What another one says that does not lead, or does no more, is no word on members.
TEST(HttpRuntimeTest, WhoWasNamedSaysWhoIsSilentBeforeItLeads) {
  HttpRuntime runtime([&](const ElasticMPIJob&) { return std::vector<std::string>{"token"}; }, {});
  Lead named("token"), member("token");
  PodView of_named = named.pod(), of_member = member.pod();
  named.report.view.uid = of_named.uid = "uid-1";
  member.report.view.uid = of_member.uid = "uid-2";
  for (Lead* lead : {&named, &member})
    for (const char* uid : {"uid-1", "uid-2", "uid-3"})
      lead->report.view.membership.members.push_back({uid, "w", "a:1", 1, "n", 0});
  named.report.view.silent = {"uid-3"};
  member.report.view.silent = {"uid-1"};
  member.report.view.membership.epoch.value =
      2;  // the word of a member that was dropped reached this one only
  ElasticMPIJob job = a_job();
  EXPECT_TRUE(runtime.observe(job, {of_named, of_member}).silent.empty());
  job.status.succession.emplace().lead_uid = "uid-1";
  const RuntimeView view = runtime.observe(job, {of_named, of_member});
  EXPECT_TRUE(view.lead_silent);
  EXPECT_EQ(view.epoch, 2);
  EXPECT_EQ(view.silent, std::vector<std::string>{"uid-3"});
}

// A newcomer that had joined a moment ago, or was to, had not heard yet that the job can go on without its
// lead. It answered first, and the job began again (bench chaos).
TEST(HttpRuntimeTest, WhoHasHeardThatTheLeadMayBeLostIsBelievedBeforeWhoHasNot) {
  HttpRuntime runtime([&](const ElasticMPIJob&) { return std::vector<std::string>{"token"}; }, {});
  Lead newcomer("token"), member("token");
  PodView of_newcomer = newcomer.pod(), of_member = member.pod();
  newcomer.report.view.uid = of_newcomer.uid = "uid-2";
  member.report.view.uid = of_member.uid = "uid-1";
  for (Lead* lead : {&newcomer, &member})
    for (const char* uid : {"uid-0", "uid-1"})
      lead->report.view.membership.members.push_back({uid, "w", "a:1", 1, "n", 0});
  member.report.view.survives_lead_loss = true;
  for (const auto& pods : {std::vector{of_newcomer, of_member}, std::vector{of_member, of_newcomer}}) {
    const RuntimeView view = runtime.observe(a_job(), pods);
    EXPECT_TRUE(view.reachable && view.lead_silent);
    EXPECT_TRUE(view.survives_lead_loss);
  }
}

TEST(HttpRuntimeTest, AMemberIsFoundThatAnswersWhenNobodyDidAtFirst) {
  std::chrono::steady_clock::time_point now{};
  HttpRuntime runtime([&](const ElasticMPIJob&) { return std::vector<std::string>{"token"}; }, {},
                      [&] { return now += Millis(500); });
  std::vector<std::unique_ptr<Lead>> mute;
  std::vector<PodView> pods;
  for (int index = 0; index < 6; ++index) {
    mute.push_back(std::make_unique<Lead>("another token"));
    pods.push_back(mute.back()->pod());
    pods.back().uid = "uid-" + std::to_string(index);
  }
  ElasticMPIJob job = a_job();
  job.status.lead_uid = "uid-0";
  EXPECT_FALSE(runtime.observe(job, pods).reachable);
  mute.back()->takes = "token";
  bool reachable = false;
  for (int second = 0; second < 600 && !reachable; ++second) {
    reachable = runtime.observe(job, pods).reachable;
    now += Millis(1000);
  }
  EXPECT_TRUE(reachable);
}

TEST(HttpRuntimeTest, ARefusedConnectionIsNoReasonToAskLessOften) {
  std::chrono::steady_clock::time_point now{};
  HttpRuntime runtime([&](const ElasticMPIJob&) { return std::vector<std::string>{"right"}; }, {},
                      [&] { return now += Millis(1); });
  PodView pod;
  std::string refusing;
  {
    refusing = Lead("right").address();
  }
  pod.uid = "uid-0";
  pod.ip = refusing;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(runtime.observe(a_job(), {pod}).reachable);
  const Lead lead("right");
  pod.ip = lead.address();
  EXPECT_TRUE(runtime.observe(a_job(), {pod}).reachable);
}

// The operator's memory is all jobs' memory.
TEST(HttpRuntimeTest, OnlyTheNewestChangesAreKept) {
  HttpRuntime runtime([](const ElasticMPIJob&) { return std::vector<std::string>{"right"}; },
                      {AgentTimeouts{}, 0, 60, 3});
  Lead lead("right");
  for (int i = 0; i < 5; ++i) {
    lead.report.changes.resize(1);
    lead.report.changes[0].request.id = "change-" + std::to_string(i);
    ASSERT_TRUE(runtime.observe(a_job(), {lead.pod()}).reachable);
  }
  const auto changes = runtime.changes({a_job().metadata.namespace_name, "job"});
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes.back().id, "change-4");
}

TEST(HttpRuntimeTest, AnAgentWithAnIpv6AddressIsReached) {
  httplib::Server server;
  const int port = server.bind_to_any_port("::1");
  if (port < 0) GTEST_SKIP() << "this machine has no IPv6";
  empi::Report report;
  report.view.uid = "uid-0";
  report.view.membership.epoch.value = 1;
  report.view.membership.members = {{"uid-0", "w-0", "[::1]:1", 1, "n", 0}};
  server.Get(empi::paths::kReport, [&](const httplib::Request&, httplib::Response& response) {
    response.set_content(json(report).dump(), "application/json");
  });
  std::thread thread([&] { server.listen_after_bind(); });
  server.wait_until_ready();
  HttpRuntime runtime([](const ElasticMPIJob&) { return std::vector<std::string>{"t"}; },
                      {AgentTimeouts{}, port, 60, 3});
  PodView pod;
  pod.uid = "uid-0";
  pod.ip = "::1";  // as status.podIP has it
  const RuntimeView view = runtime.observe(a_job(), {pod});
  EXPECT_TRUE(view.reachable) << view.problem;
  server.stop();
  thread.join();
}

// The root key was replaced: the job's agents have the older token until their Secret and their kubelets have
// followed.
TEST(HttpRuntimeTest, AnAgentThatHasAnOlderTokenIsAskedWithThat) {
  std::vector<std::string> tokens{"new", "old"};
  HttpRuntime runtime([&](const ElasticMPIJob&) { return tokens; }, {});
  const Lead lead("old");
  for (int look = 0; look < 2; ++look) {
    const RuntimeView view = runtime.observe(a_job(), {lead.pod()});
    EXPECT_TRUE(view.reachable);
    EXPECT_TRUE(view.stale_token) << "so that the Secret is written anew, also at the next look";
  }
  EXPECT_TRUE(runtime.change(a_job(), {}).ok());
  EXPECT_EQ(runtime.answering(a_job(), {lead.pod()}), std::set<std::string>{"uid-0"});
  tokens = {"old", "older"};
  EXPECT_FALSE(runtime.observe(a_job(), {lead.pod()}).stale_token);
  tokens = {"newest", "new"};  // the old one was dropped too early
  const RuntimeView view = runtime.observe(a_job(), {lead.pod()});
  EXPECT_FALSE(view.reachable);
  EXPECT_TRUE(view.stale_token) << "the Secret may heal it";
}

// A silent lead left the others less than a connection with TLS may take.
TEST(HttpRuntimeTest, MembersHaveTimeToAnswerWhenTheLeadHasTakenItsOwn) {
  HttpRuntime runtime([](const ElasticMPIJob&) { return std::vector<std::string>{"token"}; }, {});
  Lead lead("token"), member("token"), third("token");
  lead.takes_time = Millis(2100);
  member.takes_time = third.takes_time = Millis(350);
  PodView of_member = member.pod(), of_third = third.pod();
  member.report.view.uid = of_member.uid = "uid-1";
  of_third.uid = "uid-2";
  member.report.view.membership.members.push_back({"uid-1", "w-1", member.address(), 1, "n", 0});
  ElasticMPIJob job = a_job();
  job.status.lead_uid = "uid-0";
  const RuntimeView view = runtime.observe(job, {lead.pod(), of_member, of_third});
  EXPECT_TRUE(view.reachable && view.lead_silent) << view.problem;
}

// Each of them has an end of its own, and there were up to twenty in a look.
TEST(HttpRuntimeTest, ALookHasOneEndHoweverManyRequestsItTakes) {
  HttpRuntime runtime([](const ElasticMPIJob&) { return std::vector<std::string>{"new", "old"}; },
                      {AgentTimeouts{Millis(1000), Millis(400)}});
  std::vector<std::unique_ptr<Lead>> agents;
  std::vector<PodView> pods;
  for (int i = 0; i < 3; ++i) {
    agents.push_back(std::make_unique<Lead>("another token"));
    agents.back()->takes_time = Millis(380);
    pods.push_back(agents.back()->pod());
    pods.back().uid = "uid-" + std::to_string(i);
  }
  EXPECT_FALSE(runtime.observe(a_job(), pods).reachable);
  for (const auto& agent : agents) EXPECT_LE(agent->asked, 1);
}

TEST(HttpRuntimeTest, AllNewcomersTogetherAreGivenHalfASecond) {
  HttpRuntime runtime([](const ElasticMPIJob&) { return std::vector<std::string>{"t"}; }, {});
  std::vector<std::unique_ptr<Lead>> agents;
  std::vector<PodView> pods;
  for (int i = 0; i < 5; ++i) {
    agents.push_back(std::make_unique<Lead>("t"));
    agents.back()->takes_time = Millis(300);
    pods.push_back(agents.back()->pod());
    agents.back()->report.view.uid = pods.back().uid = "uid-" + std::to_string(i);
  }
  EXPECT_LE(runtime.answering(a_job(), pods).size(), 1u);
  EXPECT_LE(agents[1]->asked, 1);
  for (int i = 2; i < 5; ++i) EXPECT_EQ(agents[static_cast<std::size_t>(i)]->asked, 0);
}

// The controller's last look may have been before the commit, or before the change.
TEST(HttpRuntimeTest, AProgramsLastWordsSayHowItsLastChangeCameOut) {
  HttpRuntime runtime([](const ElasticMPIJob&) { return std::vector<std::string>{"token"}; }, {});
  ElasticMPIJob job;
  job.metadata.name = "job";
  PodView ended;
  ended.exit_code = 0;
  ended.last_change = empi::ChangeRecord{"change-2", "grow", "", empi::ChangeOutcome::Committed, 2, 4, {}, 0};
  EXPECT_FALSE(runtime.observe(job, {ended, PodView{}, ended}).reachable);
  const auto changes = runtime.changes(key_of(job));
  ASSERT_EQ(changes.size(), 1u) << "two pods have said the same";
  EXPECT_EQ(changes[0], ended.last_change);
}

}  // namespace
}  // namespace emj
