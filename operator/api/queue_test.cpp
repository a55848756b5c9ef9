// SPDX-License-Identifier: Apache-2.0
// What the corpus and the schema do not show of queues, and of jobs in a queue.

#include "operator/api/queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace emj {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string queue_text(const std::string& spec) {
  return "apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticQueue\nmetadata: {name: main}\nspec:\n" + spec;
}

std::string refusal(const std::string& spec) {
  const auto queue = parse_queue_yaml(queue_text(spec), "queue.yaml");
  return queue.ok() ? "" : queue.message();
}

std::string job_text(const std::string& spec) {
  return "apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticMPIJob\nmetadata: {name: demo}\nspec:\n" + spec +
         "  worker: {minReplicas: 1, maxReplicas: 8, template: {spec: {containers: [{name: worker, image: i, "
         "command: [p]}]}}}\n";
}

std::string job_refusal(const std::string& spec) {
  const auto job = parse_yaml(job_text(spec), "job.yaml");
  return job.ok() ? "" : job.message();
}

TEST(Queue, ARefusalNamesFieldValueWhatIsAcceptedAndWhatToDo) {
  const std::string text = refusal("  pools: [{name: hpc}]\n");
  EXPECT_THAT(text, HasSubstr("queue.yaml:5: spec.pools[0].quota: has no cpu"));
  EXPECT_THAT(text, HasSubstr("expected quota.cpu"));
  EXPECT_THAT(text, HasSubstr("or capacity: Nodes"));
  EXPECT_THAT(refusal("  pools: [{name: a, capacity: Nodes}, {name: a, capacity: Nodes}]\n"),
              HasSubstr("spec.pools[1]: is the second one of \"a\""));
  EXPECT_THAT(refusal("  pools: [{name: a, capacity: Nodes, pricePerCPUHour: -1}]\n"),
              HasSubstr("spec.pools[0].pricePerCPUHour: is -1, expected a quantity"));
  EXPECT_THAT(refusal("  pools: []\n"),
              HasSubstr("spec.pools: has 0 entries, expected a number of them from 1"));
  EXPECT_THAT(refusal("  pools: [{name: a, quota: {cpu: lots}}]\n"),
              HasSubstr("is \"lots\", expected a quantity"));
  EXPECT_THAT(refusal("  pools: [{name: a, capacity: Nodes}]\n  objective: faire\n"),
              HasSubstr("did you mean fair?"));
}

TEST(Queue, NodesThatAreMadeOnDemandAreBoundedByAQuota) {
  EXPECT_THAT(
      refusal("  pools: [{name: a, capacity: Nodes, provisioningSeconds: 300}]\n"),
      AllOf(HasSubstr("spec.pools[0].provisioningSeconds: is 300, expected 0 where capacity is Nodes"),
            HasSubstr("capacity: Quota with quota.cpu")));
  EXPECT_THAT(refusal("  pools: [{name: a, quota: {cpu: 1}, provisioningSeconds: 90000}]\n"),
              HasSubstr("spec.pools[0].provisioningSeconds: is 90000"));
  EXPECT_THAT(refusal("  pools: [{name: a, capacity: Nodes, speedPercent: 0}]\n"),
              HasSubstr("spec.pools[0].speedPercent: is 0"));
}

TEST(Goals, ARefusalNamesFieldValueWhatIsAcceptedAndWhatToDo) {
  EXPECT_THAT(job_refusal("  autoscaling: {mode: Auto, policy: {name: deadline}}\n"),
              AllOf(HasSubstr("spec.autoscaling.policy.name: is deadline without a deadline"),
                    HasSubstr("expected spec.scheduling.deadline"), HasSubstr("; say by when")));
  EXPECT_THAT(job_refusal("  scheduling: {budget: \"-1\"}\n"),
              AllOf(HasSubstr("spec.scheduling.budget: is \"-1\""), HasSubstr("a quantity above 0")));
  EXPECT_THAT(job_refusal("  scheduling: {budget: 0}\n"), HasSubstr("spec.scheduling.budget: is 0"));
  EXPECT_THAT(job_refusal("  scheduling: {deadline: soon}\n"),
              AllOf(HasSubstr("is \"soon\""), HasSubstr("a time such as 2026-01-31T12:00:00Z")));
}

