// SPDX-License-Identifier: Apache-2.0
// Jobs in the forms that the examples of the other operators have.

#include "operator/programs/empi/import/import.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "operator/api/parse.hpp"
#include "operator/api/yaml.hpp"
#include "operator/programs/empi/import/yaml_text.hpp"

namespace emj::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// The launcher with command and args; sshd in the workers.
constexpr char kPlain[] = R"(apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata:
  name: waves
  namespace: team
  labels: {app: waves, training.kubeflow.org/retry-count-limit: "3"}
spec:
  slotsPerWorker: 2
  runPolicy: {cleanPodPolicy: Running, ttlSecondsAfterFinished: 60, backoffLimit: 0, suspend: true}
  sshAuthMountPath: /home/mpi/.ssh
  mpiReplicaSpecs:
    Launcher:
      restartPolicy: Never
      replicas: 1
      template:
        spec:
          containers:
            - name: launcher
              image: registry.example/waves
              command: [mpirun]
              args: [-n, "6", /opt/waves, "100"]
              resources: {limits: {cpu: 1, memory: 1Gi}}
    Worker:
      restartPolicy: Never
      replicas: 3
      template:
        metadata: {annotations:}
        spec:
          nodeSelector: {pool: hpc}
          volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
          containers:
            - name: waves
              image: registry.example/waves
              securityContext: {runAsUser: 1000}
              command: [/usr/sbin/sshd]
              args: [-De, -f, /home/mpi/.sshd_config]
              ports: [{containerPort: 2222}]
              readinessProbe: {tcpSocket: {port: 2222}}
              volumeMounts: [{name: data, mountPath: /data}]
              resources: {limits: {cpu: 2, memory: 1Gi}}
)";

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Result<Imported> import_text(const std::string& text, const std::string& runtime = {}) {
  return import_job({text, "job.yaml"}, {runtime, runtime.empty() ? "" : "runtime.yaml"});
}

ElasticMPIJob job_of(const Result<Imported>& imported) {
  EXPECT_TRUE(imported) << imported.message();
  if (!imported) return {};
  const auto job = parse_yaml(imported.value().manifest, "imported");
  EXPECT_TRUE(job) << job.message();
  return job.value();
}

std::string changes_of(const Result<Imported>& imported) {
  std::string text;
  if (imported)
    for (const Violation& change : imported.value().changes) text += to_string(change, "job.yaml") + "\n";
  return text;
}

TEST(ImportMpiJob, BecomesAJobOfTheSameSize) {
  const auto imported = import_text(kPlain);
  const ElasticMPIJob job = job_of(imported);
  EXPECT_EQ(job.metadata.name, "waves");
  EXPECT_EQ(job.metadata.namespace_name, "team");
  EXPECT_EQ(job.metadata.labels, (std::map<std::string, std::string>{{"app", "waves"}}));
  EXPECT_EQ(job.spec.slots_per_worker, 2);
  EXPECT_EQ(job.spec.worker.min_replicas, 3);
  EXPECT_EQ(job.spec.worker.max_replicas, 3);
  EXPECT_EQ(job.spec.runtime.mode, RuntimeMode::Rigid);
  EXPECT_TRUE(job.spec.suspend);
  EXPECT_EQ(job.spec.run_policy.ttl_after_finished, Seconds(60));
  EXPECT_EQ(job.spec.run_policy.clean_pods, CleanPodPolicy::Running);
  EXPECT_THAT(job.spec.worker.pod.command, ElementsAre("/opt/waves"));
  EXPECT_THAT(job.spec.worker.pod.args, ElementsAre("100"));
  const json pod = json::parse(job.spec.worker.pod.document);
  const json& container = pod["spec"]["containers"][0];
  EXPECT_EQ(container["resources"], (json{{"limits", {{"memory", "1Gi"}}}, {"requests", {{"cpu", 2}}}}));
  EXPECT_EQ(container["securityContext"]["runAsUser"], 1000);
  EXPECT_EQ(container["volumeMounts"][0]["mountPath"], "/data");
  EXPECT_FALSE(container.contains("ports") || container.contains("readinessProbe"));
  EXPECT_EQ(pod["spec"]["nodeSelector"]["pool"], "hpc");
  EXPECT_TRUE(validate_for_cluster(job).empty());
}

