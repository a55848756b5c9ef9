// SPDX-License-Identifier: Apache-2.0
// A job in a queue, as the controller looks after it: what it is told, and where its pods may go.

#include <gmock/gmock.h>

#include "operator/controller/testing/memory_job.hpp"
#include "operator/controller/testing/queue_world.hpp"

namespace emj {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class QueuedJobTest : public testing::ControllerTest {
 protected:
  QueuedJobTest() {
    SchedulingSpec& scheduling = cluster.record->job.spec.scheduling;
    scheduling.queue_name = "main";
    scheduling.scalability = {{1, 100}, {4, 400}};  // worth its two workers
    queues.records.push_back({testing::queue_of(
        "  pools: [{name: p, quota: {cpu: 8}, nodeSelector: {kind: hpc}, tolerations: [{key: "
        "mpi, operator: Exists}]}]\n")});
  }
  // With a scheduler, until its grant is taken.
  void begin() {
    for (int i = 0; i < 3; ++i) {
      time += Seconds(1);
      with_queues.reconcile(key);
      scheduler.turn();
    }
  }

  testing::MemoryQueues queues;
  Scheduler scheduler{queues, [this] { return time; }, [](const std::string&) {}};
  Controller with_queues{
      cluster, runtime, [this] { return time; }, [](const JobKey&, const std::string&) {}, {}, &scheduler};
};

TEST_F(QueuedJobTest, WaitsWhereThereAreNoQueuesAndSaysSo) {
  pass();
  EXPECT_EQ(cluster.record->job.status.state, JobState::Queued);
  EXPECT_THAT(cluster.record->job.status.queue->reason, HasSubstr("this operator has no queues"));
  EXPECT_TRUE(cluster.made.empty());
}

TEST_F(QueuedJobTest, HasPodsForTheNodesOfItsPool) {
  begin();
  ASSERT_EQ(cluster.made.size(), 2u);
  const json& spec = cluster.made[0].at("spec");
  EXPECT_EQ(spec.at("nodeSelector"), (json{{"kind", "hpc"}}));
  EXPECT_EQ(spec.at("tolerations")[0], (json{{"key", "mpi"}, {"operator", "Exists"}}));
}

TEST_F(QueuedJobTest, HasNoPodsMadeWhileItsPoolCannotBeRead) {
  time += Seconds(1);
  with_queues.reconcile(key);
  scheduler.turn();
  queues.records.clear();
  time += Seconds(1);
  with_queues.reconcile(key);
  EXPECT_EQ(cluster.record->job.status.allocation->workers, 2) << "what it was given it keeps";
  EXPECT_TRUE(cluster.made.empty());
  time += Seconds(1);
  with_queues.reconcile(key);
  EXPECT_THAT(find_condition(cluster.record->job.status, "PodCreationBlocked")->message,
              HasSubstr("pool p of ElasticQueue \"main\" cannot be read"));
}

TEST_F(QueuedJobTest, GivesBackWhatItMayNotMakeForAsLongAsTheQueueBears) {
  cluster.quota = "pods \"demo-w-0\" is forbidden: exceeded quota: few";
  begin();
  const JobStatus& status = cluster.record->job.status;
  ASSERT_EQ(status.allocation->workers, 2);
  EXPECT_EQ(status.state, JobState::Starting);
  time += Seconds(70);
  with_queues.reconcile(key);
  EXPECT_EQ(status.state, JobState::Queued);
  EXPECT_EQ(status.allocation->workers, 0) << "others may have it";
  EXPECT_EQ(status.queue->cause, QueueCause::Quota);
  EXPECT_THAT(status.queue->reason, HasSubstr("exceeded quota: few"));
  cluster.quota.clear();
  time = *status.queue->retry_after;
  begin();
  EXPECT_EQ(cluster.made.size(), 2u);
}

// A status that cannot be written is one job's trouble: the ledger knows what stands there.
TEST_F(QueuedJobTest, WhoseStatusIsRefusedKeepsNobodyWaiting) {
  scheduler.expect({key, {"default", "other"}});
  cluster.refuse_status = true;
  time += Seconds(1);
  with_queues.reconcile(key);
  scheduler.gone({"default", "other"});
  scheduler.turn();
  EXPECT_TRUE(scheduler.grant_of("job-uid")) << "nothing was planned";
}

}  // namespace
}  // namespace emj