TEST(Goals, ADeadlineIsATimeOrCountsFromTheCreation) {
  ElasticMPIJob job = parse_yaml(job_text("  scheduling: {deadlineSeconds: 90}\n"), "job.yaml").value();
  EXPECT_FALSE(deadline_of(job));
  job.metadata.creation_time = Time{Seconds(1000)};
  EXPECT_EQ(deadline_of(job), Time{Seconds(1090)});
  EXPECT_TRUE(validate_start(job, Time{Seconds(5000)}).empty());
  job.spec.scheduling.deadline = Time{Seconds(1500)};
  EXPECT_EQ(deadline_of(job), Time{Seconds(1500)});
  EXPECT_TRUE(validate_start(job, Time{Seconds(1499)}).empty());
  const auto late = validate_start(job, Time{Seconds(1500)});
  ASSERT_EQ(late.size(), 1u);
  EXPECT_THAT(to_string(late[0], "job.yaml"),
              AllOf(HasSubstr("spec.scheduling.deadline: is 1970-01-01T00:25:00Z, which is over"),
                    HasSubstr("a time that is still to come"), HasSubstr("or deadlineSeconds")));
}

// A goal that nothing is sized for is no error, but it is said.
TEST(Goals, SaysWhereNoSizeIsChosenForThem) {
  const auto job = parse_yaml(job_text("  scheduling: {deadlineSeconds: 60, budget: 3}\n"), "job.yaml");
  ASSERT_TRUE(job.ok());
  EXPECT_THAT(job.message(), AllOf(HasSubstr("warning: spec.scheduling.deadlineSeconds: is watched"),
                                   HasSubstr("warning: spec.scheduling.budget: is watched")));
}

TEST(Queue, HasNoNamespace) {
  const auto queue = parse_queue_yaml(queue_text("  pools: [{name: a, quota: {cpu: 8}}]\n"), "queue.yaml");
  ASSERT_TRUE(queue.ok()) << queue.message();
  EXPECT_FALSE(to_json(queue.value())["metadata"].contains("namespace"));
  EXPECT_DOUBLE_EQ(amount(*queue.value().spec.pools[0].quota.cpu), 8);
  EXPECT_TRUE(admits(queue.value().spec, "anything"));
}

TEST(QueuedJob, IsReadWithAllThatItSays) {
  const auto job = parse_yaml(
      job_text("  scheduling: {queueName: main, preemption: None, pools: [hpc], expectedSeconds: 600, model: "
               "tsunami,\n"
               "    scalability: [{workers: 1, speedPercent: 100}, {workers: 4, speedPercent: 350}]}\n"
               "  autoscaling: {mode: Auto, policy: {name: throughput, throughput: {weightPercent: 200}}}\n"),
      "job.yaml");
  ASSERT_TRUE(job.ok()) << job.message();
  const SchedulingSpec& scheduling = job.value().spec.scheduling;
  EXPECT_EQ(scheduling.preemption, Preemption::None);
  EXPECT_EQ(scheduling.scalability[1].speed_percent, 350);
  const auto again = parse_json(to_json(job.value()));
  ASSERT_TRUE(again.ok()) << again.message();
  EXPECT_EQ(again.value().spec, job.value().spec);
  EXPECT_EQ(reference_size(job.value().spec), 2);
}

TEST(QueuedJob, IsTakenOnACluster) {
  const auto job = parse_yaml(job_text("  scheduling: {queueName: main}\n"), "job.yaml");
  ASSERT_TRUE(job.ok()) << job.message();
  for (const Violation& found : validate_for_cluster(job.value()))
    EXPECT_NE(found.field, "spec.scheduling.queueName") << found.reason;
}

