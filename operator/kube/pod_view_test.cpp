// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/pod_view.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "operator/kube/resource.hpp"

namespace emj::manager {
namespace {

using nlohmann::json;

json running_pod() {
  return json::parse(R"({
    "metadata": {"name": "demo-w-3", "uid": "u3", "namespace": "default",
                 "managedFields": [{"manager": "kubelet"}], "ownerReferences": [{"uid": "job", "controller": true}]},
    "spec": {"nodeName": "n1", "containers": [{"name": "worker", "image": "i"}],
             "initContainers": [{"name": "mine", "image": "m"}, {"name": "elastic-mpi-sidecar", "image": "runtime:1"}]},
    "status": {"phase": "Running", "podIP": "10.89.1.7",
               "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}],
               "containerStatuses": [{"name": "worker", "state": {"running": {}}}]}})");
}

json ended(int code, const std::string& message) {
  json pod = running_pod();
  json& state = pod["status"]["containerStatuses"][0]["state"];
  state = {{"terminated", {{"exitCode", code}, {"reason", "Error"}, {"message", message}}}};
  return pod;
}

TEST(ToPodView, ARunningWorker) {
  const PodView view = to_pod_view(running_pod(), "demo");
  EXPECT_EQ(view.name, "demo-w-3");
  EXPECT_EQ(view.uid, "u3");
  EXPECT_EQ(view.index, 3);
  EXPECT_EQ(view.phase, PodPhase::Running);
  EXPECT_EQ(view.ip, "10.89.1.7");
  EXPECT_EQ(view.runtime_image, "runtime:1");
  EXPECT_EQ(view.node, "n1");
  EXPECT_TRUE(view.ready);
  EXPECT_FALSE(view.terminating || view.disruption_target || view.exit_code);
}

TEST(ToPodView, AnEndedWorkerHasEndedThoughItsSidecarRuns) {
  const PodView failed =
      to_pod_view(ended(139, R"({"result":"failed","reason":"rank 1 was killed by signal 11","exitCode":139,
                                "tail":["boom"]})"),
                  "demo");
  EXPECT_EQ(failed.phase, PodPhase::Failed);
  EXPECT_EQ(failed.exit_code, 139);
  EXPECT_EQ(failed.message, "rank 1 was killed by signal 11\nboom");
  EXPECT_FALSE(failed.ready);
  EXPECT_EQ(to_pod_view(ended(0, ""), "demo").phase, PodPhase::Succeeded);
}

TEST(ToPodView, DeletionAndDisruptionAreSeenBeforeThePodGoes) {
  json pod = running_pod();
  pod["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z";
  pod["status"]["conditions"].push_back({{"type", "DisruptionTarget"}, {"status", "True"}});
  const PodView view = to_pod_view(pod, "demo");
  EXPECT_TRUE(view.terminating);
  EXPECT_TRUE(view.disruption_target);
}

TEST(ToPodView, SaysWhyAPodWaits) {
  json pod = running_pod();
  pod["status"] = json::parse(R"({"phase": "Pending", "conditions": [
      {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes: Insufficient cpu"}]})");
  EXPECT_EQ(to_pod_view(pod, "demo").message, "Unschedulable: 0/3 nodes: Insufficient cpu");
  pod["status"] = json::parse(R"({"phase": "Pending", "containerStatuses": [
      {"name": "worker", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]})");
  EXPECT_EQ(to_pod_view(pod, "demo").message, "ImagePullBackOff: no such image");
  pod["status"] =
      json::parse(R"({"phase": "Failed", "reason": "Evicted", "message": "node was low on memory"})");
  EXPECT_EQ(to_pod_view(pod, "demo").message, "Evicted: node was low on memory");
  EXPECT_EQ(to_pod_view(pod, "demo").phase, PodPhase::Failed);
}

TEST(ToPodView, TakesNothingForGranted) {
  EXPECT_EQ(to_pod_view(json::object(), "demo").phase, PodPhase::Unknown);
  EXPECT_EQ(to_pod_view(json::parse(R"({"metadata": 3, "status": [1]})"), "demo").index, -1);
  EXPECT_EQ(to_pod_view(running_pod(), "other").index, -1);
}

auto all_of(const PodView& view) {
  return std::tuple(view.name, view.uid, view.index, view.phase, view.ip, view.ready, view.terminating,
                    view.disruption_target, view.exit_code, view.message, view.runtime_image, view.node);
}

TEST(ReducePod, KeepsWhatIsRead) {
  std::vector<json> pods = {running_pod(), ended(139, "boom"), ended(0, "")};
  pods.push_back(running_pod());
  pods.back()["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z";
  pods.back()["status"]["conditions"].push_back({{"type", "DisruptionTarget"}, {"status", "True"}});
  for (const char* status :
       {R"({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}]})",
        R"({"phase": "Pending", "initContainerStatuses": [
            {"name": "install", "state": {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}}]})",
        R"({"phase": "Failed", "reason": "Evicted", "message": "node was low on memory"})"}) {
    pods.push_back(running_pod());
    pods.back()["status"] = json::parse(status);
  }
  for (const json& pod : pods) {
    json reduced = pod;
    reduce_pod(reduced);
    EXPECT_EQ(all_of(to_pod_view(reduced, "demo")), all_of(to_pod_view(pod, "demo"))) << pod;
  }
}

TEST(ReducePod, KeepsWhatCachesGoBy) {
  json pod = running_pod();
  pod["metadata"]["resourceVersion"] = "17";
  pod["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z";
  pod["metadata"]["labels"] = {{kLabelJob, "demo"}, {kLabelRole, "worker"}};
  pod["metadata"]["ownerReferences"].push_back({{"uid", "another"}});
  reduce_pod(pod);
  EXPECT_EQ(kube::to_string(kube::key_of(pod)), "default/demo-w-3");
  EXPECT_EQ(kube::uid_of(pod), "u3");
  EXPECT_EQ(kube::resource_version_of(pod), "17");
  EXPECT_EQ(kube::controller_uid_of(pod), "job");
  EXPECT_TRUE(kube::is_being_deleted(pod));
  EXPECT_EQ(pod["metadata"]["labels"], (json{{kLabelJob, "demo"}}));
  EXPECT_FALSE(pod["spec"].contains("containers"));
}

}  // namespace
}  // namespace emj::manager
