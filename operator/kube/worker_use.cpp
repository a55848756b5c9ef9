// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/worker_use.hpp"

#include <nlohmann/json.hpp>

#include "operator/api/json_member.hpp"
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
  sums_.remove(pod);
  const kube::ObjectPtr object = read_(pod);
  if (const auto placement = object ? kept_placement(*object) : std::nullopt)
    sums_.set(pod, group_of(*object, placement->node), placement->requests);
}

void WorkerUse::each(const std::function<void(const WorkerGroup&, const Requests&)>& visit) const {
  const std::lock_guard lock(mutex_);
  sums_.each(visit);
}

}  // namespace emj::manager