TEST(QueuedJob, ChangesItsQueueOnlyWhileItIsSuspended) {
  ElasticMPIJob before = parse_yaml(job_text("  scheduling: {queueName: main}\n"), "job.yaml").value();
  ElasticMPIJob after = before;
  after.spec.scheduling.queue_name = "other";
  EXPECT_EQ(validate_update(before, after).size(), 1u);
  before.status.state = JobState::Suspended;
  EXPECT_TRUE(validate_update(before, after).empty());
}

TEST(Constraints, AreReadAndStayWhileTheJobRuns) {
  const ElasticMPIJob job =
      parse_yaml(job_text("  scheduling: {constraints: {topology: [{key: example.com/rack}]}}\n"), "job.yaml")
          .value();
  ASSERT_EQ(job.spec.scheduling.topology.size(), 1u);
  EXPECT_EQ(job.spec.scheduling.topology[0].key, "example.com/rack");
  ElasticMPIJob before = job, after = job;
  after.spec.scheduling.topology.clear();
  EXPECT_EQ(validate_update(before, after).size(), 1u);
  before.status.state = JobState::Suspended;
  EXPECT_TRUE(validate_update(before, after).empty());
}

TEST(QueuedJob, SaysWhereOnlyAQueueWouldListen) {
  const auto job = parse_yaml(job_text("  scheduling: {expectedSeconds: 60}\n"), "job.yaml");
  ASSERT_TRUE(job.ok());
  EXPECT_THAT(job.message(), HasSubstr("warning: spec.scheduling: says what only a queue goes by"));
}

TEST(QueuedJob, NeedNotNameTheQueueThatItWillBeIn) {
  const std::string text = job_text(
      "  scheduling: {expectedSeconds: 60}\n  autoscaling: {mode: Auto, policy: {name: throughput}}\n");
  EXPECT_THAT(parse_yaml(text, "job.yaml").message(), HasSubstr("is throughput without a queue"));
  const auto job = parse_yaml(text, "job.yaml", Origin::Queued);
  EXPECT_EQ(job.message(), "");
  EXPECT_TRUE(job.ok());
}

// Else every job that is paused by a foreign size would be resumed by a newer operator.
TEST(Fingerprint, OfWhatWasKnownBeforeStaysTheSame) {
  AutoscalingSpec spec;
  const std::string before = fingerprint(spec);
  EXPECT_EQ(before, "0213d04c768be304");
  spec.policy.throughput.weight_percent = 50;
  EXPECT_NE(fingerprint(spec), before);
  spec.policy.throughput = {};
  spec.policy.deadline.margin_percent = 20;
  EXPECT_NE(fingerprint(spec), before);
}

// Every status of a job in a queue outlives the operator.
TEST(QueuedJob, ItsStatusIsReadAsItIsWritten) {
  JobStatus status;
  status.state = JobState::Queued;
  status.allocation = AllocationStatus{2, 4, "hpc", 7, Time{Seconds(1000)}, "grows", "default/b", .12};
  status.queue = WaitStatus{Time{Seconds(900)},  Time{Seconds(2000)},  2,
                            Time{Seconds(1100)}, QueueCause::TooLarge, "needs 9 workers"};
  status.forecast = ForecastStatus{120.5, 10, ForecastSource::Progress, Time{Seconds(1000)}};
  status.forecast->finish = Time{Seconds(1120)};
  status.forecast->workers = 4;
  status.cost = CostStatus{1.5, 4, 4, Time{Seconds(1000)}};
  status.usage = UsageStatus{Time{Seconds(950)}, 40.5, 4, Time{Seconds(960)}};
  status.policy_state.wish = 6;
  const auto read = parse_status(status_to_json(status));
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(read.value(), status);
}

}  // namespace
}  // namespace emj
