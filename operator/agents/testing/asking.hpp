// SPDX-License-Identifier: Apache-2.0
// An AskingRuntime over agents that hang, or are silent, as a test says.
#pragma once
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "operator/agents/asking_runtime.hpp"

namespace emj::testing_asking {

inline constexpr std::chrono::seconds kLong{20};  // a failure, not a duration

inline ElasticMPIJob job_named(const std::string& name) {
  ElasticMPIJob job;
  job.metadata.name = name;
  return job;
}
inline ElasticMPIJob job_of(const std::string& tenant, const std::string& name) {
  ElasticMPIJob job = job_named(name);
  job.metadata.namespace_name = tenant;
  return job;
}
inline JobKey key_of(const std::string& name) { return {job_named(name).metadata.namespace_name, name}; }

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
    now_ += newcomers_take_ * static_cast<int>(newcomers.size());
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
    ending_.push_back(job.metadata.name);
    changed_.notify_all();
    EXPECT_TRUE(changed_.wait_for(lock, kLong, [&] { return !hanging_.contains(job.metadata.name); }));
    if (const auto slow = slow_to_stop_.find(job.metadata.name);
        slow != slow_to_stop_.end() && slow->second > 0) {
      --slow->second;
      now_ += std::chrono::seconds(2);
      return Outcome::retry("no answer within 2 s");
    }
    if (gone_.contains(job.metadata.name)) return Outcome::retry("connection refused");
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
  void be_gone(const std::string& job) {
    const std::lock_guard lock(mutex_);
    gone_.insert(job);
  }
  void be_too_slow_to_stop(const std::string& job, int times) {
    const std::lock_guard lock(mutex_);
    slow_to_stop_[job] = times;
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
  void pass_time(Millis time) {
    const std::lock_guard lock(mutex_);
    now_ += time;
  }
  void let_newcomers_take(Millis time) {
    const std::lock_guard lock(mutex_);
    newcomers_take_ = time;
  }
  // The first that were told to end, so many, in this order.
  std::vector<std::string> wait_until_ending(std::size_t jobs) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLong, [&] { return ending_.size() >= jobs; }));
    return ending_;
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
  std::set<std::string> hanging_, silent_, gone_, stopped_, forgotten_;
  std::chrono::steady_clock::time_point now_{};
  Millis newcomers_take_{0};
  std::map<std::string, int> asked_, commanded_, newcomers_asked_, slow_to_stop_;
  std::vector<std::string> ending_;
  std::int64_t epoch_ = 0;
};

class AskingTest : public ::testing::Test {
 protected:
  bool prepared(const std::string& job) { return runtime_.prepared(job_named(job), {}); }
  std::set<std::string> answering(const std::string& job) {
    PodView pod;
    pod.uid = "uid-of-" + job;
    return runtime_.answering(job_named(job), {pod});
  }
  // However late on a busy machine.
  std::set<std::string> answering_soon(const std::string& job) {
    std::set<std::string> uids;
    const auto limit = std::chrono::steady_clock::now() + kLong;
    while (uids.empty() && std::chrono::steady_clock::now() < limit) uids = answering(job);
    return uids;
  }
  RuntimeView seen(const std::string& job) { return runtime_.observe(job_named(job), {}); }
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

}  // namespace emj::testing_asking
