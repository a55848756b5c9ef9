// The loop over a cluster and a runtime that live in memory: what is promised is the order of writing and
// acting, and that nothing is remembered that matters.

#include "operator/controller/controller.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace emj {
namespace {

using testing::Contains;
using testing::HasSubstr;

struct MemoryCluster : Cluster {
  std::optional<JobRecord> read_job(const JobKey&) override { return record; }
  Outcome write_status(const JobKey&, const JobStatus& status) override {
    calls.push_back("status");
    if (fail_status) return {Outcome::Kind::Conflict, "somebody else wrote"};
    record->job.status = status;
    return Outcome::done();
  }
  Outcome write_scale(const JobKey&, int replicas) override {
    calls.push_back("scale");
    record->job.spec.worker.replicas = replicas;
    ++record->job.metadata.generation;
    return Outcome::done();
  }
  Outcome clear_resume(const JobKey&) override {
    record->resume_autoscaling = false;
    return Outcome::done();
  }
  std::vector<PodView> list_pods(const JobKey&) override { return pods; }
  Outcome create_pod(const JobKey&, const nlohmann::json& pod) override {
    if (!refusal.empty()) return Outcome::refused(refusal);
    if (!quota.empty()) return Outcome::retry(quota);
    PodView view;
    view.name = pod.at("metadata").at("name");
    view.index = *worker_index("demo", view.name);
    view.uid = "uid-" + std::to_string(view.index);
    view.ip = "10.0.0." + std::to_string(view.index + 1);
    view.phase = PodPhase::Running;
    calls.push_back("create " + view.name);
    pods.push_back(view);
    return Outcome::done();
  }
  Outcome delete_pod(const JobKey&, const DeletePod& pod) override {
    calls.push_back("delete " + pod.name);
    std::erase_if(pods, [&](const PodView& view) { return view.uid == pod.uid; });
    return Outcome::done();
  }
  Outcome delete_job(const JobKey&, const std::string& uid) override {
    calls.push_back("delete job " + uid);
    record.reset();
    return Outcome::done();
  }
  void record_event(const JobKey&, const RecordEvent& event) override { events.push_back(event.reason); }

  std::optional<JobRecord> record;
  std::vector<PodView> pods;
  std::vector<std::string> calls, events;
  std::string refusal, quota;
  bool fail_status = false;
};

struct MemoryRuntime : Runtime {
  RuntimeView observe(const ElasticMPIJob&, const std::vector<PodView>&) override { return view; }
  std::vector<Sample> samples(const ElasticMPIJob&) override { return {}; }
  Outcome start(const ElasticMPIJob&, const StartJob& start) override {
    ++starts;
    view.reachable = true;
    view.epoch = 1;
    view.fence = start.fence;
    view.program = ProgramState::Running;
    view.lead_uid = start.lead_uid;
    for (const MemberAddress& member : start.members) view.members.push_back(member.uid);
    return Outcome::done();
  }
  Outcome change(const ElasticMPIJob&, const SendChange& change) override {
    changes.push_back(change);
    return change_outcome;
  }
  Outcome cancel(const ElasticMPIJob&, const CancelChange&) override { return Outcome::done(); }
  Outcome stop(const ElasticMPIJob&, const StopJob&) override {
    ++stops;
    return Outcome::retry("the lead is not known yet");
  }
  void forget(const JobKey&) override {}

  RuntimeView view;
  int starts = 0, stops = 0;
  std::vector<SendChange> changes;
  Outcome change_outcome;
};

class ControllerTest : public testing::Test {
 protected:
  ControllerTest() {
    ElasticMPIJob job;
    job.metadata.name = "demo";
    job.metadata.uid = "job-uid";
    job.spec.worker.replicas = 2;
    job.spec.worker.max_replicas = 4;
    job.spec.worker.pod.command = {"program"};
    job.spec.worker.pod.document =
        R"({"spec": {"containers": [{"name": "worker", "command": ["program"]}]}})";
    cluster.record = JobRecord{job};
  }
  Pass pass() {
    time += Seconds(1);
    return controller.reconcile(key);
  }
  void make_pods_ready() {
    for (PodView& pod : cluster.pods) pod.ready = true;
  }
  void start() {
    pass();
    make_pods_ready();
    pass();
    pass();
    ASSERT_EQ(cluster.record->job.status.state, JobState::Running);
  }

