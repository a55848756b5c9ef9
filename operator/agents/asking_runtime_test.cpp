// SPDX-License-Identifier: Apache-2.0
// A silent agent holds up nobody's job but its own.

#include "operator/agents/asking_runtime.hpp"

#include <future>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "operator/agents/testing/asking.hpp"

namespace emj {
namespace {

using namespace testing_asking;

class AskingRuntimeTest : public AskingTest {};

// As a rule one pass is enough.
TEST_F(AskingRuntimeTest, AnAnswerWithinAMomentNeedsNoSecondPass) {
  bool told = false;
  AskingRuntime runtime(agents_, [&](const JobKey&) { told = true; },
                        {.crews = {.news = 0, .quick = 1, .slow = 1, .stops = 1}, .moment = kLong});
  EXPECT_TRUE(runtime.prepared(job_named("quick"), {}));
  EXPECT_TRUE(runtime.observe(job_named("quick"), {}).reachable);
  EXPECT_FALSE(told);
}

TEST_F(AskingRuntimeTest, NobodyWaitsForAnAnswer) {
  agents_.hang("slow", true);
  EXPECT_FALSE(prepared("slow"));
  EXPECT_FALSE(prepared("slow")) << "and it is asked once";
  EXPECT_TRUE(pass("quick").reachable);
  agents_.hang("slow", false);
  wait_for("slow");
  ASSERT_TRUE(prepared("slow"));
  EXPECT_TRUE(seen("slow").reachable);
}

TEST_F(AskingRuntimeTest, EachPassHasAnAnswerOfItsOwn) {
  const auto first = pass("a").epoch, second = pass("a").epoch;
  EXPECT_LT(first, second) << "what was commanded in between is in it";
}

// More of them than there are threads, each of which has cost time once.
TEST_F(AskingRuntimeTest, SilentJobsHoldUpNobodyElse) {
  const std::vector<std::string> silent{"s0", "s1", "s2", "s3"};
  for (const std::string& job : silent) {
    agents_.silence(job, true);
    EXPECT_FALSE(pass(job).reachable);
    agents_.hang(job, true);
  }
  for (const std::string& job : silent) {
    EXPECT_TRUE(prepared(job)) << "it is decided about as silent";
    EXPECT_FALSE(seen(job).reachable);
  }
  agents_.wait_until_asked(silent.front(), 2);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(pass("good").reachable);
  for (const std::string& job : silent) agents_.hang(job, false);
}

// They have not cost time yet, and more of them than there are threads are asked when their time has come.
TEST_F(AskingRuntimeTest, ManyThatFallSilentAtOnceDoNotHoldUpAnEvent) {
  const std::vector<std::string> silent{"a", "b", "c", "d", "e"};
  for (const std::string& job : silent) {
    agents_.hang(job, true);
    EXPECT_FALSE(prepared(job));
  }
  EXPECT_FALSE(prepared("looked-at")) << "it waits its turn behind them";
  urgent_ = true;
  pass("changed");
  // An event of one that waits its turn already.
  if (!prepared("looked-at")) wait_for("looked-at");
  EXPECT_TRUE(seen("looked-at").reachable);
  for (const std::string& job : silent) agents_.hang(job, false);
  for (const std::string& job : silent) wait_for(job);
}

// Of 1,000 jobs 333 fell silent: the looks at the others waited behind theirs, and each pass a moment for its
// own.
TEST_F(AskingRuntimeTest, APassDoesNotWaitForALookThatWaitsItself) {
  AskingRuntime runtime(agents_, [](const JobKey&) {},
                        {.crews = {.news = 0, .quick = 1, .slow = 1, .stops = 1}, .moment = kLong});
  agents_.hang("silent", true);
  std::jthread waits([&] { runtime.prepared(job_named("silent"), {}); });
  agents_.wait_until_asked("silent", 1);
  PodView newcomer;
  newcomer.uid = "new";
  auto others = std::async(std::launch::async, [&] {
    const bool first = runtime.prepared(job_named("other"), {}),
               again = runtime.prepared(job_named("other"), {});
    return first || again || !runtime.answering(job_named("third"), {newcomer}).empty();
  });
  const bool ended = others.wait_for(kLong / 2) == std::future_status::ready;
  agents_.hang("silent", false);
  EXPECT_TRUE(ended);
  EXPECT_FALSE(others.get());
}

TEST_F(AskingRuntimeTest, AJobThatAnswersAgainIsTold) {
  agents_.silence("job", true);
  EXPECT_FALSE(pass("job").reachable);
  ASSERT_TRUE(prepared("job"));
  agents_.wait_until_asked("job", 2);
  EXPECT_FALSE(seen("job").reachable);
  agents_.silence("job", false);
  // The question of before may still be on its way: no news, so the next look asks again.
  const auto limit = std::chrono::steady_clock::now() + kLong;
  while (!was_told("job") && std::chrono::steady_clock::now() < limit) {
    prepared("job");
    std::this_thread::yield();
  }
  wait_for("job");
  ASSERT_TRUE(prepared("job"));
  EXPECT_TRUE(seen("job").reachable);
  EXPECT_EQ(runtime_.samples(job_named("job")).size(), 1u);
}

// A silent run has ended and the next has begun, when an agent of the first answers after all.
TEST_F(AskingRuntimeTest, AnAnswerAboutAnEarlierRunIsNotLookedAt) {
  agents_.silence("job", true);
  EXPECT_FALSE(pass("job").reachable);
  agents_.silence("job", false);
  agents_.hang("job", true);
  ASSERT_TRUE(prepared("job"));
  agents_.wait_until_asked("job", 2);
  runtime_.nothing_runs(key_of("job"));
  EXPECT_FALSE(prepared("job")) << "and its silence says nothing of the next";
  agents_.hang("job", false);
  wait_for("job");
  EXPECT_EQ(pass("job").epoch, 3) << "the third question";
}

// Five jobs of forty workers, each of which answered just in time, held all threads that look after jobs.
TEST_F(AskingRuntimeTest, NewcomersThatTakeTheirTimeHoldUpNobody) {
  agents_.hang("slow", true);
  EXPECT_TRUE(answering("slow").empty());
  EXPECT_TRUE(answering("slow").empty());
  EXPECT_TRUE(pass("quick").reachable);
  agents_.wait_until_newcomers_asked("slow", 1);
  EXPECT_EQ(agents_.newcomers_asked("slow"), 1) << "once at a time";
  agents_.hang("slow", false);
  wait_for("slow");
  EXPECT_EQ(answering("slow"), std::set<std::string>{"uid-of-slow"});
  agents_.pass_time(Millis(60000));
  EXPECT_EQ(answering("slow"), std::set<std::string>{"uid-of-slow"});
  EXPECT_EQ(agents_.newcomers_asked("slow"), 1) << "it has said so, and lives";
  EXPECT_TRUE(runtime_.answering(job_named("slow"), {}).empty());
  EXPECT_EQ(answering_soon("slow"), std::set<std::string>{"uid-of-slow"});
  EXPECT_EQ(agents_.newcomers_asked("slow"), 2) << "it was gone, or had ended";
  EXPECT_EQ(answering_soon("quick"), std::set<std::string>{"uid-of-quick"});
}

// More of them than there are threads, each of which has cost time once.
TEST_F(AskingRuntimeTest, NewcomersThatHaveCostTimeAreAskedByThreadsApart) {
  const std::vector<std::string> slow{"s0", "s1", "s2", "s3"};
  for (const std::string& job : slow) {
    agents_.silence(job, true);
    EXPECT_TRUE(answering(job).empty());
    agents_.wait_until_newcomers_asked(job, 1);
    agents_.hang(job, true);
  }
  // Each once more, when its first round is over.
  const auto limit = std::chrono::steady_clock::now() + kLong;
  while (agents_.newcomers_asked(slow.front()) < 2 && std::chrono::steady_clock::now() < limit)
    for (const std::string& job : slow) EXPECT_TRUE(answering(job).empty());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(pass("good").reachable);
  EXPECT_EQ(answering_soon("good"), std::set<std::string>{"uid-of-good"});
  for (const std::string& job : slow) agents_.hang(job, false);
}

// It took half a second in all, and waited among those that do not answer.
TEST_F(AskingRuntimeTest, AHealthyStartOfManyHasCostNoTime) {
  agents_.silence("slow", true);
  EXPECT_FALSE(pass("slow").reachable);
  agents_.hang("slow", true);
  EXPECT_TRUE(prepared("slow"));
  agents_.wait_until_asked("slow", 2);
  agents_.let_newcomers_take(Millis(20));
  std::vector<PodView> pods(40);
  for (std::size_t i = 0; i < pods.size(); ++i) pods[i].uid = "uid-" + std::to_string(i);
  std::size_t known = 0;
  const auto limit = std::chrono::steady_clock::now() + kLong;
  for (std::size_t up = 30; known < pods.size() && std::chrono::steady_clock::now() < limit;) {
    known =
        runtime_.answering(job_named("many"), {pods.begin(), pods.begin() + static_cast<long>(up)}).size();
    if (known == up) up = pods.size();
  }
  EXPECT_EQ(known, pods.size());
  agents_.hang("slow", false);
}

}  // namespace
}  // namespace emj
