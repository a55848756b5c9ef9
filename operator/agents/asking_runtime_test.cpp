// SPDX-License-Identifier: Apache-2.0
// A silent agent holds up nobody's job but its own.

#include "operator/agents/asking_runtime.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace emj {
namespace {

constexpr std::chrono::seconds kLong{20};  // a failure, not a duration

ElasticMPIJob a_job(const std::string& name) {
  ElasticMPIJob job;
  job.metadata.name = name;
  return job;
}
JobKey key_of(const std::string& name) { return {a_job(name).metadata.namespace_name, name}; }

// Agents that answer when the test lets them.
class Agents : public Runtime {
 public:
  RuntimeView observe(const ElasticMPIJob& job, const std::vector<PodView>&) override {
    std::unique_lock lock(mutex_);
    ++asked_[job.metadata.name];
    changed_.notify_all();
    EXPECT_TRUE(changed_.wait_for(lock, kLong, [&] { return !hanging_.contains(job.metadata.name); }));
    if (silent_.contains(job.metadata.name)) now_ += std::chrono::seconds(2);  // as long as it was waited for
    RuntimeView view;
    view.reachable = !silent_.contains(job.metadata.name);
    view.epoch = ++epoch_;
    return view;
  }
  // All of them, where the job is not silent.
  std::set<std::string> answering(const ElasticMPIJob& job, const std::vector<PodView>& newcomers) override {
    std::unique_lock lock(mutex_);
    ++newcomers_asked_[job.metadata.name];
    changed_.notify_all();
    EXPECT_TRUE(changed_.wait_for(lock, kLong, [&] { return !hanging_.contains(job.metadata.name); }));
    std::set<std::string> uids;
    if (silent_.contains(job.metadata.name))
      now_ += std::chrono::seconds(2);
    else
      for (const PodView& pod : newcomers) uids.insert(pod.uid);
    return uids;
  }
  std::vector<Sample> samples(const ElasticMPIJob&) override { return {Sample{}}; }
  Outcome start(const ElasticMPIJob&, const StartJob&) override { return Outcome::done(); }
  Outcome name_lead(const ElasticMPIJob&, const NameLead&) override { return Outcome::done(); }
  Outcome change(const ElasticMPIJob& job, const SendChange&) override {
    std::unique_lock lock(mutex_);
    ++commanded_[job.metadata.name];
    changed_.notify_all();
    EXPECT_TRUE(changed_.wait_for(lock, kLong, [&] { return !hanging_.contains(job.metadata.name); }));
    if (silent_.contains(job.metadata.name)) now_ += std::chrono::seconds(2);
    return Outcome::done();
  }
  Outcome cancel(const ElasticMPIJob&, const CancelChange&) override { return Outcome::done(); }
  Outcome give_notice(const ElasticMPIJob&, const GiveNotice&) override { return Outcome::done(); }
  Outcome stop(const ElasticMPIJob& job, const StopJob&) override {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLong, [&] { return !hanging_.contains(job.metadata.name); }));
    stopped_.insert(job.metadata.name);
    changed_.notify_all();
    return Outcome::done();
  }
  void forget(const JobKey& key) override {
    const std::lock_guard lock(mutex_);
    forgotten_.insert(key.name);
  }

  void hang(const std::string& job, bool hangs) {
    const std::lock_guard lock(mutex_);
    if (hangs)
      hanging_.insert(job);
    else
      hanging_.erase(job);
    changed_.notify_all();
  }
  void silence(const std::string& job, bool silent) {
    const std::lock_guard lock(mutex_);
    if (silent)
      silent_.insert(job);
    else
      silent_.erase(job);
  }
  std::chrono::steady_clock::time_point now() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  bool stopped(const std::string& job) const {
    const std::lock_guard lock(mutex_);
    return stopped_.contains(job);
  }
  bool forgotten(const std::string& job) const {
    const std::lock_guard lock(mutex_);
    return forgotten_.contains(job);
  }
  void wait_until_asked(const std::string& job, int times) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLong, [&] { return asked_[job] >= times; })) << job;
  }
  void wait_until_commanded(const std::string& job, int times) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLong, [&] { return commanded_[job] >= times; })) << job;
  }
  void wait_until_stopped(const std::string& job) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLong, [&] { return stopped_.contains(job); })) << job;
  }
  void wait_until_newcomers_asked(const std::string& job, int times) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLong, [&] { return newcomers_asked_[job] >= times; })) << job;
  }
  int newcomers_asked(const std::string& job) {
    const std::lock_guard lock(mutex_);
    return newcomers_asked_[job];
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> hanging_, silent_, stopped_, forgotten_;
  std::chrono::steady_clock::time_point now_{};
  std::map<std::string, int> asked_, commanded_, newcomers_asked_;
  std::int64_t epoch_ = 0;
};

