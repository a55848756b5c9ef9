// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/worker_use.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "operator/kube/json_member.hpp"
#include "operator/kube/pod_view.hpp"
#include "operator/objects/pods.hpp"

namespace emj::manager {
namespace {

using nlohmann::json;

std::string owning_job(const json& metadata) {
  for (const json& owner : member(metadata, "ownerReferences"))
    if (member(owner, "controller") == true && text(owner, "kind") == kJobKind) return text(owner, "uid");
  return {};
}

WorkerGroup group_of(const json& pod, const std::string& node) {
  const json& metadata = member(pod, "metadata");
  const json& labels = member(metadata, "labels");
  return {owning_job(metadata),
          text(metadata, "namespace"),
          text(labels, kLabelQueue),
          text(labels, kLabelPool),
          node,
          worker_has_ended(pod)};
}

}  // namespace

void WorkerUse::look_at(const kube::ObjectKey& pod) {
  const std::lock_guard lock(mutex_);
  if (const auto known = pods_.find(pod); known != pods_.end()) {
    const auto [sum, requests] = known->second;
    sum->second.requests -= requests;
    if (--sum->second.pods == 0) sums_.erase(sum);
    pods_.erase(known);
  }
  const kube::ObjectPtr object = read_(pod);
  const auto placement = object ? kept_placement(*object) : std::nullopt;
  if (!placement) return;
  const auto sum = sums_.try_emplace(group_of(*object, placement->node)).first;
  sum->second.requests += placement->requests;
  ++sum->second.pods;
  pods_.emplace(pod, std::pair(sum, placement->requests));
}

void WorkerUse::each(const std::function<void(const WorkerGroup&, const Requests&)>& visit) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [group, sum] : sums_) visit(group, sum.requests);
}

}  // namespace emj::manager