  Time time{Seconds(1'000'000)};
  MemoryCluster cluster;
  MemoryRuntime runtime;
  std::vector<std::string> log;
  JobKey key{"default", "demo"};
  Controller controller{cluster,
                        runtime,
                        [this] { return time; },
                        [this](const std::string& line) { log.push_back(line); },
                        {}};
};

TEST_F(ControllerTest, StatusIsWrittenBeforeAnythingIsDone) {
  pass();
  EXPECT_EQ(cluster.calls, (std::vector<std::string>{"status", "create demo-w-0", "create demo-w-1"}));
}

TEST_F(ControllerTest, NothingIsDoneWhenTheStatusCannotBeWritten) {
  cluster.fail_status = true;
  const Pass first = pass();
  EXPECT_TRUE(cluster.pods.empty());
  EXPECT_LE(first.requeue_after, Millis(50));
  pass();
  EXPECT_EQ(std::count_if(log.begin(), log.end(),
                          [](const std::string& line) {
                            return line.find("somebody else wrote") != std::string::npos;
                          }),
            1)
      << "a problem that stays is said once";
}

TEST_F(ControllerTest, StartsTheProgramOnceAllPodsAreReady) {
  pass();
  pass();
  EXPECT_EQ(runtime.starts, 0);
  make_pods_ready();
  pass();
  EXPECT_EQ(runtime.starts, 1);
  const Pass running = pass();
  EXPECT_EQ(running.status.state, JobState::Running);
  EXPECT_EQ(running.status.joined_replicas, 2);
}

TEST_F(ControllerTest, LooksOftenWhileItMovesAndSeldomWhenItRuns) {
  EXPECT_LE(pass().requeue_after, Millis(50));
  make_pods_ready();
  pass();
  pass();
  EXPECT_GE(pass().requeue_after, Millis(500));
}

TEST_F(ControllerTest, ANewControllerGoesOnWhereTheOldOneWasKilled) {
  start();
  cluster.record->job.spec.worker.replicas = 3;
  ++cluster.record->job.metadata.generation;
  pass();
  make_pods_ready();
  Controller fresh(cluster, runtime, [this] { return time; }, [](const std::string&) {}, {});
  time += Seconds(1);
  fresh.reconcile(key);
  ASSERT_EQ(runtime.changes.size(), 1u);
  EXPECT_EQ(runtime.changes[0].add.size(), 1u);
  EXPECT_EQ(runtime.starts, 1);
}

TEST_F(ControllerTest, ARefusedChangeIsSentAgainLater) {
  start();
  runtime.change_outcome = {Outcome::Kind::Conflict, "stale epoch"};
  cluster.record->job.spec.worker.replicas = 3;
  ++cluster.record->job.metadata.generation;
  pass();
  make_pods_ready();
  pass();
  runtime.change_outcome = Outcome::done();
  pass();
  ASSERT_GE(runtime.changes.size(), 2u);
  EXPECT_EQ(runtime.changes[0].id, runtime.changes[1].id);
  EXPECT_THAT(log, Contains(HasSubstr("stale epoch")));
}

TEST_F(ControllerTest, ATemplateThatTheServerRefusesFailsTheJobWithItsWords) {
  cluster.refusal = "spec.containers[0].image: Required value";
  pass();
  const Pass second = pass();
  EXPECT_EQ(second.status.state, JobState::Failed);
  const Condition* failed = find_condition(second.status, "Failed");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->reason, "InvalidTemplate");
  EXPECT_THAT(failed->message, HasSubstr("Required value"));
}

