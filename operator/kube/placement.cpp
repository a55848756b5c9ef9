// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/placement.hpp"

#include <nlohmann/json.hpp>

#include "operator/api/json_member.hpp"

namespace emj::manager {
namespace {

using nlohmann::json;

constexpr const char* kKept = "placement";

}  // namespace

std::optional<Placement> placement_of(const json& pod) {
  const json& spec = member(pod, "spec");
  const std::string node = text(spec, "nodeName"), phase = text(member(pod, "status"), "phase");
  if (node.empty() || phase == "Succeeded" || phase == "Failed") return std::nullopt;
  return Placement{node, queue::requests_of_pod(spec)};
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
