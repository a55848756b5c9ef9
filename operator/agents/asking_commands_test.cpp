// SPDX-License-Identifier: Apache-2.0
// An agent that does not obey holds up nobody's command but its own.

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "operator/agents/testing/asking.hpp"

namespace emj {
namespace {

using namespace testing_asking;

class AskingCommandsTest : public AskingTest {};

// A job is deleted while it is being asked: its program is told to end all the same, and what is remembered
// of it goes when nobody uses it any more.
TEST_F(AskingCommandsTest, AJobThatGoesMeanwhileIsStoppedThenForgotten) {
  agents_.hang("job", true);
  EXPECT_FALSE(prepared("job"));
  agents_.wait_until_asked("job", 1);
  EXPECT_FALSE(runtime_.change(job_named("job"), {}).ok()) << "by one thread at a time";
  EXPECT_TRUE(runtime_.stop(job_named("job"), {}).ok());
  runtime_.forget(key_of("job"));
  EXPECT_FALSE(agents_.stopped("job"));
  EXPECT_FALSE(agents_.forgotten("job"));
  EXPECT_FALSE(prepared("job")) << "the next of that name waits";
  agents_.hang("job", false);
  wait_for("job");
  EXPECT_TRUE(agents_.stopped("job"));
  EXPECT_TRUE(agents_.forgotten("job"));
  EXPECT_TRUE(pass("job").reachable);
  runtime_.forget(key_of("job"));
}

// An agent may be slow just then, and its pods would wait for a planned leave until their grace is over.
TEST_F(AskingCommandsTest, WhoIsTooSlowToBeToldToStopIsToldOnceMore) {
  agents_.be_too_slow_to_stop("slow", 1);
  agents_.be_too_slow_to_stop("hung", 1000);
  agents_.be_gone("gone");  // it refuses at once, and will
  for (const char* job : {"slow", "hung", "gone"}) {
    runtime_.stop(job_named(job), {});
    runtime_.forget(key_of(job));
  }
  runtime_.finish_stops(kLong);
  EXPECT_TRUE(agents_.stopped("slow"));
  const std::vector<std::string> told = agents_.wait_until_ending(5);
  EXPECT_EQ(std::ranges::count(told, "slow"), 2);
  EXPECT_EQ(std::ranges::count(told, "hung"), 2);
  EXPECT_EQ(std::ranges::count(told, "gone"), 1);
  for (const char* job : {"slow", "hung", "gone"}) EXPECT_TRUE(agents_.forgotten(job)) << job;
}

// The next run is there meanwhile, and waits for the first time only.
TEST_F(AskingCommandsTest, NobodyIsToldTwiceWhomTheNextRunWaitsFor) {
  agents_.be_too_slow_to_stop("a", 1000);
  agents_.hang("a", true);
  EXPECT_TRUE(runtime_.stop(job_named("a"), {}).ok());
  agents_.wait_until_ending(1);
  EXPECT_FALSE(runtime_.start(job_named("a"), {}).ok()) << "it is being told";
  agents_.hang("b", true);
  EXPECT_TRUE(runtime_.stop(job_named("b"), {}).ok());
  EXPECT_FALSE(prepared("a"));
  agents_.hang("a", false);
  wait_for("a");
  EXPECT_TRUE(pass("a").reachable);
  EXPECT_TRUE(runtime_.start(job_named("a"), {}).ok());
  agents_.hang("b", false);
  runtime_.finish_stops(kLong);
  EXPECT_EQ(std::ranges::count(agents_.wait_until_ending(2), "a"), 1);
}

// One of many that are silent can go on yet, if it is looked at in time. It waited for the ends of the
// others, four seconds each.
TEST_F(AskingCommandsTest, ASilentJobIsLookedAtBeforeThoseAreEndedThatHaveCostTime) {
  const std::vector<std::string> hung{"a", "b", "c", "d"};
  for (const std::string& job : hung) {
    agents_.silence(job, true);
    EXPECT_FALSE(pass(job).reachable);
  }
  agents_.silence("lives", true);
  EXPECT_FALSE(pass("lives").reachable);
  for (const std::string& job : hung) agents_.hang(job, true);
  for (const std::string& job : hung) EXPECT_TRUE(runtime_.stop(job_named(job), {}).ok());
  agents_.wait_until_ending(2);  // all threads that may
  EXPECT_TRUE(prepared("lives")) << "by its last answer";
  agents_.hang("a", false);
  agents_.hang("b", false);
  agents_.wait_until_asked("lives", 2);
  for (const char* job : {"c", "d"}) agents_.hang(job, false);
  runtime_.finish_stops(kLong);
}

// They answer every question at once, and no command.
TEST_F(AskingCommandsTest, JobsThatAreSlowToObeyHoldOneThreadThatLooksAfterJobs) {
  for (const char* job : {"a", "b", "c"}) {
    agents_.silence(job, true);
    EXPECT_TRUE(runtime_.change(job_named(job), {}).ok()) << "nothing is known of it yet";
  }
  agents_.hang("a", true);
  std::thread in_a([&] { EXPECT_TRUE(runtime_.change(job_named("a"), {}).ok()); });
  agents_.wait_until_commanded("a", 2);
  agents_.silence("b", false);
  EXPECT_EQ(runtime_.change(job_named("b"), {}).kind, Outcome::Kind::Retry) << "it would hold another";
  EXPECT_TRUE(runtime_.change(job_named("good"), {}).ok());
  answering("b");
  agents_.wait_until_newcomers_asked("b", 1);  // a question is no command
  runtime_.stop(job_named("c"), {});
  agents_.wait_until_stopped("c");  // nobody comes back for that
  agents_.hang("a", false);
  in_a.join();
  wait_for("b");  // its turn has come
  for (int k = 0; k < 3; ++k) EXPECT_TRUE(runtime_.change(job_named("b"), {}).ok());
  agents_.hang("a", true);
  std::thread again([&] { EXPECT_TRUE(runtime_.change(job_named("a"), {}).ok()); });
  agents_.wait_until_commanded("a", 3);
  EXPECT_TRUE(runtime_.change(job_named("b"), {}).ok()) << "it is trusted again";
  agents_.hang("a", false);
  again.join();
}

// Not who tries most often: tried again, each of them may be early or late.
TEST_F(AskingCommandsTest, CommandsThatAreSlowlyObeyedAreSentInTurn) {
  for (const char* job : {"a", "b", "c"}) {
    agents_.silence(job, true);
    EXPECT_TRUE(runtime_.change(job_named(job), {}).ok());
    agents_.silence(job, false);
  }
  agents_.hang("a", true);
  std::thread in_a([&] { EXPECT_TRUE(runtime_.change(job_named("a"), {}).ok()); });
  agents_.wait_until_commanded("a", 2);
  EXPECT_FALSE(runtime_.change(job_named("b"), {}).ok());
  EXPECT_FALSE(runtime_.change(job_named("c"), {}).ok());
  agents_.hang("a", false);
  in_a.join();
  wait_for("b");
  EXPECT_FALSE(was_told("c"));
  EXPECT_FALSE(runtime_.change(job_named("c"), {}).ok()) << "b was before";
  EXPECT_FALSE(runtime_.change(job_named("a"), {}).ok()) << "and has just been";
  EXPECT_TRUE(runtime_.change(job_named("b"), {}).ok());
  wait_for("c");
  EXPECT_TRUE(runtime_.change(job_named("c"), {}).ok());
}

// One tenant deletes many jobs that hang. Another's program was killed, for want of being told in time.
TEST_F(AskingCommandsTest, ProgramsOfOneTenantDoNotKeepAnothersFromBeingEnded) {
  agents_.silence("slow", true);
  EXPECT_FALSE(pass("slow").reachable);
  agents_.silence("slow", false);
  const std::vector<std::string> hung{"a", "b", "c", "d", "e"};
  for (const std::string& job : hung) agents_.hang(job, true);
  for (const std::string& job : hung) EXPECT_TRUE(runtime_.stop(job_of("many", job), {}).ok());
  agents_.wait_until_ending(2);
  EXPECT_TRUE(runtime_.stop(job_named("slow"), {}).ok());
  EXPECT_TRUE(runtime_.stop(job_of("few", "good"), {}).ok());
  agents_.hang("a", false);
  EXPECT_EQ(agents_.wait_until_ending(3)[2], "good") << "before c, which came first";
  for (const std::string& job : hung) agents_.hang(job, false);
  const auto all = agents_.wait_until_ending(7);
  EXPECT_GE(std::ranges::find(all, "slow") - all.begin(), 5) << "it is told when nobody else waits";
  agents_.wait_until_stopped("slow");
}

// Those that are told already hold the threads for looks that cost time, too.
TEST_F(AskingCommandsTest, ProgramsAreEndedBeforeSilentJobsAreLookedAt) {
  for (const char* job : {"s", "t"}) {
    agents_.silence(job, true);
    EXPECT_FALSE(pass(job).reachable);
    agents_.hang(job, true);
    EXPECT_TRUE(prepared(job));
  }
  agents_.wait_until_asked("s", 2);
  agents_.hang("a", true);
  EXPECT_TRUE(runtime_.stop(job_named("a"), {}).ok());
  agents_.wait_until_ending(1);
  agents_.hang("b", true);
  EXPECT_TRUE(runtime_.stop(job_named("b"), {}).ok());
  agents_.hang("s", false);
  agents_.wait_until_ending(2);
  for (const char* job : {"t", "a", "b"}) agents_.hang(job, false);
}

// Its pods may still be there: the run before would go on beside the next one for a while.
TEST_F(AskingCommandsTest, TheNextRunBeginsWhenTheLastOneHasBeenToldToEnd) {
  for (const char* job : {"slow", "again"}) {  // both have cost time
    agents_.silence(job, true);
    EXPECT_FALSE(pass(job).reachable);
    agents_.silence(job, false);
  }
  for (const char* job : {"a", "b", "slow", "again"}) agents_.hang(job, true);
  for (const char* job : {"a", "b", "slow", "again"}) EXPECT_TRUE(runtime_.stop(job_named(job), {}).ok());
  agents_.wait_until_ending(2);
  runtime_.nothing_runs(key_of("again"));
  EXPECT_FALSE(runtime_.start(job_named("a"), {}).ok()) << "it is being told";
  EXPECT_FALSE(runtime_.start(job_named("again"), {}).ok()) << "it will be, and now before the slow one";
  EXPECT_FALSE(prepared("again"));
  agents_.hang("a", false);
  EXPECT_EQ(agents_.wait_until_ending(3)[2], "again");
  for (const char* job : {"b", "slow", "again"}) agents_.hang(job, false);
  wait_for("again");
  EXPECT_TRUE(pass("again").reachable);
  EXPECT_TRUE(runtime_.start(job_named("again"), {}).ok());
  runtime_.finish_stops(kLong);
  for (const char* job : {"a", "b", "slow", "again"}) EXPECT_TRUE(agents_.stopped(job)) << job;
}

TEST_F(AskingCommandsTest, ProgramsThatAreToEndAreToldBeforeTheOperatorEnds) {
  agents_.hang("asked", true);
  EXPECT_FALSE(prepared("asked"));
  agents_.wait_until_asked("asked", 1);
  for (const char* job : {"a", "b", "c"}) agents_.hang(job, true);
  for (const char* job : {"a", "b", "c", "asked"}) EXPECT_TRUE(runtime_.stop(job_named(job), {}).ok());
  runtime_.finish_stops(Millis(10));
  EXPECT_FALSE(agents_.stopped("c")) << "and that has a bound";
  for (const char* job : {"a", "b", "c", "asked"}) agents_.hang(job, false);
  runtime_.finish_stops(kLong);
  for (const char* job : {"a", "b", "c", "asked"}) EXPECT_TRUE(agents_.stopped(job)) << job;
}

// It holds up those behind it for ten seconds otherwise.
TEST_F(AskingCommandsTest, WhoNeedsNoCommandAnyMoreIsNotWaitedFor) {
  for (const char* job : {"a", "ended", "over", "content", "last"}) {
    agents_.silence(job, true);
    EXPECT_TRUE(runtime_.change(job_named(job), {}).ok());
    agents_.silence(job, false);
  }
  agents_.hang("a", true);
  std::thread in_a([&] { EXPECT_TRUE(runtime_.change(job_named("a"), {}).ok()); });
  agents_.wait_until_commanded("a", 2);
  for (const char* job : {"ended", "over", "content", "last"})
    EXPECT_FALSE(runtime_.change(job_named(job), {}).ok());
  agents_.hang("a", false);
  in_a.join();
  wait_for("ended");
  runtime_.nothing_runs(key_of("ended"));
  wait_for("over");
  ElasticMPIJob over = job_named("over");
  over.status.state = JobState::Succeeded;
  runtime_.prepared(over, {});
  wait_for("content");
  pass("content");
  EXPECT_FALSE(was_told("last")) << "the pass may be to send it";
  pass("content");
  wait_for("last");
  EXPECT_TRUE(runtime_.change(job_named("last"), {}).ok());
}

// A hundred that were deleted at once held all threads that look after jobs, for two seconds each.
TEST_F(AskingCommandsTest, ProgramsThatHangWhenTheyAreToEndHoldUpNobody) {
  const std::vector<std::string> hung{"a", "b", "c", "d", "e"};
  for (const std::string& job : hung) {
    EXPECT_TRUE(pass(job).reachable);
    agents_.hang(job, true);
    EXPECT_TRUE(runtime_.stop(job_named(job), {}).ok());
    runtime_.forget(key_of(job));
  }
  for (const bool urgent : {false, true}) {
    urgent_ = urgent;
    EXPECT_TRUE(pass("good").reachable);
  }
  EXPECT_FALSE(prepared("a")) << "the next of that name waits";
  for (const std::string& job : hung) {
    EXPECT_FALSE(agents_.forgotten(job)) << job;
    agents_.hang(job, false);
    agents_.wait_until_stopped(job);
  }
  EXPECT_TRUE(pass("a").reachable);
}

}  // namespace
}  // namespace emj
