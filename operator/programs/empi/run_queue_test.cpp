// SPDX-License-Identifier: Apache-2.0
// Which queue the jobs of a run share, and what is said of it.

#include "operator/programs/empi/run_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "operator/local/process.hpp"
#include "operator/programs/empi/queue_view.hpp"

namespace emj::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string manifest_of(const std::string& name, const std::string& more) {
  return "apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticMPIJob\nmetadata: {name: " + name +
         "}\nspec:\n  worker:\n    minReplicas: 2\n    maxReplicas: 4\n    template: {spec: {containers: "
         "[{name: worker, command: [program]}]}}\n" +
         more;
}

ElasticMPIJob job(const std::string& name, const std::string& more = "") {
  const auto parsed = load_manifest(manifest_of(name, more), name + ".yaml", {});
  EXPECT_TRUE(parsed) << parsed.message();
  return parsed.value();
}

std::string in_queue(const std::string& name) { return "  scheduling: {queueName: " + name + "}\n"; }

class RunQueue : public testing::Test {
 protected:
  RunQueue() : folder_(testing::TempDir() + "run-queue-" + local::random_uuid()) {
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& text) const {
    local::write_file_atomically(folder_ + "/" + name, text);
    return folder_ + "/" + name;
  }
  std::string queue_file(const std::string& pools) const {
    return file("queue.yaml",
                "apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticQueue\nmetadata: {name: night}\n"
                "spec:\n  pools:\n" +
                    pools);
  }
  std::string folder_;
};

TEST_F(RunQueue, OneJobHasNoneUnlessItIsAskedFor) {
  EXPECT_FALSE(wants_queue({}, {job("a")}));
  EXPECT_TRUE(wants_queue({}, {job("a", in_queue("night"))}));
  EXPECT_TRUE(wants_queue({"", 4}, {job("a")}));
  EXPECT_TRUE(wants_queue({"queue.yaml", 0}, {job("a")}));
  EXPECT_TRUE(wants_queue({}, {job("a"), job("b")}));
}

TEST_F(RunQueue, IsOfTheCoresAndNamedAsTheJobsSay) {
  const auto plain = queue_of_run({}, {job("a"), job("b")}, 6);
  ASSERT_TRUE(plain) << plain.message();
  EXPECT_EQ(plain.value().metadata.name, "local");
  EXPECT_EQ(amount(*plain.value().spec.pools.at(0).quota.cpu), 6);
  EXPECT_THAT(validate(plain.value()), IsEmpty());
  const auto named = queue_of_run({"", 3}, {job("a", in_queue("night")), job("b")}, 6);
  ASSERT_TRUE(named) << named.message();
  EXPECT_EQ(named.value().metadata.name, "night");
  EXPECT_EQ(amount(*named.value().spec.pools.at(0).quota.cpu), 3);
  EXPECT_THAT(queue_of_run({}, {job("a", in_queue("night")), job("b", in_queue("day"))}, 6).message(),
              HasSubstr("the jobs name several queues: day, night"));
}

TEST_F(RunQueue, FromAManifest) {
  const std::string nodes = queue_file("  - {name: hpc, capacity: Nodes, nodeSelector: {pool: hpc}}\n");
  const auto on_nodes = queue_of_run({nodes, 0}, {job("a")}, 6);
  ASSERT_TRUE(on_nodes) << on_nodes.message();
  EXPECT_EQ(amount(*on_nodes.value().spec.pools.at(0).quota.cpu), 6) << "this machine is its node";
  const std::string bounded =
      queue_file("  - {name: hpc, capacity: Nodes, nodeSelector: {pool: hpc}, quota: {cpu: 2}}\n");
  EXPECT_EQ(amount(*queue_of_run({bounded, 0}, {job("a")}, 6).value().spec.pools.at(0).quota.cpu), 2);
  EXPECT_EQ(amount(*queue_of_run({bounded, 0}, {job("a")}, 1).value().spec.pools.at(0).quota.cpu), 1);
  EXPECT_EQ(amount(*queue_of_run({bounded, 4}, {job("a")}, 6).value().spec.pools.at(0).quota.cpu), 4);
  const std::string quota = queue_file("  - {name: hpc, quota: {cpu: \"8\"}}\n");
  EXPECT_EQ(amount(*queue_of_run({quota, 0}, {job("a")}, 6).value().spec.pools.at(0).quota.cpu), 8);
  EXPECT_EQ(amount(*queue_of_run({quota, 5}, {job("a")}, 6).value().spec.pools.at(0).quota.cpu), 5);
  EXPECT_THAT(queue_of_run({quota, 0}, {job("a", in_queue("day"))}, 6).message(),
              HasSubstr("a job names queue 'day', this is 'night'"));
  EXPECT_THAT(queue_of_run({folder_ + "/none.yaml", 0}, {job("a")}, 6).message(),
              HasSubstr("cannot be read"));
  EXPECT_THAT(queue_of_run({queue_file("  - {name: hpc}\n"), 0}, {job("a")}, 6).message(),
              HasSubstr("quota"));
  for (const std::string hold : {"Start", "All"}) {
    const std::string held = queue_file("  - {name: hpc, quota: {cpu: 8}}\n  hold: " + hold + "\n");
    EXPECT_THAT(queue_of_run({held, 0}, {job("a")}, 6).message(),
                HasSubstr("queue.yaml: spec.hold: is " + hold))
        << "all would wait until Ctrl-C";
  }
}

