// SPDX-License-Identifier: Apache-2.0
// What a queue counts a job for is what its pods then take of their nodes.
#include "operator/kube/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "operator/api/parse.hpp"
#include "operator/decide/queue/job_demand.hpp"
#include "operator/objects/pods.hpp"
#include "runtime/base/testing/places.hpp"

namespace emj::manager {
namespace {

using queue::Resources;

const Resources kSidecar{kSidecarMilliCpu, kSidecarMemoryMib};

ElasticMPIJob job_of(const std::string& text, const std::string& from) {
  auto read = parse_yaml(text, from);
  EXPECT_TRUE(read.ok()) << read.message();
  return read.value();
}

// Of a pod with this in its template's spec, and this in that of its container.
ElasticMPIJob job_with(const std::string& pod, const std::string& container) {
  return job_of(
      "apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticMPIJob\nmetadata: {name: demo, uid: u}\nspec:\n"
      "  slotsPerWorker: 2\n  worker:\n    minReplicas: 1\n    maxReplicas: 2\n    template:\n      spec:\n"
      "        containers: [{name: worker, command: [p]" +
          container + "}]\n" + pod,
      "job.yaml");
}

Requests taken_by_pod_of(const ElasticMPIJob& job) {
  nlohmann::json pod = build_pod(job, 0);
  pod["spec"]["nodeName"] = "n1";
  return placement_of(pod).value().requests;
}

Requests counted_for(const ElasticMPIJob& job) {
  const queue::WorkerNeeds needs = queue::needs_of(job.spec);
  return {needs.shape + kSidecar, needs.devices};
}

TEST(Placement, AWorkerTakesWhatItsJobIsCountedFor) {
  for (const auto& [pod, container] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", ""},
           {"", ", resources: {requests: {cpu: 300m, memory: 1Gi}}"},
           {"", ", resources: {limits: {cpu: 3, memory: 1Gi, example.com/gpu: 2}}"},
           {"", ", resources: {requests: {memory: 1Gi}, limits: {cpu: 1500m}}"},
           {"        initContainers: [{name: logs, image: i, restartPolicy: Always, resources: {requests: "
            "{cpu: 1, memory: 64Mi}}}]\n",
            ""},
           {"        initContainers: [{name: stage, image: i, resources: {requests: {cpu: 6}}}]\n", ""},
           {"        overhead: {cpu: 250m, memory: 120Mi}\n", ", resources: {requests: {cpu: 1}}"}}) {
    const ElasticMPIJob job = job_with(pod, container);
    const Requests taken = taken_by_pod_of(job), counted = counted_for(job);
    EXPECT_EQ(taken.devices, counted.devices) << pod << container;
    EXPECT_EQ(taken.plain.memory_mib, counted.plain.memory_mib) << pod << container;
    // What starts before the sidecar's work is done may take more than both.
    EXPECT_LE(taken.plain.milli_cpu, counted.plain.milli_cpu) << pod << container;
    EXPECT_GE(taken.plain.milli_cpu, counted.plain.milli_cpu - kSidecarMilliCpu) << pod << container;
  }
}

TEST(Placement, WhatAPodSaysOfItselfAsAWholeIsWhatItTakes) {
  const ElasticMPIJob job = job_with("        resources: {requests: {cpu: 4, memory: 2Gi}}\n",
                                     ", resources: {requests: {cpu: 1m}}");
  EXPECT_EQ(taken_by_pod_of(job).plain, (Resources{4000, 2048}));
  EXPECT_EQ(queue::needs_of(job.spec).shape, (Resources{4000, 2048}));
  const ElasticMPIJob half = job_with("        resources: {requests: {cpu: 500m}}\n", "");
  EXPECT_EQ(queue::needs_of(half.spec).shape.milli_cpu, 500);
  EXPECT_FALSE(build_pod(half, 0)["spec"]["containers"][0]["resources"].contains("requests"))
      << "its container may not ask for more than the pod";
}

TEST(Placement, OfWhateverManifestIsGood) {
  for (const auto& entry :
       std::filesystem::directory_iterator(empi::testing::of_checkout("crds/corpus/good"))) {
    std::ifstream file(entry.path());
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const ElasticMPIJob job = job_of(text, entry.path());
    EXPECT_EQ(taken_by_pod_of(job), counted_for(job)) << entry.path();
  }
}

}  // namespace
}  // namespace emj::manager
