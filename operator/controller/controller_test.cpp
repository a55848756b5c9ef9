// The loop over a cluster and a runtime that live in memory: what is promised is the order of writing and
// acting, and that nothing is remembered that matters.

#include "operator/controller/controller.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

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
  bool answers(const ElasticMPIJob&, const PodView& pod) override {
    asked.push_back(pod.name);
    return up.contains(pod.uid);
  }
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
  std::set<std::string> up;  // uids of pods whose agents answer
  std::vector<std::string> asked;
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
}

TEST_F(ControllerTest, AProblemThatStaysIsSaidNowAndThen) {
  const auto said = [&](const std::string& words) {
    return std::ranges::count_if(log, [&](const auto& line) { return line.find(words) != line.npos; });
  };
  cluster.fail_status = true;
  for (int i = 0; i < 4; ++i) pass();
  EXPECT_EQ(said("somebody else wrote"), 0) << "the ordinary course of things: look again";
  for (int i = 0; i < 20; ++i) pass();
  EXPECT_EQ(said("somebody else wrote"), 1);
  time += Seconds(600);
  pass();
  EXPECT_EQ(said("somebody else wrote"), 2);
  cluster.fail_status = false;
  cluster.quota = "exceeded quota";
  for (int i = 0; i < 5; ++i) pass();
  EXPECT_EQ(said("exceeded quota"), 1);
  cluster.quota.clear();
  pass();
  cluster.quota = "exceeded quota";
  cluster.pods.clear();
  pass();
  EXPECT_EQ(said("exceeded quota"), 2) << "it was over in between";
}

TEST_F(ControllerTest, ALeadThatRefusesAChangeIsQuotedInTheCondition) {
  start();
  runtime.change_outcome = {Outcome::Kind::Conflict, "epoch 3 is stale"};
  cluster.record->job.spec.worker.replicas = 1;
  ++cluster.record->job.metadata.generation;
  for (int i = 0; i < 20; ++i) pass();
  const Condition* resizing = find_condition(cluster.record->job.status, "Resizing");
  ASSERT_TRUE(resizing);
  EXPECT_THAT(resizing->message, HasSubstr("the lead does not take it: epoch 3 is stale"));
}

// Whatever a job and its world look like: unless the job has ended and left nothing behind, a pass is
// followed by another one, soon while something moves.
TEST_F(ControllerTest, EveryPassThatIsNotAtRestHasANext) {
  std::mt19937 random(1);
  const auto number = [&](int low, int high) { return std::uniform_int_distribution<>(low, high)(random); };
  int rests = 0;
  for (int i = 0; i < 2000; ++i) {
    JobStatus& status = cluster.record->job.status;
    status.state = static_cast<JobState>(number(0, static_cast<int>(JobState::Failed)));
    status.epoch = number(0, 3);
    status.resize.reset();
    status.start.reset();
    if (number(0, 1)) {
      status.resize.emplace();
      status.resize->phase = static_cast<ResizePhase>(number(0, static_cast<int>(ResizePhase::Draining)));
      status.resize->to = number(1, 4);
      status.resize->requested_time = time;
    }
    status.active_workers = {};
    cluster.pods.clear();
    for (int worker = 0; worker < number(0, 4); ++worker) {
      if (number(0, 3)) status.active_workers.insert(worker);
      if (number(0, 3) == 0) continue;
      PodView pod;
      pod.name = worker_name("demo", worker);
      pod.uid = "uid-" + std::to_string(worker);
      pod.index = worker;
      pod.phase = static_cast<PodPhase>(number(0, 4));
      pod.ready = number(0, 1);
      pod.terminating = number(0, 4) == 0;
      cluster.pods.push_back(pod);
    }
    runtime.view = {};
    runtime.view.reachable = number(0, 3);
    runtime.view.lead_silent = number(0, 3) == 0;
    runtime.view.epoch = number(0, 4);
    runtime.view.ending = number(0, 5) == 0;
    for (const int worker : status.active_workers)
      runtime.view.members.push_back("uid-" + std::to_string(worker));
    if (number(0, 2) == 0) runtime.view.change = ChangeView{"change-9", ChangeState::Building};
    cluster.fail_status = number(0, 3) == 0;
    cluster.record->job.spec.worker.replicas = number(1, 4);
    const Pass after = pass();
    if (after.at_rest()) {
      ++rests;
      ASSERT_TRUE(is_terminal(after.status.state) && after.pods.empty());
      continue;
    }
    ASSERT_GE(after.requeue_after, Millis(1));
    ASSERT_LE(after.requeue_after, Millis(1000)) << "the longest time between two looks";
    const bool moves = after.status.resize || after.status.state == JobState::Starting;
    if (moves && !after.failed) {
      ASSERT_LE(after.requeue_after, Millis(200)) << "two or three random states may be the same one";
    }
  }
  EXPECT_GT(rests, 0);
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

// The kubelet says so a second later.
TEST_F(ControllerTest, BelievesNewcomersThatTheyAreUp) {
  pass();
  pass();
  EXPECT_EQ(runtime.asked, std::vector<std::string>{"demo-w-0"})
      << "all are waited for: one that is not up will do";
  runtime.up = {"uid-0", "uid-1"};
  pass();
  EXPECT_EQ(runtime.starts, 1);
  pass();
  const auto asked = runtime.asked.size();
  pass();
  EXPECT_EQ(runtime.asked.size(), asked) << "members are the lead's business";
  cluster.record->job.spec.worker.replicas = 3;
  ++cluster.record->job.metadata.generation;
  pass();
  pass();
  EXPECT_EQ(runtime.asked.back(), "demo-w-2");
  EXPECT_TRUE(runtime.changes.empty());
  runtime.up.insert("uid-2");
  pass();
  EXPECT_EQ(runtime.changes.size(), 1u);
}

TEST_F(ControllerTest, LooksOftenWhileItMovesAndSeldomWhenItRuns) {
  EXPECT_LE(pass().requeue_after, Millis(50));
  make_pods_ready();
  pass();
  pass();
  EXPECT_GE(pass().requeue_after, Millis(500));
}

TEST_F(ControllerTest, LooksLessOftenTheLongerNothingHappens) {
  pass();
  pass();  // the pods are there, and wait for a node
  time += Seconds(4);
  const Millis patient = pass().requeue_after;
  EXPECT_GE(patient, Millis(300));
  EXPECT_LE(patient, Millis(600)) << "a tenth of the wait";
  time += Seconds(40);
  EXPECT_EQ(pass().requeue_after, Millis(1000)) << "the longest time between two looks";
  cluster.pods[0].phase = PodPhase::Unknown;
  EXPECT_LE(pass().requeue_after, Millis(50)) << "something happened";
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
  for (int i = 0; i < 5; ++i) pass();
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

// A status from a backup: nobody holds the fence that the agents know, and they would refuse every command.
TEST_F(RaisesFences, AFenceAboveTheStatusIsOvertaken) {
  start();
  runtime.view.fence = 7;
  cluster.record->job.status.fence = 3;
  other.reconcile(key);
  EXPECT_EQ(cluster.record->job.status.fence, 8);
  cluster.record->job.status.fence = 9;  // somebody else has taken the job since
  cluster.calls.clear();
  other.reconcile(key);
  EXPECT_TRUE(cluster.calls.empty());
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
