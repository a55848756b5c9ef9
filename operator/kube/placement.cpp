// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/placement.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "operator/kube/json_member.hpp"
#include "operator/kube/queue_objects.hpp"

namespace emj::manager {
namespace {

using nlohmann::json;
using queue::Resources;

constexpr const char* kKept = "placement";

Requests requests_of(const json& container) {
  const json& requests = member(member(container, "resources"), "requests");
  return {resources_of(requests), devices_of(requests)};
}

Requests larger(const Requests& a, const Requests& b) {
  Requests most{queue::larger(a.plain, b.plain), a.devices};
  for (const auto& [name, count] : b.devices) most.devices[name] = std::max(most.devices[name], count);
  return most;
}

}  // namespace

Requests& Requests::operator+=(const Requests& other) {
  plain += other.plain;
  for (const auto& [name, count] : other.devices) devices[name] += count;
  return *this;
}

Requests& Requests::operator-=(const Requests& other) {
  plain -= other.plain;
  for (const auto& [name, count] : other.devices) {
    devices[name] -= count;
    if (devices[name] == 0) devices.erase(name);
  }
  return *this;
}

queue::Resources Requests::counted() const {
  Resources all = plain;
  all.devices = queue::counted(devices);
  return all;
}

// As Kubernetes' scheduler counts: init containers run one after the other, and those that are sidecars stay.
std::optional<Placement> placement_of(const json& pod) {
  const json& spec = member(pod, "spec");
  const std::string node = text(spec, "nodeName"), phase = text(member(pod, "status"), "phase");
  if (node.empty() || phase == "Succeeded" || phase == "Failed") return std::nullopt;
  Requests running, most;
  for (const json& container : member(spec, "initContainers")) {
    Requests meanwhile = running;
    meanwhile += requests_of(container);
    if (text(container, "restartPolicy") == "Always") running = meanwhile;
    most = larger(most, meanwhile);
  }
  for (const json& container : member(spec, "containers")) running += requests_of(container);
  Requests requests = larger(most, running);
  const json& of_pod = member(member(spec, "resources"), "requests");
  if (of_pod.contains("cpu")) requests.plain.milli_cpu = resources_of(of_pod).milli_cpu;
  if (of_pod.contains("memory")) requests.plain.memory_mib = resources_of(of_pod).memory_mib;
  requests.plain += resources_of(member(spec, "overhead"));
  return Placement{node, std::move(requests)};
}

void keep_placement(json& reduced, const std::optional<Placement>& placement) {
  if (placement)
    reduced[kKept] = json::array({placement->node, placement->requests.plain.milli_cpu,
                                  placement->requests.plain.memory_mib, placement->requests.devices});
}

std::optional<Placement> kept_placement(const json& reduced) {
  const json& kept = member(reduced, kKept);
  if (!kept.is_array()) return std::nullopt;
  return Placement{kept[0], {{kept[1], kept[2]}, kept[3].get<queue::Devices>()}};
}

}  // namespace emj::manager