class AskingRuntimeTest : public ::testing::Test {
 protected:
  bool prepared(const std::string& job) { return runtime_.prepared(a_job(job), {}); }
  std::set<std::string> answering(const std::string& job) {
    PodView pod;
    pod.uid = "uid-of-" + job;
    return runtime_.answering(a_job(job), {pod});
  }
  // However late on a busy machine.
  std::set<std::string> answering_soon(const std::string& job) {
    std::set<std::string> uids;
    const auto limit = std::chrono::steady_clock::now() + kLong;
    while (uids.empty() && std::chrono::steady_clock::now() < limit) uids = answering(job);
    return uids;
  }
  RuntimeView seen(const std::string& job) { return runtime_.observe(a_job(job), {}); }
  // A whole pass: asks, waits to be told, looks.
  RuntimeView pass(const std::string& job) {
    if (!prepared(job)) wait_for(job);
    EXPECT_TRUE(prepared(job)) << job;
    return seen(job);
  }
  void wait_for(const std::string& job) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(told_.wait_for(lock, kLong, [&] { return answered_.contains(key_of(job)); })) << job;
    answered_.erase(key_of(job));
  }
  bool was_told(const std::string& job) {
    const std::lock_guard lock(mutex_);
    return answered_.contains(key_of(job));
  }

  Agents agents_;
  std::mutex mutex_;
  std::condition_variable told_;
  std::set<JobKey> answered_;
  bool urgent_ = false;
  AskingRuntime runtime_{agents_,
                         [this](const JobKey& key) {
                           const std::lock_guard lock(mutex_);
                           answered_.insert(key);
                           told_.notify_all();
                         },
                         {.crews = {.news = 1, .quick = 2, .slow = 1, .stops = 1},
                          .slow_commands = 1,
                          .urgent = [this] { return urgent_; }},
                         [this] { return agents_.now(); }};
};

