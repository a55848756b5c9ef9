// SPDX-License-Identifier: Apache-2.0
// Several jobs, each with its model of pods and lead (operator/decide/testing/world.hpp), one scheduler and a
// queue, on one clock that only the test moves. The real decide() and the real scheduler meet here as they do
// in the controller: a pass takes its grant, decides, writes, is seen.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "operator/controller/scheduler.hpp"
#include "operator/decide/testing/world.hpp"

namespace emj::testing {

struct MemoryQueues : QueueCluster {
  std::vector<QueueRecord> queues() override { return records; }
  std::optional<QueueSpec> spec_of(const std::string& name) override {
    for (const QueueRecord& record : records)
      if (record.queue.metadata.name == name && record.unreadable.empty()) return record.queue.spec;
    return std::nullopt;
  }
  std::optional<std::vector<NodeView>> nodes() override {
    if (std::exchange(breaks, false)) throw std::runtime_error("of a test");
    return all_nodes;
  }
  std::vector<ForeignPod> foreign() override { return foreign_pods; }
  std::vector<WorkerPods> workers() override { return worker_pods; }
  bool is_in_queue(const std::string& job, const std::string& queue) override {
    const auto found = queue_of_job.find(job);
    return found != queue_of_job.end() && found->second == queue;
  }
  std::vector<NamespaceQuota> quotas() override { return all_quotas; }
  Outcome write_queue_status(const ElasticQueue& read, const QueueStatus& status) override {
    if (refuse_status || refused.contains(read.metadata.name))
      return {Outcome::Kind::Conflict, "somebody else wrote"};
    for (QueueRecord& record : records)
      if (record.queue.metadata.name == read.metadata.name) record.queue.status = status;
    ++status_writes;
    return Outcome::done();
  }
  Outcome tell_unreadable(const QueueRecord& record) override {
    told_unreadable.push_back(record.queue.metadata.name + ": " + record.unreadable);
    return Outcome::done();
  }
  void look_at(const JobKey& key) override { looked_at.push_back(key); }

  std::vector<QueueRecord> records;
  std::optional<std::vector<NodeView>> all_nodes;
  std::vector<ForeignPod> foreign_pods;
  std::vector<WorkerPods> worker_pods;
  std::map<std::string, std::string> queue_of_job;  // by uid
  std::vector<NamespaceQuota> all_quotas;
  std::vector<JobKey> looked_at;
  std::vector<std::string> told_unreadable;
  int status_writes = 0;
  bool refuse_status = false;
  std::set<std::string> refused{};  // of these queues
  bool breaks = false;              // when it is read next
};

inline ElasticQueue queue_of(const std::string& spec, const std::string& name = "main") {
  const auto queue =
      parse_queue_yaml("apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticQueue\nmetadata: {name: " + name +
                           "}\nspec:\n" + spec,
                       "queue.yaml");
  EXPECT_TRUE(queue.ok()) << queue.message();
  return queue.value();
}

// As fast as it has workers: it is worth any size.
inline const char* const kPerfect =
    ", scalability: [{workers: 1, speedPercent: 100}, {workers: 8, speedPercent: 800}]";

class QueueWorld {
 public:
  using World = testing_world::World;

  explicit QueueWorld(int cpus, const std::string& more = "") : capacity(cpus) {
    cluster.records.push_back(
        {queue_of("  pools: [{name: cores, quota: {cpu: " + std::to_string(cpus) + "}}]\n" + more)});
    restart();
  }

  // The scheduler is killed, another one begins with what is written.
  void restart() {
    scheduler = std::make_unique<Scheduler>(
        cluster, [this] { return now; }, [this](const std::string& line) { log.push_back(line); });
    std::vector<JobKey> keys;
    for (const auto& [name, world] : jobs) keys.push_back(key_of(world->job));
    scheduler->expect(keys);
  }

  // `scheduling`: what follows queueName.
  World& add(const std::string& name, int min, int max, const std::string& scheduling = "",
             const std::string& spec = "", const std::string& worker = "") {
    ElasticMPIJob job = testing_world::make_job("  scheduling: {queueName: main" + scheduling + "}\n" + spec,
                                                min, max, worker);
    job.metadata.name = name;
    job.metadata.uid = "uid-of-" + name;
    job.metadata.creation_time = now;
    jobs[name] = std::make_unique<World>(job);
    jobs[name]->now = now;
    return *jobs[name];
  }
  World& add_rigid(const std::string& name, int size) {
    return add(name, size, size, "", "  runtime: {mode: Rigid}\n");
  }

