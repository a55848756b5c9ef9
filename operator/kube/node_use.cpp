// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/node_use.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "operator/kube/json_member.hpp"
#include "operator/kube/queue_objects.hpp"

namespace emj::manager {
namespace {

using nlohmann::json;
using queue::Resources;

constexpr const char* kKept = "placement";

Resources requests_of(const json& container) {
  return resources_of(member(member(container, "resources"), "requests"));
}

}  // namespace

// As Kubernetes' scheduler counts: init containers run one after the other, and those that are sidecars stay.
std::optional<Placement> placement_of(const json& pod) {
  const json& spec = member(pod, "spec");
  const std::string node = text(spec, "nodeName"), phase = text(member(pod, "status"), "phase");
  if (node.empty() || phase == "Succeeded" || phase == "Failed") return std::nullopt;
  Resources running, most;
  for (const json& container : member(spec, "initContainers")) {
    const Resources requests = requests_of(container);
    if (text(container, "restartPolicy") == "Always") running += requests;
    most = larger(most, text(container, "restartPolicy") == "Always" ? running : running + requests);
  }
  for (const json& container : member(spec, "containers")) running += requests_of(container);
  Resources requests = larger(most, running);
  const json& of_pod = member(member(spec, "resources"), "requests");
  if (of_pod.contains("cpu")) requests.milli_cpu = resources_of(of_pod).milli_cpu;
  if (of_pod.contains("memory")) requests.memory_mib = resources_of(of_pod).memory_mib;
  return Placement{node, requests + resources_of(member(spec, "overhead"))};
}

void keep_placement(json& reduced, const std::optional<Placement>& placement) {
  if (placement)
    reduced[kKept] = {placement->node, placement->requests.milli_cpu, placement->requests.memory_mib,
                      placement->requests.devices};
}

std::optional<Placement> kept_placement(const json& reduced) {
  const json& kept = member(reduced, kKept);
  if (!kept.is_array()) return std::nullopt;
  return Placement{kept[0], {kept[1], kept[2], kept[3]}};
}

void NodeUse::take_out(const kube::ObjectKey& pod) {
  const auto known = pods_.find(pod);
  if (known == pods_.end()) return;
  const auto node = nodes_.find(known->second.node);
  node->second.requests -= known->second.requests;
  if (--node->second.pods == 0) nodes_.erase(node);
  pods_.erase(known);
}

void NodeUse::set(const kube::ObjectKey& pod, const std::optional<Placement>& placement) {
  const std::lock_guard lock(mutex_);
  take_out(pod);
  if (!placement) return;
  Sum& sum = nodes_[placement->node];
  sum.requests += placement->requests;
  ++sum.pods;
  pods_[pod] = *placement;
}

std::vector<ForeignPod> NodeUse::sums() const {
  const std::lock_guard lock(mutex_);
  std::vector<ForeignPod> sums;
  for (const auto& [node, sum] : nodes_) sums.push_back({node, sum.requests});
  return sums;
}

}  // namespace emj::manager