TEST(ImportMpiJob, SaysWhatChangesAndWhereItStood) {
  EXPECT_THAT(changes_of(import_text(kPlain)),
              AllOf(HasSubstr("job.yaml:12: spec.mpiReplicaSpecs.Launcher: dropped: there is no launcher"),
                    HasSubstr("job.yaml:10: spec.sshAuthMountPath: dropped: neither ssh nor a launcher"),
                    HasSubstr("containers[0].command: is the program itself: no sshd"),
                    HasSubstr("containers[0].ports: those of ssh are dropped"),
                    HasSubstr("resources.limits.cpu: is a request only"),
                    HasSubstr("metadata.labels: training.kubeflow.org/retry-count-limit is dropped"),
                    HasSubstr("spec.runtime.mode: is Rigid")));
}

TEST(ImportMpiJob, OptionsOfMpirunBecomeFieldsOrAreNamed) {
  std::string text =
      changed(kPlain, "args: [-n, \"6\", /opt/waves, \"100\"]",
              "args: [--allow-run-as-root, -x, LEVEL=3, -x, TOKEN, -x, PATH, -mca, pml, ob1, --timeout, "
              "\"90\", -wdir, /data, python, waves.py, $@]\n"
              "              env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: t, key: k}}}, {name: "
              "OMPI_ALLOW_RUN_AS_ROOT, value: \"1\"}]");
  const auto imported = import_text(text);
  const ElasticMPIJob job = job_of(imported);
  EXPECT_THAT(job.spec.worker.pod.command, ElementsAre("python"));
  EXPECT_THAT(job.spec.worker.pod.args, ElementsAre("waves.py", "$@"));
  EXPECT_EQ(job.spec.worker.pod.working_directory, "/data");
  EXPECT_EQ(job.spec.run_policy.active_deadline, Seconds(90));
  const json environment = json::parse(job.spec.worker.pod.document)["spec"]["containers"][0]["env"];
  EXPECT_EQ(environment[0], (json{{"name", "LEVEL"}, {"value", "3"}}));
  EXPECT_EQ(environment[1]["valueFrom"]["secretKeyRef"]["name"], "t");
  EXPECT_EQ(environment.size(), 2u);
  EXPECT_THAT(changes_of(imported),
              AllOf(HasSubstr("mpirun -mca pml ob1: dropped"),
                    HasSubstr("mpirun -x PATH is dropped: the image of the worker sets it"),
                    HasSubstr("OMPI_ALLOW_RUN_AS_ROOT is dropped: mpirun kept it to itself")));
}

TEST(ImportMpiJob, WorkersAreAsManyAsRanksNeed) {
  const auto with = [](const std::string& words) { return import_text(changed(kPlain, "-n, \"6\"", words)); };
  EXPECT_EQ(job_of(with("-n, \"4\"")).spec.worker.max_replicas, 2);
  const ElasticMPIJob crowded = job_of(with("-n, \"12\""));
  EXPECT_EQ(crowded.spec.slots_per_worker, 4);
  EXPECT_EQ(crowded.spec.worker.max_replicas, 3);
  EXPECT_EQ(job_of(with("-npernode, \"1\"")).spec.slots_per_worker, 1);
  EXPECT_THAT(with("-n, \"5\"").message(),
              HasSubstr("mpirun -n 5 on 3 workers of 2 slots leaves places empty"));
}