  // It is deleted, and its pods end in their own time.
  void remove(const std::string& name) {
    leftovers.push_back(std::move(jobs[name]));
    jobs.erase(name);
    for (PodView& pod : leftovers.back()->pods) pod.terminating = true;
    scheduler->gone(key_of(leftovers.back()->job));
  }
  void end_leftovers() {
    leftovers.clear();
    scheduler->news();
  }

  // As Controller::reconcile does it. False: killed in front of this write.
  bool pass(World& world) {
    world.now = now;
    world.grant = scheduler->grant_of(world.job.metadata.uid);
    const JobStatus before = world.status();
    const Decision decision = decide(world.observe(), now);
    if (decision.status != before && writes_left-- == 0) return false;
    world.reconcile();
    scheduler->saw(world.job, world.pods);
    note(world, before);
    return true;
  }

  // Everybody once, then the scheduler; pods and changes go on. Whoever is killed is there again at once.
  void turn() {
    for (const auto& [name, world] : jobs)
      if (!pass(*world)) {
        restart();
        return;
      }
    show_pods();
    scheduler->turn();
    check();
    for (const auto& [name, world] : jobs) {
      world->make_all_ready();
      if (!pods_take_long) world->remove_terminating();
      world->advance_change();
    }
    now += Millis(500);
  }
  void settle(int turns = 60) {
    for (int i = 0; i < turns; ++i) turn();
  }

  static bool lives(const PodView& pod) {
    return pod.phase == PodPhase::Pending || pod.phase == PodPhase::Running;
  }
  int held(const World& world) const {
    const auto& allocation = world.job.status.allocation;
    const int living = static_cast<int>(std::ranges::count_if(world.pods, lives));
    return std::max(allocation ? allocation->workers : 0, living);
  }
  // As the server has them, whatever became of their jobs.
  void show_pods() {
    cluster.worker_pods.clear();
    cluster.queue_of_job.clear();
    const auto show = [this](const World& world, bool is_there) {
      const ElasticMPIJob& job = world.job;
      if (is_there) cluster.queue_of_job[job.metadata.uid] = job.spec.scheduling.queue_name;
      for (const PodView& pod : world.pods)
        if (lives(pod) && !pod.queue.empty())
          cluster.worker_pods.push_back(
              {job.metadata.uid, job.metadata.namespace_name, pod.queue, pod.pool, {1000, 0}});
    };
    for (const auto& [name, world] : jobs) show(*world, true);
    for (const auto& world : leftovers) show(*world, unreadable.contains(world->job.metadata.name));
  }
  void check() {
    int sum = 0;
    for (const auto& world : leftovers) sum += static_cast<int>(std::ranges::count_if(world->pods, lives));
    for (const auto& [name, world] : jobs) {
      sum += held(*world);
      EXPECT_TRUE(world->broken.empty()) << name << ": " << world->broken.front();
    }
    EXPECT_LE(sum, capacity) << "over-committed";
  }

  int capacity;
  Time now{Seconds(1'700'000'000)};
  MemoryQueues cluster;
  std::unique_ptr<Scheduler> scheduler;
  std::map<std::string, std::unique_ptr<World>> jobs;
  std::vector<std::unique_ptr<World>> leftovers;  // of jobs that are gone: their pods
  std::set<std::string> unreadable{};             // of these: jobs that are there, but not for the operator
  bool pods_take_long = false;                    // to end
  std::vector<std::string> log;
  std::vector<std::string> history;  // each version of each allocation: "a: 4 of 0, yields to default/b"
  int writes_left = -1;              // of jobs' statuses, until the operator is killed; negative: never

 private:
  void note(const World& world, const JobStatus& before) {
    const auto& now_has = world.job.status.allocation;
    if (!now_has || (before.allocation && before.allocation->sequence == now_has->sequence)) return;
    std::string line = world.job.metadata.name + ": " + std::to_string(now_has->workers);
    if (now_has->promised > 0) line += ", promised " + std::to_string(now_has->promised);
    if (!now_has->yields_to.empty()) line += ", yields to " + now_has->yields_to;
    history.push_back(line);
  }
};

}  // namespace emj::testing
