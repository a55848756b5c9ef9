// SPDX-License-Identifier: Apache-2.0
#include "operator/api/parse.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace emj {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string manifest(const std::string& spec, const std::string& container = "command: [program]") {
  return "apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticMPIJob\nmetadata: {name: demo}\nspec:\n" + spec +
         "  worker:\n    minReplicas: 1\n    maxReplicas: 8\n    template: {spec: {containers: [{name: "
         "worker, " +
         container + "}]}}\n";
}

ElasticMPIJob parsed(const std::string& text) {
  const Result<ElasticMPIJob> job = parse_yaml(text, "job.yaml");
  EXPECT_TRUE(job.ok()) << job.message();
  return job.value();
}

std::string refusal(const std::string& text) {
  const Result<ElasticMPIJob> job = parse_yaml(text, "job.yaml");
  EXPECT_FALSE(job.ok());
  return job.message();
}

TEST(ParseYaml, FillsInTheDefaults) {
  const JobSpec spec = parsed(manifest("")).spec;
  EXPECT_EQ(spec.slots_per_worker, 1);
  EXPECT_FALSE(spec.worker.replicas);
  EXPECT_EQ(spec.runtime.mode, RuntimeMode::Malleable);
  EXPECT_EQ(spec.runtime.probe, Probe::All);
  EXPECT_TRUE(spec.resize.step.factor2());
  EXPECT_EQ(spec.resize.join_timeout, Seconds(600));
  EXPECT_EQ(spec.resize.patience, Seconds(5));
  EXPECT_EQ(spec.autoscaling.mode, AutoscalingMode::Off);
  EXPECT_EQ(spec.autoscaling.policy.name, PolicyName::Threshold);
  EXPECT_EQ(spec.autoscaling.policy.threshold.low_percent, 10);
  EXPECT_EQ(spec.autoscaling.policy.threshold.high_percent, 60);
  EXPECT_EQ(spec.run_policy.backoff_limit, 0);
  EXPECT_FALSE(spec.local);
}

TEST(ParseYaml, ReadsTheTypedFieldsOfTheTemplateAndKeepsTheRest) {
  const PodTemplate pod =
      parsed(manifest("",
                      "command: [program, -v], args: [a], workingDir: /data, "
                      "env: [{name: A, value: b}, {name: C, valueFrom: {x: y}}], livenessProbe: {z: 1}"))
          .spec.worker.pod;
  EXPECT_EQ(pod.command, (std::vector<std::string>{"program", "-v"}));
  EXPECT_EQ(pod.args, (std::vector<std::string>{"a"}));
  EXPECT_EQ(pod.working_directory, "/data");
  EXPECT_EQ(pod.environment, (std::vector<EnvironmentVariable>{{"A", "b"}}));
  EXPECT_EQ(json::parse(pod.document)["spec"]["containers"][0]["livenessProbe"]["z"], 1);
  EXPECT_THAT(fields_ignored_locally(pod), Contains("spec.containers[0].livenessProbe"));
  EXPECT_THAT(fields_ignored_locally(pod), Contains("spec.containers[0].env[C].valueFrom"));
  EXPECT_THAT(fields_ignored_locally(pod), Not(Contains("spec.containers[0].command")));
}

TEST(ParseYaml, SaysFileLineFieldReasonAndWhatToDo) {
  EXPECT_THAT(
      refusal(manifest("  slotsPerWorker: many\n")),
      HasSubstr("job.yaml:5: spec.slotsPerWorker: is \"many\", expected a whole number from 1 to 1024"));
  EXPECT_THAT(refusal(manifest("  autoscaling:\n    mode: Off\n")),
              HasSubstr("job.yaml:6: spec.autoscaling.mode: is false, expected one of Off, Recommend, Auto; "
                        "YAML reads the bare word Off as false: write \"Off\""));
  EXPECT_THAT(refusal(manifest("  autoscalling: {}\n")),
              HasSubstr("spec.autoscalling: unknown field; did you mean autoscaling?"));
  EXPECT_THAT(refusal(manifest("  autoscaling: {lowPercent: 5}\n")),
              HasSubstr("did you mean spec.autoscaling.policy.threshold.lowPercent?"));
  EXPECT_THAT(refusal(manifest("  autoscaling: {mode: recommend}\n")), HasSubstr("did you mean Recommend?"));
}