TEST(ImportMpiJob, WhatCannotBeCarriedOverIsRefusedWithItsReason) {
  const auto refusal = [](const std::string& from, const std::string& to) {
    const auto imported = import_text(changed(kPlain, from, to));
    EXPECT_FALSE(imported) << to;
    return imported.message();
  };
  EXPECT_THAT(
      refusal("slotsPerWorker: 2", "slotsPerWorker: 2\n  mpiImplementation: MPICH"),
      AllOf(HasSubstr("job.yaml:9: spec.mpiImplementation: is \"MPICH\""), HasSubstr("Open MPI 5.0")));
  EXPECT_THAT(refusal("command: [mpirun]", "command: [deepspeed]"), HasSubstr("it runs deepspeed"));
  EXPECT_THAT(refusal("command: [mpirun]\n              args: [-n, \"6\", /opt/waves, \"100\"]",
                      "command: [bash, -c]\n              args: [\"until mpirun true; do sleep 5; done\"]"),
              HasSubstr("shell script"));
  EXPECT_THAT(refusal("suspend: true", "schedulingPolicy: {queue: gold}"),
              HasSubstr("queue of another scheduler"));
  EXPECT_THAT(refusal("suspend: true", "managedBy: kueue.x-k8s.io/multikueue"),
              HasSubstr("gives the job to"));
  EXPECT_THAT(refusal("suspend: true", "suspend: maybe"), HasSubstr("expected true or false"));
  EXPECT_THAT(refusal("slotsPerWorker: 2", "slotsPerWorker: .nan"), HasSubstr("spec.slotsPerWorker: is"));
  EXPECT_THAT(refusal("slotsPerWorker: 2", "slotsPerWorker: 2\n  newField: 1"),
              HasSubstr("spec.newField: is not known"));
  EXPECT_THAT(refusal("    Worker:", "    Follower:"), HasSubstr("spec.mpiReplicaSpecs.Worker: is missing"));
  EXPECT_THAT(refusal("    Launcher:", "    Leader:"),
              HasSubstr("spec.mpiReplicaSpecs.Launcher: is missing"));
  EXPECT_THAT(refusal("            - name: waves\n",
                      "            - {name: helper, image: h}\n            - name: waves\n"),
              HasSubstr("are not exactly one"));
  EXPECT_THAT(refusal("name: waves\n  namespace", "name: Waves.1\n  namespace"),
              HasSubstr("metadata.name: is \"Waves.1\""));
  EXPECT_THAT(refusal("v2beta1", "v1"),
              HasSubstr("apiVersion: is kubeflow.org/v1, expected kubeflow.org/v2beta1"));
  EXPECT_THAT(refusal("kind: MPIJob", "kind: Pod"),
              HasSubstr("kind: is Pod, expected one MPIJob or TrainJob"));
}

TEST(ImportMpiJob, FilesThatHoldNoJobAreRefused) {
  EXPECT_THAT(import_text("").message(), HasSubstr("the file is empty, expected one MPIJob or TrainJob"));
  EXPECT_THAT(import_text(std::string(kPlain) + "---\n" + kPlain).message(),
              HasSubstr("the file holds 2 documents"));
  EXPECT_THAT(import_text("a: [").message(), HasSubstr("not YAML"));
  EXPECT_THAT(import_text("[1]").message(), HasSubstr("no mapping"));
  for (const char* strange :
       {"spec", "metadata", "spec: {mpiReplicaSpecs: [1]}", "spec: {mpiReplicaSpecs: {Launcher: 1}}",
        "spec: {mpiReplicaSpecs: {Launcher: {template: {spec: {containers: 7}}}, Worker: {}}}"})
    EXPECT_FALSE(import_text(std::string("apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\n") + strange))
        << strange;
}

TEST(ImportMpiJob, ALauncherThatTakesPartIsOneWorkerMore) {
  EXPECT_EQ(job_of(import_text(changed(
                       changed(kPlain, "slotsPerWorker: 2", "slotsPerWorker: 2\n  runLauncherAsWorker: true"),
                       "-n, \"6\", ", "")))
                .spec.worker.max_replicas,
            4);
}

// The launcher's own entry point begins mpirun; GPUs, tolerations and a sized /dev/shm stay.
TEST(ImportMpiJob, CarriesThePodOfTheWorker) {
  const auto imported = import_text(R"(apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: learn}
spec:
  runPolicy: {cleanPodPolicy: Running, activeDeadlineSeconds: 666}
  mpiReplicaSpecs:
    Launcher:
      template: {spec: {containers: [{name: l, image: i, args: [mpirun, -bind-to, none, python, train.py]}]}}
    Worker:
      replicas: 2
      template:
        spec:
          restartPolicy: OnFailure
          tolerations: [{key: gpu, operator: Exists}]
          volumes: [{name: shm, emptyDir: {medium: Memory}}]
          containers:
            - {name: l, image: i, resources: {limits: {nvidia.com/gpu: 8}}, volumeMounts: [{name: shm, mountPath: /dev/shm}]}
)");
  const ElasticMPIJob job = job_of(imported);
  const json pod = json::parse(job.spec.worker.pod.document);
  EXPECT_EQ(pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"], 8);
  EXPECT_EQ(pod["spec"]["tolerations"][0]["key"], "gpu");
  EXPECT_FALSE(pod["spec"].contains("restartPolicy"));
  EXPECT_THAT(changes_of(imported),
              AllOf(HasSubstr("restartPolicy: is Never"), HasSubstr("without backoffLimit")));
}

// --- TrainJob ---------------------------------------------------------------------------------------

constexpr char kTrainJob[] = R"(apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: waves}
spec:
  runtimeRef: {name: mpi}
  trainer:
    numNodes: 3
    command: [mpirun, -n, "6", waves]
    env: [{name: LEVEL, value: high}]
    resourcesPerNode: {requests: {cpu: 2}}
)";
constexpr char kRuntime[] = R"(apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: mpi}
spec:
  mlPolicy: {numNodes: 1, mpi: {numProcPerNode: 2, mpiImplementation: OpenMPI}}
  template:
    spec:
      replicatedJobs:
        - name: launcher
          template: {spec: {template: {spec: {containers: [{name: node, image: base, command: [mpirun, hostname]}]}}}}
        - name: node
          template: {spec: {template: {spec: {containers: [{name: node, image: base, command: [sshd], env: [{name: LEVEL,
            value: low}, {name: PLACE, value: here}]}]}}}}
)";