// As a rule one pass is enough.
TEST_F(AskingRuntimeTest, AnAnswerWithinAMomentNeedsNoSecondPass) {
  bool told = false;
  AskingRuntime runtime(agents_, [&](const JobKey&) { told = true; },
                        {.crews = {.news = 0, .quick = 1, .slow = 1, .stops = 1}, .moment = kLong});
  EXPECT_TRUE(runtime.prepared(a_job("quick"), {}));
  EXPECT_TRUE(runtime.observe(a_job("quick"), {}).reachable);
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
  EXPECT_EQ(runtime_.samples(a_job("job")).size(), 1u);
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

// A job is deleted while it is being asked: its program is told to end all the same, and what is remembered
// of it goes when nobody uses it any more.
TEST_F(AskingRuntimeTest, AJobThatGoesMeanwhileIsStoppedThenForgotten) {
  agents_.hang("job", true);
  EXPECT_FALSE(prepared("job"));
  agents_.wait_until_asked("job", 1);
  EXPECT_FALSE(runtime_.change(a_job("job"), {}).ok()) << "by one thread at a time";
  EXPECT_FALSE(runtime_.stop(a_job("job"), {}).ok());
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

// They answer every question at once, and no command.
TEST_F(AskingRuntimeTest, JobsThatAreSlowToObeyHoldOneThreadThatLooksAfterJobs) {
  for (const char* job : {"a", "b", "c"}) {
    agents_.silence(job, true);
    EXPECT_TRUE(runtime_.change(a_job(job), {}).ok()) << "nothing is known of it yet";
  }
  agents_.hang("a", true);
  std::thread in_a([&] { EXPECT_TRUE(runtime_.change(a_job("a"), {}).ok()); });
  agents_.wait_until_commanded("a", 2);
  agents_.silence("b", false);
  EXPECT_EQ(runtime_.change(a_job("b"), {}).kind, Outcome::Kind::Retry) << "it would hold another";
  EXPECT_TRUE(runtime_.change(a_job("good"), {}).ok());
  answering("b");
  EXPECT_EQ(agents_.newcomers_asked("b"), 1) << "a question is no command";
  runtime_.stop(a_job("c"), {});
  agents_.wait_until_stopped("c");  // nobody comes back for that
  agents_.hang("a", false);
  in_a.join();
  wait_for("b");  // its turn has come
  for (int k = 0; k < 3; ++k) EXPECT_TRUE(runtime_.change(a_job("b"), {}).ok());
  agents_.hang("a", true);
  std::thread again([&] { EXPECT_TRUE(runtime_.change(a_job("a"), {}).ok()); });
  agents_.wait_until_commanded("a", 3);
  EXPECT_TRUE(runtime_.change(a_job("b"), {}).ok()) << "it is trusted again";
  agents_.hang("a", false);
  again.join();
}

// Not who tries most often: tried again, each of them may be early or late.
TEST_F(AskingRuntimeTest, CommandsThatAreSlowlyObeyedAreSentInTurn) {
  for (const char* job : {"a", "b", "c"}) {
    agents_.silence(job, true);
    EXPECT_TRUE(runtime_.change(a_job(job), {}).ok());
    agents_.silence(job, false);
  }
  agents_.hang("a", true);
  std::thread in_a([&] { EXPECT_TRUE(runtime_.change(a_job("a"), {}).ok()); });
  agents_.wait_until_commanded("a", 2);
  EXPECT_FALSE(runtime_.change(a_job("b"), {}).ok());
  EXPECT_FALSE(runtime_.change(a_job("c"), {}).ok());
  agents_.hang("a", false);
  in_a.join();
  wait_for("b");
  EXPECT_FALSE(was_told("c"));
  EXPECT_FALSE(runtime_.change(a_job("c"), {}).ok()) << "b was before";
  EXPECT_FALSE(runtime_.change(a_job("a"), {}).ok()) << "and has just been";
  EXPECT_TRUE(runtime_.change(a_job("b"), {}).ok());
  wait_for("c");
  EXPECT_TRUE(runtime_.change(a_job("c"), {}).ok());
}

// Five jobs of forty workers, each of which answered just in time, held all threads that look after jobs.
TEST_F(AskingRuntimeTest, NewcomersThatTakeTheirTimeHoldUpNobody) {
  agents_.hang("slow", true);
  EXPECT_TRUE(answering("slow").empty());
  EXPECT_TRUE(answering("slow").empty());
  EXPECT_TRUE(pass("quick").reachable);
  EXPECT_EQ(agents_.newcomers_asked("slow"), 1) << "once at a time";
  agents_.hang("slow", false);
  wait_for("slow");
  EXPECT_EQ(answering("slow"), std::set<std::string>{"uid-of-slow"});
  EXPECT_EQ(agents_.newcomers_asked("slow"), 1) << "it has said so a moment ago";
  EXPECT_EQ(answering_soon("quick"), std::set<std::string>{"uid-of-quick"});
}

// More of them than there are threads, each of which has cost time once.
TEST_F(AskingRuntimeTest, NewcomersThatHaveCostTimeAreAskedByThreadsApart) {
  const std::vector<std::string> slow{"s0", "s1", "s2", "s3"};
  for (const std::string& job : slow) {
    agents_.silence(job, true);
    EXPECT_TRUE(answering(job).empty());
    agents_.hang(job, true);
  }
  // Each once more, until its first round is over.
  for (const std::string& job : slow) EXPECT_TRUE(answering(job).empty());
  agents_.wait_until_newcomers_asked(slow.front(), 2);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(pass("good").reachable);
  EXPECT_EQ(answering_soon("good"), std::set<std::string>{"uid-of-good"});
  for (const std::string& job : slow) agents_.hang(job, false);
}

// A hundred that were deleted at once held all threads that look after jobs, for two seconds each.
TEST_F(AskingRuntimeTest, ProgramsThatHangWhenTheyAreToEndHoldUpNobody) {
  const std::vector<std::string> hung{"a", "b", "c", "d", "e"};
  for (const std::string& job : hung) {
    EXPECT_TRUE(pass(job).reachable);
    agents_.hang(job, true);
    EXPECT_FALSE(runtime_.stop(a_job(job), {}).ok());
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
