// SPDX-License-Identifier: Apache-2.0
// Manifests with any JSON in any field that a user may write: each is refused in words or runs, and none ends
// the operator.

#include <gtest/gtest.h>

#include "operator/api/parse.hpp"
#include "operator/api/testing/random_json.hpp"
#include "operator/controller/testing/memory_job.hpp"
#include "runtime/base/json_text.hpp"

namespace emj {
namespace {

using nlohmann::json;
using testing::ControllerTest;
using testing::RandomJson;

const json manifest = json::parse(R"({
  "apiVersion": "elasticmpi.io/v1alpha1", "kind": "ElasticMPIJob",
  "metadata": {"name": "demo", "namespace": "default", "uid": "job-uid", "resourceVersion": "5",
               "labels": {"a": "b"}, "annotations": {"c": "d"}},
  "spec": {
    "slotsPerWorker": 2, "suspend": false,
    "worker": {"replicas": 2, "minReplicas": 1, "maxReplicas": 4, "template": {
      "metadata": {"labels": {"team": "waves"}, "annotations": {"note": "x"}},
      "spec": {
        "restartPolicy": "Never", "nodeSelector": {"disk": "ssd"}, "priorityClassName": "low",
        "tolerations": [{"key": "spot", "operator": "Exists"}],
        "initContainers": [{"name": "fetch", "image": "i"}],
        "volumes": [{"name": "v", "emptyDir": {}}],
        "securityContext": {"runAsUser": 1, "seccompProfile": {"type": "RuntimeDefault"}},
        "imagePullSecrets": [{"name": "s"}], "affinity": {"nodeAffinity": {}},
        "terminationGracePeriodSeconds": 7, "hostname": "h", "subdomain": "s",
        "containers": [{
          "name": "worker", "image": "i", "command": ["program"], "args": ["a"], "workingDir": "/",
          "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "f"}}}],
          "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
          "volumeMounts": [{"name": "v", "mountPath": "/v"}], "ports": [{"containerPort": 1}],
          "securityContext": {"capabilities": {"drop": ["ALL"]}}}]}}},
    "resize": {"allowedReplicas": [1, 2, 4], "stepSize": 1, "joinTimeoutSeconds": 10},
    "autoscaling": {"mode": "Auto", "policy": {"name": "threshold", "threshold": {"lowPercent": 5}}},
    "runPolicy": {"backoffLimit": 1, "activeDeadlineSeconds": 100},
    "scheduling": {"priorityClassName": "low"}, "network": {"policy": "None"}},
  "status": {"state": "Running", "epoch": 1, "activeWorkers": "0-1",
             "conditions": [{"type": "Running", "status": "True"}],
             "resize": {"id": "change-1", "from": 2, "to": 3, "phase": "CreatingPods", "add": "2"}}
})");

TEST(MalformedTemplate, WhatEndedTheOperatorIsAPodForTheServerToRefuse) {
  for (const char* spoiled :
       {R"({"spec": {"tolerations": ["gpu"]}})", R"({"spec": {"tolerations": [{"key": true}]}})",
        R"({"spec": {"tolerations": "gpu"}})", R"({"metadata": {"labels": []}})",
        R"({"metadata": {"labels": "x"}})"}) {
    SCOPED_TRACE(spoiled);
    json pod = manifest["spec"]["worker"]["template"];
    const json patch = json::parse(spoiled);
    for (const auto& [part, fields] : patch.items())
      for (const auto& [name, value] : fields.items()) pod[part][name] = value;
    json object = manifest;
    object["spec"]["worker"]["template"] = pod;
    const auto refused = parse_json(object);
    EXPECT_FALSE(refused.ok()) << "said before a pod is built";
    ElasticMPIJob job = parse_json(manifest).value();
    job.spec.worker.pod.document = pod.dump();
    const json built = build_pod(job, 0);
    const auto part = patch.begin();
    const auto field = part->begin();
    const json &kept = built.at(part.key()).at(field.key()), &value = *field;
    EXPECT_EQ(value.is_array() && !value.empty() ? kept[0] : kept,
              value.is_array() && !value.empty() ? value[0] : value)
        << "left for the server to refuse";
  }
}

TEST(MalformedTemplate, AnyJsonInAnyFieldMakesAPod) {
  ElasticMPIJob job = parse_json(manifest).value();
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    RandomJson random(seed);
    json document = manifest["spec"]["worker"]["template"];
    for (int i = random.number(3); i >= 0; --i) random.spoil(document);
    job.spec.worker.pod.document = empi::json_text::text(document);
    EXPECT_EQ(build_pod(job, 3)["metadata"]["name"], "demo-w-3");
  }
}

class Malformed : public ControllerTest {};

TEST_F(Malformed, EveryManifestIsRefusedInWordsOrRuns) {
  int refused = 0, runs = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    RandomJson random(seed);
    json object = manifest;
    if (seed % 2) object.erase("status");  // then its pods are made
    json& spoiled = seed % 3 == 0   ? object
                    : seed % 3 == 1 ? object["spec"]
                                    : object["spec"]["worker"]["template"];
    for (int i = random.number(2); i >= 0; --i) random.spoil(spoiled);
    const Result<ElasticMPIJob> job = parse_json(object, "demo");
    if (!job) {
      ++refused;
      EXPECT_FALSE(job.message().empty());
      continue;
    }
    ++runs;
    cluster.record = JobRecord{job.value()};
    cluster.pods.clear();
    runtime.view = {};
    for (int i = 0; i < 3; ++i) {
      const ReconcileResult result = pass();
      EXPECT_FALSE(result.failed);
      make_pods_ready();
      if (!cluster.record) break;
    }
  }
  EXPECT_GT(refused, 50) << "the manifests are spoiled enough to show something";
  EXPECT_GT(runs, 50);
}

// A server keeps what can be read. Cut within a character, what was read was never what was decided.
TEST_F(ControllerTest, AMessageThatIsTooLongIsWrittenOnce) {
  const auto kept_by_the_server = [&] {
    JobStatus& status = cluster.record->job.status;
    const auto text = empi::json_text::safe_text(status_to_json(status));
    status = parse_status(empi::json_text::parse(text)).value();
  };
  for (const std::string& quota : {"exceeded" + std::string(2000, '-'), std::string("not \xe2 text")}) {
    for (std::size_t shift = 0; shift < 3; ++shift) {
      cluster.quota = quota.substr(shift);
      for (std::size_t at = 0; (at = cluster.quota.find('-', at)) != std::string::npos; at += 3)
        cluster.quota.replace(at, 1, "\u20ac");
      for (int i = 0; i < 3; ++i) {
        pass();
        kept_by_the_server();
      }
      cluster.calls.clear();
      pass();
      EXPECT_EQ(std::ranges::count(cluster.calls, "status"), 0) << "after " << shift;
    }
  }
}

}  // namespace
}  // namespace emj
