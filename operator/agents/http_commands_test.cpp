// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "operator/agents/testing/lead.hpp"

namespace emj {
namespace {

using testing_lead::a_job;
using testing_lead::Lead;

// Its pods would wait for a planned leave until their grace is over.
TEST(HttpRuntimeTest, AJobIsToldToStopThoughTheLastLookAtItFailed) {
  HttpRuntime runtime([&](const ElasticMPIJob&) { return std::vector<std::string>{"token"}; }, {});
  Lead lead("token");
  EXPECT_TRUE(runtime.observe(a_job(), {lead.pod()}).reachable);
  lead.takes = "another token";
  EXPECT_FALSE(runtime.observe(a_job(), {lead.pod()}).reachable);
  lead.takes = "token";
  const Outcome outcome = runtime.stop(a_job(), {1, "the job was deleted", addresses_of({lead.pod()})});
  EXPECT_TRUE(outcome.ok()) << outcome.message;
  EXPECT_EQ(lead.stopped, 1);
}

// Nobody answers at the address of a pod that is gone, or another job's agent does.
TEST(HttpRuntimeTest, AJobWhoseLeadIsGoneIsNotToldToStopWhereItWas) {
  HttpRuntime runtime([&](const ElasticMPIJob&) { return std::vector<std::string>{"token"}; }, {});
  Lead lead("token");
  EXPECT_TRUE(runtime.observe(a_job(), {lead.pod()}).reachable);
  EXPECT_FALSE(runtime.observe(a_job(), {}).reachable);
  const Outcome outcome = runtime.stop(a_job(), {1, "the job was deleted", {}});
  EXPECT_TRUE(outcome.ok()) << "nobody is there";
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
  Outcome stop() { return runtime.stop(job, {1, "it has failed", addresses_of(pods)}); }
};

TEST_F(AJobOfThree, IsToldToStopByItsLeadAlone) {
  EXPECT_TRUE(stop().ok());
  EXPECT_EQ(lead.stopped, 1);
  EXPECT_EQ(lead.stopped_alone + member.stopped_alone + other.stopped_alone, 0);
}

// Nobody was told, and the others took the end of their pods for a drain: they went on for a quarter of a
// minute.
TEST_F(AJobOfThree, IsToldToStopPodByPodWhenItsLeadIsGone) {
  pods.erase(pods.begin());
  EXPECT_TRUE(runtime.observe(job, pods).lead_silent);
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

// Without a look between. The second time there was nobody left to share the time among, and the operator
// ended by a division by zero.
TEST_F(AJobOfThree, IsToldToStopAgainThoughAllHaveHeard) {
  lead.refuses_by = 500;
  EXPECT_TRUE(stop().ok());
  EXPECT_TRUE(stop().ok());
  EXPECT_EQ(lead.stopped_alone + member.stopped_alone + other.stopped_alone, 3) << "each once";
}

// It has been asked to start a moment ago, and nobody has looked at it since.
TEST_F(AJobOfThree, IsToldToStopThoughItWasNeverLookedAt) {
  HttpRuntime anew([](const ElasticMPIJob&) { return std::vector<std::string>{"token"}; }, {});
  EXPECT_TRUE(anew.stop(job, {1, "it was deleted", addresses_of(pods)}).ok());
  EXPECT_EQ(lead.stopped_alone + member.stopped_alone + other.stopped_alone, 3);
}

// Whom the start has not reached knows of no job, and ends by itself alone.
TEST_F(AJobOfThree, IsNotLedByAPodThatWasNotStarted) {
  job.status.epoch = 0;
  for (Lead* agent : {&member, &other}) agent->report.view.membership = {};
  lead.takes = "another token";
  ASSERT_TRUE(runtime.observe(job, pods).reachable);
  lead.takes = "token";
  EXPECT_TRUE(stop().ok());
  EXPECT_EQ(lead.stopped + lead.stopped_alone, 1);
}

// Another controller has the job: what the lead has heard of that the others may not have.
TEST_F(AJobOfThree, IsNotToldToStopPodByPodWhenItsLeadRefuses) {
  lead.refuses_by = lead.refuses_alone_by = 409;
  EXPECT_EQ(stop().kind, Outcome::Kind::Conflict);
  EXPECT_EQ(lead.stopped_alone + member.stopped_alone + other.stopped_alone, 0);
}

// That is no stale fence: nobody was told, though all would have taken it.
TEST_F(AJobOfThree, IsToldToStopPodByPodWhenItsLeadHasHandedOver) {
  lead.refuses_by = 409;
  const Outcome outcome = stop();
  EXPECT_TRUE(outcome.ok()) << outcome.message;
  EXPECT_EQ(lead.stopped_alone + member.stopped_alone + other.stopped_alone, 3);
}

TEST_F(AJobOfThree, IsToldNoFurtherOnceAPodHasHeardAnotherController) {
  lead.refuses_by = lead.refuses_alone_by = 500;
  member.refuses_alone_by = 409;
  EXPECT_EQ(stop().kind, Outcome::Kind::Conflict);
  EXPECT_EQ(other.stopped_alone, 0);
}

// Pods of its next run, which have the same token, where the word comes late.
TEST_F(AJobOfThree, IsNotToldToStopWhereOthersHaveTheAddressesOfItsPods) {
  for (Lead* agent : {&lead, &member}) agent->report.view.uid = "uid of the next run";
  EXPECT_TRUE(stop().ok()) << "nobody of those who were meant is left";
  EXPECT_EQ(lead.stopped + lead.stopped_alone + member.stopped_alone, 0);
  EXPECT_EQ(other.stopped_alone, 1);
}

// Of many that hang only some are tried in the time that there is, and the lead has half of it once.
TEST_F(AJobOfThree, IsToldToStopWhereThatWasNotTriedTheFirstTime) {
  std::vector<std::unique_ptr<Lead>> hung;
  for (int i = 0; i < 3; ++i) {
    hung.push_back(std::make_unique<Lead>("token"));
    pods.insert(pods.begin(), hung.back()->pod());
    hung.back()->report.view.uid = pods.front().uid = "hung-" + std::to_string(i);
  }
  for (const auto& agent : hung) agent->takes_time = Millis(2100);
  lead.takes_time = member.takes_time = Millis(2100);
  EXPECT_FALSE(stop().ok());
  EXPECT_EQ(other.stopped_alone, 0);
  EXPECT_FALSE(stop().ok());
  EXPECT_EQ(other.stopped_alone, 1);
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

}  // namespace
}  // namespace emj