TEST(UnlistedPriority, IsSaid) {
  ElasticQueue queue;
  queue.metadata.name = "night";
  EXPECT_EQ(unlisted_priority(job("a"), queue), "");
  const ElasticMPIJob urgent = job("a", "  scheduling: {queueName: night, priorityClassName: urgent}\n");
  EXPECT_THAT(unlisted_priority(urgent, queue),
              HasSubstr("queue night does not list priority class 'urgent'"));
  queue.spec.priorities = {{"low", -1}};
  EXPECT_THAT(unlisted_priority(urgent, queue), HasSubstr("it lists low"));
  queue.spec.priorities.push_back({"urgent", 10});
  EXPECT_EQ(unlisted_priority(urgent, queue), "");
}

TEST_F(RunQueue, AJobIsPutIntoItAndOneThatNeverStartsIsRefused) {
  const std::optional<ElasticQueue> queue = queue_of_run({"", 3}, {}, 6).value();
  Overrides overrides;
  const auto put = read_for_queue(file("a.yaml", manifest_of("a", "")), overrides, queue);
  ASSERT_TRUE(put) << put.message();
  EXPECT_EQ(put.value().spec.scheduling.queue_name, "local");
  EXPECT_THAT(overrides.fields, ElementsAre("scheduling.queueName=\"local\"")) << "edits keep it there";
  overrides = {{"worker.minReplicas=4"}, {}};
  EXPECT_THAT(read_for_queue(folder_ + "/a.yaml", overrides, queue).message(),
              HasSubstr("needs at least 4 workers of 1 CPUs, and queue local has 3 CPUs"));
  overrides = {};
  const std::string other = file("b.yaml", manifest_of("b", in_queue("night")));
  EXPECT_THAT(read_for_queue(other, overrides, queue).message(),
              HasSubstr("'night': this run has another queue"));
  EXPECT_THAT(read_for_queue(other, overrides, std::nullopt).message(), HasSubstr("this run has no queue"));
  ElasticQueue closed = *queue;
  closed.spec.namespaces = {"team"};
  EXPECT_THAT(never_starts(put.value(), closed), HasSubstr("does not take jobs of namespace default"));
}

TEST(QueueLines, SayWhoRunsWithHowMuchAndWhoWaitsForWhat) {
  const Time now = *parse_time("2030-01-02T03:05:00Z");
  ElasticQueue queue;
  queue.metadata.name = "local";
  PoolStatus& pool = queue.status.pools.emplace_back();
  pool.capacity_milli_cpu = 4000;
  pool.held_milli_cpu = 3000;
  pool.promised_milli_cpu = 1000;
  pool.resources = {{"memory", 16LL << 30, 12LL << 30}, {"nvidia.com/gpu", 4, 2}};
  queue.status.running = 1;
  queue.status.queued = 2;
  ElasticMPIJob running = job("a", in_queue("local"));
  running.status.state = JobState::Running;
  running.status.joined_replicas = 3;
  running.status.start_time = now - Seconds(62);
  AllocationStatus& allocation = running.status.allocation.emplace();
  allocation.workers = 2;
  allocation.reason = "yields 1 worker to b";
  ElasticMPIJob second = job("b", in_queue("local")), first = job("c", in_queue("local"));
  for (ElasticMPIJob* waiting : {&first, &second}) {
    waiting->status.state = JobState::Queued;
    WaitStatus& wait = waiting->status.queue.emplace();
    wait.since = now - Seconds(5);
    wait.reason = "old words";
    queue.status.head.push_back({"default", waiting->metadata.name, 0, now, "new words", std::nullopt});
  }
  queue.status.head[0].expected_start = now + Seconds(60);
  ElasticMPIJob elsewhere = job("d", in_queue("night")), over = job("e", in_queue("local"));
  over.status.state = JobState::Succeeded;
  EXPECT_THAT(
      queue_lines(queue, {running, second, first, elsewhere, over}, now),
      ElementsAre(
          "queue local  3 of 4 CPUs held, 1 promised; memory 12 of 16 GiB, nvidia.com/gpu 2 of 4; 1 job "
          "runs, 2 wait",
          "  a  Running  3 workers -> 2 (2 to 4)  1:02  yields 1 worker to b",
          "  c  Queued  waits 0:05  new words; about 03:06:00", "  b  Queued  waits 0:05  new words"));
}

}  // namespace
}  // namespace emj::cli
