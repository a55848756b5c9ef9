// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/pods.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "operator/objects/testing/job_from.hpp"
#include "runtime/protocol/names.hpp"

namespace emj {
namespace {

using nlohmann::json;
using testing::job_from;

json variable(const json& container, const std::string& name) {
  json found;
  for (const json& entry : container["env"])
    if (entry["name"] == name) {
      EXPECT_TRUE(found.is_null()) << name << " is given twice";
      found = entry;
    }
  return found;
}

json by_name(const json& list, const std::string& name) {
  for (const json& entry : list)
    if (entry["name"] == name) return entry;
  return nullptr;
}

TEST(Pod, HasAStableNameLabelsAndOwner) {
  const json pod = build_pod(job_from(""), 3);
  const json& metadata = pod["metadata"];
  EXPECT_EQ(metadata["name"], "demo-w-3");
  EXPECT_EQ(metadata["namespace"], "waves");
  EXPECT_EQ(metadata["labels"]["elasticmpi.io/job-name"], "demo");
  EXPECT_EQ(metadata["labels"]["elasticmpi.io/role"], "worker") << "the operator's own labels win";
  EXPECT_EQ(metadata["labels"]["elasticmpi.io/worker-index"], "3");
  EXPECT_EQ(metadata["labels"]["team"], "waves");
  const json& owner = metadata["ownerReferences"][0];
  EXPECT_EQ(owner["kind"], "ElasticMPIJob");
  EXPECT_EQ(owner["uid"], "uid-1");
  EXPECT_EQ(owner["controller"], true);
  EXPECT_EQ(pod["spec"]["hostname"], "demo-w-3");
  EXPECT_EQ(pod["spec"]["subdomain"], service_name("demo"));
}

// A queue counts a pod by that, also when its job is gone.
TEST(Pod, SaysWhichQueueAndPoolHaveGivenIt) {
  ElasticMPIJob job = job_from("");
  EXPECT_FALSE(build_pod(job, 0)["metadata"]["labels"].contains("elasticmpi.io/queue"));
  job.spec.scheduling.queue_name = "main";
  PoolSpec pool;
  pool.name = "fast";
  const json labels = build_pod(job, 0, {}, &pool)["metadata"]["labels"];
  EXPECT_EQ(labels["elasticmpi.io/queue"], "main");
  EXPECT_EQ(labels["elasticmpi.io/pool"], "fast");
}

TEST(Pod, RunsTheProgramUnderTheAgent) {
  const json worker = build_pod(job_from(""), 0)["spec"]["containers"][0];
  ASSERT_EQ(worker["command"].size(), 4u);
  EXPECT_TRUE(worker["command"][0].get<std::string>().ends_with("/elastic-mpi-agent"));
  EXPECT_EQ(worker["command"][1], "--");
  EXPECT_EQ(worker["command"][2], "/bin/tsunami");
  EXPECT_EQ(worker["command"][3], "--fast");
  EXPECT_EQ(worker["args"], json({"--end", "10"}));
  EXPECT_EQ(worker["terminationMessagePolicy"], "FallbackToLogsOnError");
  EXPECT_EQ(worker["readinessProbe"]["httpGet"]["port"], kAgentPort);
}

TEST(Pod, TellsTheAgentWhoItIs) {
  const json worker = build_pod(job_from(""), 5)["spec"]["containers"][0];
  EXPECT_EQ(variable(worker, empi::names::kJobName)["value"], "demo");
  EXPECT_EQ(variable(worker, empi::names::kJobUid)["value"], "uid-1");
  EXPECT_EQ(variable(worker, empi::names::kPodName)["value"], "demo-w-5");
  EXPECT_EQ(variable(worker, empi::names::kPodUid)["valueFrom"]["fieldRef"]["fieldPath"], "metadata.uid");
  EXPECT_EQ(variable(worker, empi::names::kPodAddress)["valueFrom"]["fieldRef"]["fieldPath"], "status.podIP");
  EXPECT_EQ(variable(worker, empi::names::kNodeName)["valueFrom"]["fieldRef"]["fieldPath"], "spec.nodeName");
  EXPECT_EQ(variable(worker, empi::names::kSlots)["value"], "2");
  EXPECT_EQ(variable(worker, empi::names::kMinWorkers)["value"], "1");
  EXPECT_EQ(variable(worker, empi::names::kMode)["value"], "malleable");
}

// Its ranks are promised a processor each unless it asks for less.
TEST(Pod, TellsTheAgentWhetherItsProcessorsAreItsOwn) {
  const auto shared = [](const std::string& resources) {
    const json worker = build_pod(job_from(resources), 0)["spec"]["containers"][0];
    return variable(worker, empi::names::kSharedProcessors)["value"];
  };
  EXPECT_EQ(shared(""), "no");
  EXPECT_EQ(shared("            resources: {requests: {cpu: \"2\"}}\n"), "no");
  EXPECT_EQ(shared("            resources: {requests: {cpu: 1900m}}\n"), "yes");
  EXPECT_EQ(shared("            resources: {limits: {cpu: \"1\"}}\n"), "yes");
}

TEST(Pod, KeepsTheUsersEnvironmentExceptTheAgentsOwnNames) {
  const json worker = build_pod(job_from(R"(
            env:
              - {name: OMP_NUM_THREADS, value: "1"}
              - {name: EMPI_SLOTS, value: "99"}
)"),
                                0)["spec"]["containers"][0];
  EXPECT_EQ(variable(worker, "OMP_NUM_THREADS")["value"], "1");
  EXPECT_EQ(variable(worker, empi::names::kSlots)["value"], "2");
}

TEST(Pod, MountsTheVolumeOfItsCheckpoints) {
  const json pod =
      build_pod(job_from("", "", "  checkpoint: {volumeClaim: waves, everySeconds: 60, keep: 3}"), 0)["spec"];
  const json worker = pod["containers"][0];
  const json volume = by_name(pod["volumes"], "elastic-mpi-checkpoints");
  EXPECT_EQ(volume["persistentVolumeClaim"]["claimName"], "waves");
  const json mount = by_name(worker["volumeMounts"], "elastic-mpi-checkpoints");
  EXPECT_EQ(variable(worker, empi::names::kCheckpointDir)["value"],
            mount["mountPath"].get<std::string>() + "/demo");
  EXPECT_EQ(variable(worker, empi::names::kCheckpointSeconds)["value"], "60");
  EXPECT_EQ(variable(worker, empi::names::kCheckpointKeep)["value"], "3");
  EXPECT_EQ(variable(worker, empi::names::kCheckpointMtbfHours)["value"], "720");

  const json own = build_pod(job_from("", "", "  checkpoint: {path: /data}"), 0)["spec"];
  EXPECT_EQ(variable(own["containers"][0], empi::names::kCheckpointDir)["value"], "/data/demo");
  EXPECT_EQ(own["volumes"].size() + 1, pod["volumes"].size()) << "the template's own volume is mounted";
}

TEST(Pod, SaysWhenTheProgramIsRigid) {
  const json worker = build_pod(job_from("", "", "  runtime: {mode: Rigid}"), 0)["spec"]["containers"][0];
  EXPECT_EQ(variable(worker, empi::names::kMode)["value"], "rigid");
}

TEST(Pod, HasANativeSidecarForTheMetrics) {
  const json spec = build_pod(job_from("", R"(
        initContainers:
          - {name: fetch, image: registry.example/fetch:1}
)"),
                              0)["spec"];
  const json sidecar = by_name(spec["initContainers"], "elastic-mpi-sidecar");
  EXPECT_EQ(sidecar["restartPolicy"], "Always");
  EXPECT_EQ(sidecar["ports"][0]["containerPort"], kMetricsPort);
  EXPECT_EQ(sidecar["livenessProbe"]["httpGet"]["port"], kMetricsPort) << "one that hangs is started again";
  const json worker_run = by_name(spec["containers"][0]["volumeMounts"], "elastic-mpi-run");
  EXPECT_EQ(by_name(sidecar["volumeMounts"], "elastic-mpi-run")["mountPath"], worker_run["mountPath"]);
  EXPECT_FALSE(by_name(spec["initContainers"], "fetch").is_null()) << "the user's own init container stays";
  EXPECT_EQ(spec["containers"].size(), 1u);
}

TEST(Pod, HasTheRuntimeBeforeTheWorkerStarts) {
  const json spec = build_pod(job_from(""), 0)["spec"];
  const json sidecar = by_name(spec["initContainers"], "elastic-mpi-sidecar");
  const json worker_mount = by_name(spec["containers"][0]["volumeMounts"], "elastic-mpi-runtime");
  const json sidecar_mount = by_name(sidecar["volumeMounts"], "elastic-mpi-runtime");
  EXPECT_EQ(sidecar["lifecycle"]["postStart"]["exec"]["command"].back(), sidecar_mount["mountPath"]);
  EXPECT_FALSE(sidecar_mount.contains("readOnly")) << "the hook copies into it";
  EXPECT_EQ(worker_mount["readOnly"], true);
  const std::string agent = spec["containers"][0]["command"][0];
  EXPECT_EQ(agent.rfind(worker_mount["mountPath"].get<std::string>() + "/bin/", 0), 0u) << agent;
}

TEST(Pod, HasItsVolumes) {
  const json spec = build_pod(job_from(""), 0)["spec"];
  EXPECT_EQ(by_name(spec["volumes"], "elastic-mpi-run")["emptyDir"]["medium"], "Memory");
  EXPECT_EQ(by_name(spec["volumes"], "elastic-mpi-shm")["emptyDir"]["medium"], "Memory");
  EXPECT_EQ(by_name(spec["volumes"], "elastic-mpi-token")["secret"]["secretName"], token_secret_name("demo"));
  const json& mounts = spec["containers"][0]["volumeMounts"];
  EXPECT_EQ(by_name(mounts, "elastic-mpi-shm")["mountPath"], "/dev/shm");
  EXPECT_EQ(by_name(mounts, "elastic-mpi-token")["readOnly"], true);
  for (const json& entry : mounts)
    EXPECT_FALSE(by_name(spec["volumes"], entry["name"]).is_null())
        << entry["name"] << " is mounted but no volume";
}

TEST(Pod, LeavesTmpAndSharedMemoryToVolumesOfTheUser) {
  const json worker = build_pod(job_from(R"(
            volumeMounts:
              - {name: big, mountPath: /dev/shm}
              - {name: results, mountPath: /tmp/}
)"),
                                0)["spec"]["containers"][0];
  const auto at = [&](const std::string& path) {
    return std::ranges::count_if(worker["volumeMounts"], [&](const json& mount) {
      return mount["mountPath"] == path || mount["mountPath"] == path + "/";
    });
  };
  EXPECT_EQ(at("/dev/shm"), 1) << "the server refuses a path that is mounted twice";
  EXPECT_EQ(at("/tmp"), 1);
  EXPECT_FALSE(by_name(worker["volumeMounts"], "big").is_null());
  EXPECT_FALSE(by_name(worker["volumeMounts"], "results").is_null());
}

TEST(Pod, PassesPodSecurityRestricted) {
  const json spec = build_pod(job_from(""), 0)["spec"];
  EXPECT_EQ(spec["securityContext"]["runAsNonRoot"], true);
  EXPECT_EQ(spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
  EXPECT_EQ(spec["automountServiceAccountToken"], false);
  json all = spec["initContainers"];
  all.push_back(spec["containers"][0]);
  for (const json& container : all) {
    const json& security = container["securityContext"];
    EXPECT_EQ(security["allowPrivilegeEscalation"], false) << container["name"];
    EXPECT_EQ(security["readOnlyRootFilesystem"], true) << container["name"];
    EXPECT_EQ(security["capabilities"]["drop"], json({"ALL"})) << container["name"];
  }
}

TEST(Pod, RequestsCpuWithoutLimits) {
  const json spec = build_pod(job_from(""), 0)["spec"];
  EXPECT_EQ(spec["containers"][0]["resources"]["requests"]["cpu"], "2");
  EXPECT_FALSE(spec["containers"][0]["resources"].contains("limits"));
  for (const json& container : spec["initContainers"])
    EXPECT_FALSE(container["resources"].contains("limits"));
  const json given = build_pod(job_from("            resources: {requests: {cpu: 500m, memory: 1Gi}}\n"), 0);
  EXPECT_EQ(given["spec"]["containers"][0]["resources"]["requests"],
            json({{"cpu", "500m"}, {"memory", "1Gi"}}));
}

// A ResourceQuota on limits refuses a pod of which one container has none.
TEST(Pod, LimitsTheSidecarWhereTheWorkerIsLimited) {
  const auto limits = [](const std::string& resources) {
    const json spec = build_pod(job_from("            resources: " + resources + "\n"), 0)["spec"];
    return by_name(spec["initContainers"], "elastic-mpi-sidecar")["resources"].value("limits",
                                                                                     json::object());
  };
  EXPECT_EQ(limits("{limits: {memory: 4Gi}}").size(), 1u);
  EXPECT_TRUE(limits("{limits: {memory: 4Gi}}").contains("memory"));
  EXPECT_EQ(limits("{limits: {memory: 4Gi, cpu: 2, example.com/gpu: 1}}").size(), 2u);
  EXPECT_TRUE(limits("{requests: {memory: 4Gi}}").empty());
}

TEST(Pod, LimitsTheSidecarAsTheInstallationSays) {
  BuildOptions options;
  options.sidecar_memory_limit = "256Mi";
  const json spec =
      build_pod(job_from("            resources: {limits: {memory: 4Gi, cpu: 2}}\n"), 0, options)["spec"];
  EXPECT_EQ(by_name(spec["initContainers"], "elastic-mpi-sidecar")["resources"]["limits"],
            json({{"cpu", "500m"}, {"memory", "256Mi"}}));
}

TEST(Pod, PullsTheRuntimeWithTheInstallationsSecretsToo) {
  BuildOptions options;
  options.pull_secrets = {"registry", "mirror"};
  const ElasticMPIJob job = job_from("", "\n        imagePullSecrets: [{name: mirror}, {name: own}]\n");
  EXPECT_EQ(build_pod(job, 0)["spec"]["imagePullSecrets"],
            json::parse(R"([{"name": "mirror"}, {"name": "own"}])"));
  EXPECT_EQ(build_pod(job, 0, options)["spec"]["imagePullSecrets"],
            json::parse(R"([{"name": "mirror"}, {"name": "own"}, {"name": "registry"}])"));
  EXPECT_FALSE(build_pod(job_from(""), 0)["spec"].contains("imagePullSecrets"));
}

TEST(Pod, KeepsTogetherByTheTopologyOfTheJob) {
  const std::string rack = "  scheduling: {constraints: {topology: [{key: example.com/rack}]}}";
  const auto terms = [](const json& pod) {
    return pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  };
  const json pod = build_pod(job_from("", "", rack), 3);
  ASSERT_EQ(terms(pod).size(), 1u);
  EXPECT_EQ(terms(pod)[0]["topologyKey"], "example.com/rack");
  const json matched = terms(pod)[0]["labelSelector"]["matchLabels"];
  for (const auto& [name, value] : matched.items())
    EXPECT_EQ(pod["metadata"]["labels"][name], value) << "the first one must match its own term";
  const json beside = build_pod(job_from("", R"(
        affinity:
          podAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              - {labelSelector: {matchLabels: {app: db}}, topologyKey: zone}
)",
                                         rack),
                                0);
  ASSERT_EQ(terms(beside).size(), 2u) << "what the template asks for stays";
  EXPECT_EQ(terms(beside)[0]["topologyKey"], "zone");
  EXPECT_FALSE(build_pod(job_from(""), 0)["spec"].contains("affinity"));
}

TEST(Pod, KeepsWhatTheTemplateSays) {
  const json spec = build_pod(job_from("", R"(
        nodeSelector: {disk: ssd}
        terminationGracePeriodSeconds: 7
        securityContext: {runAsUser: 1234}
        tolerations:
          - {key: spot, operator: Exists}
          - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 5}
)"),
                              0)["spec"];
  EXPECT_EQ(spec["nodeSelector"]["disk"], "ssd");
  EXPECT_EQ(spec["terminationGracePeriodSeconds"], 7);
  EXPECT_EQ(spec["securityContext"]["runAsUser"], 1234);
  EXPECT_EQ(spec["securityContext"]["runAsNonRoot"], true);
  ASSERT_EQ(spec["tolerations"].size(), 3u);
  EXPECT_EQ(spec["tolerations"][1]["tolerationSeconds"], 5);
}

// OpenShift gives each namespace a range of users and refuses pods that name another one.
TEST(Pod, LeavesTheUserToThePlatformWhereAsked) {
  BuildOptions options;
  EXPECT_EQ(build_pod(job_from(""), 0, options)["spec"]["securityContext"]["runAsUser"], 65532);
  options.worker_user = 0;
  const json security = build_pod(job_from(""), 0, options)["spec"]["securityContext"];
  for (const char* field : {"runAsUser", "runAsGroup", "fsGroup"})
    EXPECT_FALSE(security.contains(field)) << field;
  EXPECT_EQ(security["runAsNonRoot"], true);
  options.worker_user = 1001;
  EXPECT_EQ(build_pod(job_from(""), 0, options)["spec"]["securityContext"]["fsGroup"], 1001);
}

TEST(Pod, OfARunThatHasBegunKeepsItsRuntimeImage) {
  ElasticMPIJob job = job_from("");
  BuildOptions options;
  options.runtime_image = "runtime:new";
  EXPECT_EQ(build_pod(job, 0, options)["spec"]["initContainers"][0]["image"], "runtime:new");
  job.status.runtime_image = "runtime:old";
  EXPECT_EQ(build_pod(job, 0, options)["spec"]["initContainers"][0]["image"], "runtime:old");
}

TEST(Pod, IsMadeForOtherNodesThanThoseThatWorkersWereLostWith) {
  const auto terms = [](const ElasticMPIJob& job) {
    return build_pod(job, 3)["spec"]["affinity"]["nodeAffinity"]
                            ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
  };
  const auto no = [](const char* node) -> json {  // the API server takes one name a line
    return {{"key", "metadata.name"}, {"operator", "NotIn"}, {"values", {node}}};
  };
  ElasticMPIJob job = job_from("");
  EXPECT_FALSE(build_pod(job, 3)["spec"].contains("affinity"));
  job.status.lost_nodes = {{"node-1", {}}, {"node-3", {}}};
  EXPECT_EQ(terms(job), json::array({{{"matchFields", {no("node-1"), no("node-3")}}}}));

  job = job_from(R"(
        affinity:
          podAntiAffinity: {}
          nodeAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms:
                - matchExpressions: [{key: disk, operator: In, values: [ssd]}]
                - {}
)");
  const json before = terms(job);
  job.status.lost_nodes = {{"node-3", {}}};
  ASSERT_EQ(terms(job).size(), 2u);
  EXPECT_EQ(terms(job)[0]["matchExpressions"], before[0]["matchExpressions"]);
  EXPECT_EQ(terms(job)[0]["matchFields"], json::array({no("node-3")}));
  EXPECT_EQ(terms(job)[1], json::object()) << "which means no node at all";
  EXPECT_TRUE(build_pod(job, 3)["spec"]["affinity"].contains("podAntiAffinity"));
}

TEST(Pod, NeverRestartsInPlaceAndHasTimeToLeave) {
  const json spec = build_pod(job_from("", "", "  resize: {prepareTimeoutSeconds: 100}"), 0)["spec"];
  EXPECT_EQ(spec["restartPolicy"], "Never");
  EXPECT_GE(spec["terminationGracePeriodSeconds"].get<int>(), 100);
}

TEST(Pod, TakesThePriorityClass) {
  const json spec = build_pod(job_from("", "", "  scheduling: {priorityClassName: low}"), 0)["spec"];
  EXPECT_EQ(spec["priorityClassName"], "low");
}

TEST(Pod, OfARunWithCertificatesMountsItsOwn) {
  ElasticMPIJob job = job_from("");
  EXPECT_EQ(build_pod(job, 7).dump().find("tls"), std::string::npos);
  job.status.mutual_tls = true;
  const json pod = build_pod(job, 207);
  const json volume = by_name(pod["spec"]["volumes"], "elastic-mpi-tls")["secret"];
  EXPECT_EQ(volume["secretName"], "demo-tls-1");
  EXPECT_EQ(volume["defaultMode"], 0440);
  EXPECT_EQ(volume["items"], json::parse(R"([{"key": "worker-207.pem", "path": "identity.pem"},
                                             {"key": "authorities.pem", "path": "authorities.pem"}])"));
  const json worker = pod["spec"]["containers"][0], sidecar = pod["spec"]["initContainers"][0];
  for (const json& container : {worker, sidecar}) {
    const json folder = variable(container, empi::names::kTlsDir)["value"];
    EXPECT_EQ(by_name(container["volumeMounts"], "elastic-mpi-tls")["mountPath"], folder);
  }
  EXPECT_EQ(worker["readinessProbe"]["httpGet"]["scheme"], "HTTPS");
  EXPECT_EQ(variable(sidecar, empi::names::kReportPort)["value"], std::to_string(kReportPort));
  EXPECT_EQ(sidecar["livenessProbe"]["httpGet"].contains("scheme"), false)
      << "the sidecar's own port stays plain";
}

}  // namespace
}  // namespace emj
