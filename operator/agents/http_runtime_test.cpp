// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/http_runtime.hpp"

#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "runtime/protocol/json.hpp"

namespace emj {
namespace {

using nlohmann::json;

// The lead of a job of one pod, which takes one token.
class Lead {
 public:
  explicit Lead(std::string takes_token) : takes(std::move(takes_token)) {
    server_.Get(empi::paths::kReport, [this](const httplib::Request& request, httplib::Response& response) {
      if (is_right(request, response)) response.set_content(json(report).dump(), "application/json");
    });
    server_.Get(empi::paths::kMembership,
                [this](const httplib::Request& request, httplib::Response& response) {
                  if (is_right(request, response))
                    response.set_content(json(report.view).dump(), "application/json");
                });
    server_.Post(empi::paths::kNotice, [this](const httplib::Request& request, httplib::Response& response) {
      is_right(request, response);
    });
    server_.Post(empi::paths::kStop, [this](const httplib::Request& request, httplib::Response& response) {
      if (!is_right(request, response)) return;
      const bool for_itself = json::parse(request.body).value("thisPod", false);
      if (refuses_to_stop && !for_itself) response.status = 409;
      if (response.status != 409) ++(for_itself ? stopped_alone : stopped);
    });
    server_.Put(empi::paths::kChange, [this](const httplib::Request& request, httplib::Response& response) {
      is_right(request, response);
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    server_.wait_until_ready();
    report.view.uid = "uid-0";
    report.view.membership.epoch.value = 1;
    report.view.membership.members = {{"uid-0", "w-0", address(), 1, "n", 0}};
  }
  ~Lead() {
    server_.stop();
    thread_.join();
  }
  // Once the body has been read: an agent lingers, too, so that its answer arrives.
  bool is_right(const httplib::Request& request, httplib::Response& response) {
    ++asked;
    std::this_thread::sleep_for(takes_time);
    const bool right = request.get_header_value("Authorization") == "Bearer " + takes;
    if (!right) response.status = 401;
    return right;
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  PodView pod() const {
    PodView pod;
    pod.name = "job-w-0";
    pod.uid = "uid-0";
    pod.ip = address();
    return pod;
  }

  empi::Report report;
  std::atomic<int> asked{0}, stopped{0}, stopped_alone{0};
  std::atomic<bool> refuses_to_stop{false};
  std::string takes;  // these two: set while nobody asks
  Millis takes_time{0};

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

ElasticMPIJob a_job() {
  ElasticMPIJob job;
  job.metadata.name = "job";
  job.status.epoch = 1;
  return job;
}

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

// Its pods would wait for a planned leave until their grace is over.
TEST(HttpRuntimeTest, AJobIsToldToStopThoughTheLastLookAtItFailed) {
  HttpRuntime runtime([&](const ElasticMPIJob&) { return std::vector<std::string>{"token"}; }, {});
  Lead lead("token");
  EXPECT_TRUE(runtime.observe(a_job(), {lead.pod()}).reachable);
  lead.takes = "another token";
  EXPECT_FALSE(runtime.observe(a_job(), {lead.pod()}).reachable);
  lead.takes = "token";
  const Outcome outcome = runtime.stop(a_job(), {"uid-0", 1, "the job was deleted"});
  EXPECT_TRUE(outcome.ok()) << outcome.message;
  EXPECT_EQ(lead.stopped, 1);
}

// Nobody answers at the address of a pod that is gone, or another job's agent does.
TEST(HttpRuntimeTest, AJobWhoseLeadIsGoneIsNotToldToStopWhereItWas) {
  HttpRuntime runtime([&](const ElasticMPIJob&) { return std::vector<std::string>{"token"}; }, {});
  Lead lead("token");
  EXPECT_TRUE(runtime.observe(a_job(), {lead.pod()}).reachable);
  EXPECT_FALSE(runtime.observe(a_job(), {}).reachable);
  const Outcome outcome = runtime.stop(a_job(), {"uid-0", 1, "the job was deleted"});
  EXPECT_FALSE(outcome.ok()) << "it is not known who leads";
  EXPECT_EQ(lead.stopped, 0);
}

// A job of three pods, which its first one leads.
class AJobOfThree : public ::testing::Test {
 protected:
  Lead lead{"token"}, member{"token"}, other{"token"};
  HttpRuntime runtime{[](const ElasticMPIJob&) { return std::vector<std::string>{"token"}; }, {}};
  ElasticMPIJob job = a_job();
  std::vector<PodView> pods;

  void SetUp() override {
    const std::vector<Lead*> agents{&lead, &member, &other};
    for (std::size_t i = 0; i < agents.size(); ++i) {
      pods.push_back(agents[i]->pod());
      agents[i]->report.view.uid = pods[i].uid = "uid-" + std::to_string(i);
      for (Lead* agent : agents)
        if (i > 0) agent->report.view.membership.members.push_back({pods[i].uid, "w", pods[i].ip, 1, "n", 0});
    }
    ASSERT_TRUE(runtime.observe(job, pods).reachable);
  }
  Outcome stop() { return runtime.stop(job, {"uid-0", 1, "it has failed"}); }
};

TEST_F(AJobOfThree, IsToldToStopByItsLeadAlone) {
  EXPECT_TRUE(stop().ok());
  EXPECT_EQ(lead.stopped, 1);
  EXPECT_EQ(lead.stopped_alone + member.stopped_alone + other.stopped_alone, 0);
}

// Nobody was told, and the others took the end of their pods for a drain: they went on for a quarter of a
// minute.
TEST_F(AJobOfThree, IsToldToStopPodByPodWhenItsLeadIsGone) {
  EXPECT_TRUE(runtime.observe(job, {pods[1], pods[2]}).lead_silent);
  const Outcome outcome = stop();
  EXPECT_TRUE(outcome.ok()) << outcome.message;
  EXPECT_EQ(lead.stopped + lead.stopped_alone, 0);
  EXPECT_EQ(member.stopped_alone, 1);
  EXPECT_EQ(other.stopped_alone, 1);
}

TEST_F(AJobOfThree, IsToldToStopPodByPodWhenItsLeadDoesNotAnswer) {
  lead.takes = "another token";
  const Outcome outcome = stop();
  EXPECT_FALSE(outcome.ok());
  EXPECT_NE(outcome.message.find("2 of 3 pods"), std::string::npos) << outcome.message;
  EXPECT_EQ(member.stopped_alone, 1);
  EXPECT_EQ(other.stopped_alone, 1);
  lead.takes = "token";
  EXPECT_TRUE(stop().ok());
}

// Another controller has the job: what the lead has heard of that the others may not have.
TEST_F(AJobOfThree, IsNotToldToStopPodByPodWhenItsLeadRefuses) {
  lead.refuses_to_stop = true;
  EXPECT_EQ(stop().kind, Outcome::Kind::Conflict);
  EXPECT_EQ(lead.stopped_alone + member.stopped_alone + other.stopped_alone, 0);
}

// Of many that hang only some are reached in the time that there is.
TEST_F(AJobOfThree, IsToldToStopWhereItWasNotReachedTheFirstTime) {
  EXPECT_TRUE(runtime.observe(job, {pods[1], pods[2]}).lead_silent);
  member.takes_time = Millis(2100);
  for (int time = 0; time < 3 && other.stopped_alone == 0; ++time) EXPECT_FALSE(stop().ok());
  EXPECT_EQ(other.stopped_alone, 1);
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

// Agents of one job that answer slowly kept a thread of everybody's for as long as all of them took.
TEST(HttpRuntimeTest, ManyMembersAreGivenNoticeInAsManyPassesAsThatTakes) {
  std::vector<std::unique_ptr<Lead>> agents;
  GiveNotice notice{"change-1", 1, {}};
  for (int i = 0; i < 5; ++i) {
    agents.push_back(std::make_unique<Lead>("t"));
    notice.members.push_back(
        {"w-" + std::to_string(i), "uid-" + std::to_string(i), agents.back()->address(), i});
  }
  std::chrono::steady_clock::time_point now{};
  HttpRuntime runtime(
      [](const ElasticMPIJob&) { return std::vector<std::string>{"t"}; }, {},
      [&] { return now += std::chrono::milliseconds(700); });  // a look at the clock is so late
  int passes = 1;
  for (; !runtime.give_notice(a_job(), notice).ok(); ++passes) ASSERT_LT(passes, 10);
  EXPECT_GT(passes, 1);
  for (const auto& agent : agents) EXPECT_EQ(agent->asked, 1) << "told once";
  notice.id = "change-2";
  while (!runtime.give_notice(a_job(), notice).ok()) ASSERT_LT(++passes, 20);
  for (const auto& agent : agents) EXPECT_EQ(agent->asked, 2);
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