TEST(ParseYaml, ReportsAllViolationsAtOnce) {
  const Result<ElasticMPIJob> job =
      parse_yaml(manifest("  suspend: 1\n  slotsPerWorker: 0\n  resize: {stepSize: -1}\n"), "job.yaml");
  EXPECT_EQ(job.violations().size(), 3u) << job.message();
}

TEST(ParseYaml, BrokenYamlIsOneClearLine) {
  EXPECT_THAT(refusal("apiVersion: [1\nkind: x\n"), HasSubstr("job.yaml:"));
  EXPECT_THAT(refusal("spec: {a: b\n"), HasSubstr("not YAML"));
  EXPECT_THAT(refusal(""), HasSubstr("the file is empty"));
  EXPECT_THAT(refusal("- a\n- b\n"), HasSubstr("no mapping"));
  EXPECT_THAT(refusal(manifest("") + "---\n" + manifest("")), HasSubstr("2 documents"));
  EXPECT_THAT(refusal("\x01\x02\xff"), HasSubstr("job.yaml"));
}

TEST(ParseYaml, EveryTruncationIsRefusedOrAcceptedButNeverFatal) {
  const std::string whole =
      manifest("  resize: {allowedReplicas: [1, 2, 4]}\n  local: {slowdownFactor: 2.5}\n");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Result<ElasticMPIJob> job = parse_yaml(whole.substr(0, length), "job.yaml");
    if (!job.ok()) {
      EXPECT_FALSE(job.message().empty()) << length;
    }
  }
  EXPECT_TRUE(parse_yaml(whole, "job.yaml").ok());
}

// Found by ./dev fuzz manifest: it ended the program.
TEST(ParseYaml, WhatIsNoUtf8IsRefusedWhereItIs) {
  for (const char* broken : {"name: a\xee-b", "na\xffme: a"}) {
    const auto job = parse_yaml(
        std::string("apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticMPIJob\nmetadata:\n  ") + broken + "\n",
        "latin1.yaml");
    ASSERT_FALSE(job.ok());
    EXPECT_NE(job.message().find("latin1.yaml:4"), std::string::npos) << job.message();
    EXPECT_NE(job.message().find("not UTF-8"), std::string::npos) << job.message();
  }
}

TEST(ParseYaml, AControlCharacterIsRefusedWhereItIs) {
  const auto job = parse_yaml("kind: ElasticMPIJob\nmetadata: {name: a\x1a}\n", "control.yaml");
  ASSERT_FALSE(job.ok());
  EXPECT_NE(job.message().find("control.yaml:2: a control character"), std::string::npos) << job.message();
}

// Found by ./dev fuzz manifest: yaml-cpp read it for ever, and took all memory.
TEST(ParseYaml, AStrayCommaIsRefusedWhereItIs) {
  const auto job =
      parse_yaml("        containers:\n          - name: worker\n   ,        image: i\n", "comma.yaml");
  ASSERT_FALSE(job.ok());
  EXPECT_NE(job.message().find("comma.yaml:3: not YAML"), std::string::npos) << job.message();
}

TEST(ParseYaml, DeepNestingIsRefused) {
  EXPECT_THAT(refusal(std::string(300, '[') + std::string(300, ']')), Not(testing::IsEmpty()));
  std::string deep = "a: ";
  for (int i = 0; i < 200; ++i) deep += "{a: ";
  deep += "1" + std::string(200, '}');
  EXPECT_THAT(refusal(deep), HasSubstr("levels deep"));
}

TEST(Warnings, DoNotRefuse) {
  const Result<ElasticMPIJob> job = parse_yaml(
      "apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticMPIJob\nmetadata: {name: demo}\nspec:\n"
      "  autoscaling: {mode: Auto}\n  worker:\n    replicas: 2\n    minReplicas: 1\n    maxReplicas: 8\n"
      "    template: {spec: {containers: [{name: worker, command: [p], resources: {limits: {cpu: 1}}}]}}\n",
      "job.yaml");
  ASSERT_TRUE(job.ok()) << job.message();
  ASSERT_EQ(job.violations().size(), 2u);
  EXPECT_TRUE(job.violations()[0].warning);
  EXPECT_THAT(job.message(), HasSubstr("job.yaml:7: warning: spec.worker.replicas"));
  EXPECT_THAT(job.message(), HasSubstr("limits.cpu"));
}