TEST_F(ControllerTest, PodsThatMayNotBeMadeNowAreAConditionUntilTheyCan) {
  cluster.quota = "pods \"demo-w-0\" is forbidden: exceeded quota";
  pass();
  const Pass second = pass();
  EXPECT_EQ(second.status.state, JobState::Starting);
  const Condition* blocked = find_condition(second.status, "PodCreationBlocked");
  ASSERT_TRUE(blocked);
  EXPECT_EQ(blocked->status, "True");
  EXPECT_THAT(blocked->message, HasSubstr("exceeded quota"));
  cluster.quota.clear();
  pass();
  EXPECT_EQ(find_condition(pass().status, "PodCreationBlocked")->status, "False");
}

TEST_F(ControllerTest, AJobThatCannotRunHereFailsAndSaysWhy) {
  cluster.record->invalid = "spec.local: is for local runs (empi run) only";
  const Pass first = pass();
  EXPECT_EQ(first.status.state, JobState::Failed);
  EXPECT_THAT(find_condition(first.status, "Failed")->message, HasSubstr("spec.local"));
  EXPECT_TRUE(cluster.pods.empty());
}

TEST_F(ControllerTest, CancelStopsTheProgramAndDeletesThePodsEvenWhenTheLeadCannotBeTold) {
  start();
  cluster.record->cancel_requested = true;
  const Pass cancelled = pass();
  EXPECT_TRUE(cancelled.terminal);
  EXPECT_EQ(runtime.stops, 1);
  EXPECT_TRUE(cluster.pods.empty());
}

TEST_F(ControllerTest, AJobThatIsGoneIsForgotten) {
  cluster.record.reset();
  EXPECT_TRUE(pass().gone);
}

TEST_F(ControllerTest, ADeletedJobsProgramIsEnded) {
  start();
  EXPECT_EQ(runtime.stops, 0);
  cluster.record.reset();
  EXPECT_TRUE(pass().gone);
  EXPECT_EQ(runtime.stops, 1);
  pass();
  EXPECT_EQ(runtime.stops, 1);
}

class RaisesFences : public ControllerTest {
 protected:
  Controller other{
      cluster, runtime, [this] { return time; }, [](const std::string&) {}, {.fence = 0, .build = {}}};
};

TEST_F(RaisesFences, ANewLeaderTakesTheJobFromTheOldOne) {
  Controller leader{
      cluster, runtime, [this] { return time; }, [](const std::string&) {}, {.fence = 0, .build = {}}};
  leader.reconcile(key);
  EXPECT_EQ(cluster.record->job.status.fence, 1);
  other.reconcile(key);
  EXPECT_EQ(cluster.record->job.status.fence, 2);
  cluster.calls.clear();
  cluster.pods.clear();
  leader.reconcile(key);
  EXPECT_TRUE(cluster.calls.empty()) << "the old leader must leave the job alone";
}

TEST_F(RaisesFences, AFenceThatWasNotWrittenIsNotHeld) {
  cluster.fail_status = true;
  other.reconcile(key);
  cluster.fail_status = false;
  cluster.record->job.status.fence = 1;  // another leader has come first, with the number we had in mind
  other.reconcile(key);
  EXPECT_EQ(cluster.record->job.status.fence, 2);
}

TEST_F(RaisesFences, JobsThatHaveEndedAreLeftAlone) {
  cluster.record->job.status.state = JobState::Succeeded;
  cluster.record->job.status.observed_generation = cluster.record->job.metadata.generation;
  cluster.record->job.status.selector = worker_selector("demo");
  other.reconcile(key);
  EXPECT_TRUE(cluster.calls.empty());
}

TEST_F(ControllerTest, AnEndedJobIsDeletedWhenItsTimeIsOver) {
  cluster.record->job.spec.run_policy.ttl_after_finished = Seconds(60);
  cluster.record->job.status.state = JobState::Succeeded;
  cluster.record->job.status.completion_time = time;
  EXPECT_LE(pass().requeue_after, Millis(60'000));
  EXPECT_THAT(cluster.calls, testing::Not(Contains(HasSubstr("delete job"))));
  time += Seconds(60);
  pass();
  EXPECT_THAT(cluster.calls, Contains("delete job job-uid"));
  EXPECT_TRUE(pass().gone);
}

}  // namespace
}  // namespace emj