TEST(ImportTrainJob, TakesTheRestFromItsRuntime) {
  const auto imported = import_text(kTrainJob, kRuntime);
  const ElasticMPIJob job = job_of(imported);
  EXPECT_EQ(job.spec.worker.max_replicas, 3);
  EXPECT_EQ(job.spec.slots_per_worker, 2);
  EXPECT_EQ(job.spec.worker.pod.image, "base");
  EXPECT_THAT(job.spec.worker.pod.command, ElementsAre("waves"));
  EXPECT_EQ(job.spec.worker.pod.environment,
            (std::vector<EnvironmentVariable>{{"LEVEL", "high"}, {"PLACE", "here"}}));
}

TEST(ImportTrainJob, TheRuntimesCommandCountsWhereItHasNone) {
  const auto imported =
      import_text(changed(kTrainJob, "    command: [mpirun, -n, \"6\", waves]\n", ""), kRuntime);
  EXPECT_THAT(job_of(imported).spec.worker.pod.command, ElementsAre("hostname"));
}

TEST(ImportTrainJob, WithoutARuntimeItMustSayAll) {
  EXPECT_THAT(import_text(kTrainJob).message(), HasSubstr("then --runtime runtime.yaml"));
  const std::string whole =
      changed(kTrainJob, "    numNodes: 3\n", "    numNodes: 3\n    numProcPerNode: 2\n    image: mine\n");
  EXPECT_EQ(job_of(import_text(whole)).spec.worker.pod.image, "mine");
}

TEST(ImportTrainJob, OthersThanMpiAreRefused) {
  EXPECT_THAT(import_text(kTrainJob, changed(kRuntime, "mpi: {numProcPerNode: 2, mpiImplementation: OpenMPI}",
                                             "torch: {}"))
                  .message(),
              HasSubstr("without spec.mlPolicy.mpi"));
  EXPECT_THAT(import_text(kTrainJob, changed(kRuntime, "{name: mpi}", "{name: torch}")).message(),
              HasSubstr("names the runtime \"mpi\", and --runtime gives \"torch\""));
  EXPECT_THAT(import_text(changed(kTrainJob,
                                  "  trainer:", "  initializer: {dataset: {storageUri: s3://x}}\n  trainer:"),
                          kRuntime)
                  .message(),
              HasSubstr("spec.initializer: fetches data"));
}

// --- YAML -------------------------------------------------------------------------------------------

TEST(YamlText, IsReadAsItWasMeant) {
  const json object = {
      {"plain", "text"},
      {"list",
       {"a", json::array({1, json::array()}), {{"b", nullptr}, {"c", {"x: y", "#z"}}}, json::object()}},
      {"words", {"yes", "Off", "null", "1e3", "0x10", "12:30", "-", "", " a", "a b", "ä", "\n", "~", "*a"}},
      {"numbers", {1, -2.5, true}},
      {"on", {{"key: with", "colon"}}}};
  const auto read = load_yaml(yaml_text(object), "x");
  ASSERT_TRUE(read) << read.message() << yaml_text(object);
  EXPECT_EQ(read.value().object, object) << yaml_text(object);
  EXPECT_EQ(yaml_text({{"a", {{{"b", 1}, {"c", {2}}}}}}), "a:\n  - b: 1\n    c:\n      - 2\n");
}

}  // namespace
}  // namespace emj::cli