TEST(Json, AJobSurvivesBeingStored) {
  ElasticMPIJob job =
      parsed(manifest("  resize: {stepSize: 2, allowedReplicas: [4, 2]}\n  local: {slowdownFactor: 8}\n"));
  EXPECT_EQ(job.spec.resize.allowed_replicas, (std::vector<int>{2, 4}));
  const Time time{Millis(1'769'860'800'250)};
  job.metadata.uid = "u";
  job.metadata.creation_time = time;
  JobStatus& status = job.status;
  status.state = JobState::Resizing;
  status.active_workers = {0, 1, 4};
  status.resize =
      ResizeStatus{"change-3", 3, 4, ResizePhase::Window, 7, {5}, {5}, {}, time, time, time, time};
  status.awaited = AwaitedWorkers{{6, 7}, {6}, time, time};
  status.succession = SuccessionStatus{4, "uid-1", "demo-w-1", {"uid-0"}, "pod demo-w-0 is gone", time};
  status.lost_nodes = {{"node-3", time}};
  status.blocked = BlockedTarget{8, 2, "no room", 3, time, time};
  status.last_resize = LastResize{2, 3, ResizeResult::Committed, "", 1, 2, 3, time};
  status.recoveries = RecoveriesStatus{2, 5, time, "pod demo-w-2 is lost", 3, 12, 640};
  status.recommendation = Recommendation{4, 91, "why", time};
  status.performance = Performance{91, time};
  status.decisions = {{time, 2, 4, "threshold", DecisionAction::Scale, "why"}};
  status.policy_state.changes = {{time, 2, 3, 0.5, 100}};
  status.policy_state.measured = {{3, 91, 0.02, time}};
  status.policy_state.up_since = time;
  status.conditions = {{"Running", "True", "Running", "", time, 1}};
  const Result<ElasticMPIJob> back = parse_json(to_json(job));
  ASSERT_TRUE(back.ok()) << back.message();
  EXPECT_EQ(back.value(), job);
}

// The operator before this one has the members under another name; it may come back, too.
TEST(Json, ReadsTheMembersUnderTheirFormerNameAndWritesBoth) {
  const IndexSet members{0, 1, 2, 3, 7};
  for (const char* name : {"workers", "activeWorkers"}) {
    const Result<JobStatus> read = parse_status({{name, "0-3,7"}});
    ASSERT_TRUE(read.ok()) << read.message();
    EXPECT_EQ(read.value().active_workers, members) << name;
    for (const char* both : {"workers", "activeWorkers"})
      EXPECT_EQ(status_to_json(read.value())[both], "0-3,7") << both;
  }
}

// The status of a job that runs is read by operators of several versions.
TEST(Json, WhatAnotherVersionWroteIntoStatusReadsAsUnknown) {
  JobStatus status;
  status.last_resize = LastResize{2, 3, ResizeResult::Superseded, "", 1, 2, 3, {}};
  status.decisions = {{{}, 2, 4, "threshold", DecisionAction::Recommend, "why"}};
  json written = status_to_json(status);
  EXPECT_EQ(written["lastResize"]["result"], "Superseded");
  EXPECT_EQ(written["decisions"][0]["action"], "Recommend");
  written["lastResize"]["result"] = "Postponed";
  written["decisions"][0]["action"] = "Hesitate";
  const Result<JobStatus> back = parse_status(written);
  ASSERT_TRUE(back.ok()) << back.message();
  EXPECT_EQ(back.value().last_resize->result, ResizeResult::Unknown);
  EXPECT_EQ(back.value().decisions[0].action, DecisionAction::Unknown);
  EXPECT_EQ(back.value().decisions[0].reason, "why");
}

TEST(Json, BlockedAloneIsNoResize) {
  JobStatus status;
  status.blocked = BlockedTarget{8, 2, "no room", 1, Time{}};
  const json written = status_to_json(status);
  EXPECT_EQ(written["resize"]["blocked"]["target"], 8);
  const Result<JobStatus> back = parse_status(written);
  ASSERT_TRUE(back.ok()) << back.message();
  EXPECT_FALSE(back.value().resize);
  EXPECT_EQ(back.value(), status);
}

TEST(Json, ThePhaseOfAMasterWorkerProgramIsKept) {
  JobStatus status;
  status.tasks = TaskStatus{.phase = 3,
                            .total = 500,
                            .done = 120,
                            .queued = 372,
                            .mean_seconds = .25,
                            .predicted_finish = Time{Millis(1'700'000'090'000)},
                            .window_end = Time{Millis(1'700'000'000'000)}};
  const Result<JobStatus> back = parse_status(status_to_json(status));
  ASSERT_TRUE(back.ok()) << back.message();
  EXPECT_EQ(back.value().tasks, status.tasks);
  status.tasks->predicted_finish.reset();  // nothing has ended yet
  const json unknown = status_to_json(status);
  EXPECT_FALSE(unknown["tasks"].contains("predictedFinish"));
  EXPECT_EQ(parse_status(unknown).value().tasks, status.tasks);
  EXPECT_FALSE(status_to_json(JobStatus{}).contains("tasks")) << "an SPMD program";
}

TEST(Json, ServerMetadataIsNoError) {
  json object = to_json(parsed(manifest("")));
  object["metadata"]["managedFields"] = json::array({{{"manager", "kubectl"}}});
  object["metadata"]["somethingNew"] = 1;
  EXPECT_TRUE(parse_json(object).ok());
}

TEST(Update, RefusesImmutableFields) {
  ElasticMPIJob before = parsed(manifest(""));
  before.status.state = JobState::Running;
  ElasticMPIJob after = before;
  after.spec.slots_per_worker = 2;
  after.spec.runtime.mode = RuntimeMode::Rigid;
  after.spec.worker.pod.args = {"other"};
  after.spec.worker.replicas = 3;
  std::vector<std::string> fields;
  for (const Violation& violation : validate_update(before, after)) fields.push_back(violation.field);
  EXPECT_EQ(fields,
            (std::vector<std::string>{"spec.slotsPerWorker", "spec.runtime", "spec.worker.template"}));
}

// That somebody has written `suspend` says nothing: pods of the old template run until the operator has seen
// it.
TEST(Update, OfTheTemplateWaitsUntilTheJobIsSuspended) {
  ElasticMPIJob before = parsed(manifest(""));
  const auto refused = [&] {
    ElasticMPIJob after = before;
    after.spec.worker.pod.args = {"other"};
    return !validate_update(before, after).empty();
  };
  before.spec.suspend = true;
  for (const JobState state : {JobState::Pending, JobState::Starting, JobState::Running, JobState::Resizing,
                               JobState::Succeeded, JobState::Failed}) {
    before.status.state = state;
    EXPECT_TRUE(refused()) << to_string(state);
  }
  before.status.state = JobState::Suspended;
  EXPECT_FALSE(refused());
}

// Its limits may become narrower than its size (crds/elasticmpijob.yaml): the API server holds such a job,
// and a job that cannot be read would keep its size for ever.
TEST(Stored, ASizeBeyondItsLimitsIsRead) {
  ElasticMPIJob job = parsed(manifest(""));
  job.spec.worker.replicas = job.spec.worker.max_replicas + 1;
  const nlohmann::json object = to_json(job);
  EXPECT_FALSE(parse_json(object).ok());
  const Result<ElasticMPIJob> read = parse_stored(object);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().spec.worker.replicas, job.spec.worker.replicas);
}

TEST(Cluster, RefusesWhatIsForLocalRunsOnly) {
  const ElasticMPIJob job = parsed(manifest("  local: {slowdownFactor: 2}\n"));
  const std::vector<Violation> found = validate_for_cluster(job);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].field, "spec.local");
  EXPECT_THAT(found[1].field, HasSubstr("image"));
}

TEST(Stability, HoldsExactlyAtTheBound) {
  const auto thresholds = [](int low, int high, int noise) {
    return parse_yaml(manifest("  autoscaling: {policy: {threshold: {lowPercent: " + std::to_string(low) +
                               ", highPercent: " + std::to_string(high) +
                               ", noisePercent: " + std::to_string(noise) + "}}}\n"),
                      "job.yaml")
        .ok();
  };
  EXPECT_TRUE(thresholds(10, 60, 20));  // 60 x 80 = 4 x 10 x 120
  EXPECT_FALSE(thresholds(10, 59, 20));
  EXPECT_FALSE(thresholds(10, 60, 21));
  EXPECT_TRUE(thresholds(10, 40, 0));
  EXPECT_FALSE(thresholds(10, 39, 0));
  // A fixed step is no doubling.
  EXPECT_TRUE(parse_yaml(manifest("  resize: {stepSize: 1}\n  autoscaling: {policy: {threshold: {lowPercent: "
                                  "10, highPercent: 20}}}\n"),
                         "job.yaml")
                  .ok());
}

}  // namespace
}  // namespace emj
