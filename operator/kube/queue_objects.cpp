// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/queue_objects.hpp"

#include <algorithm>
#include <cmath>

#include "operator/api/json_member.hpp"
#include "operator/api/requests.hpp"
#include "operator/kube/placement.hpp"
#include "operator/kube/pod_view.hpp"
#include "operator/objects/pods.hpp"

namespace emj::manager {
namespace {

using nlohmann::json;
using queue::rounded_down;
using queue::rounded_up;

constexpr double kMebi = 1 << 20;

// Of the names that one thing goes by: the least that is left, in units of `unit`.
std::optional<std::int64_t> left(const json& status, std::initializer_list<const char*> names, double unit) {
  std::optional<std::int64_t> least;
  for (const char* name : names) {
    const auto hard = amount_at(member(status, "hard"), name);
    if (!hard) continue;
    const double used = amount_at(member(status, "used"), name).value_or(0);
    const double there = (*hard - used) / unit;
    const std::int64_t rest = there < 0 ? -rounded_up(-there) : rounded_down(there);
    least = least ? std::min(*least, rest) : rest;
  }
  return least;
}

// Narrows `quota` to what a scope lets it count; false: no workers.
bool counts_workers(NamespaceQuota& quota, const std::string& scope, const std::string& operation,
                    const json& values) {
  if (scope == "NotTerminating" || scope == "NotBestEffort") return true;
  if (scope != "PriorityClass" || operation != "In") return false;  // Exists, NotIn: the server says
  auto& classes = quota.priority_classes.emplace();
  for (const json& value : values)
    if (value.is_string()) classes.push_back(value.get<std::string>());
  return true;
}

// As the watch of workers selects them: each pod counts in one of the two.
bool is_worker(const json& pod) {
  return text(member(member(pod, "metadata"), "labels"), kLabelRole) == "worker";
}

}  // namespace

NodeView to_node_view(const json& node) {
  const json& spec = member(node, "spec");
  const json& status = member(node, "status");
  NodeView view;
  view.name = text(member(node, "metadata"), "name");
  if (const json& labels = member(member(node, "metadata"), "labels"); labels.is_object())
    for (const auto& [label, value] : labels.items())
      if (value.is_string()) view.labels[label] = value.get<std::string>();
  const json& allocatable = member(status, "allocatable");
  view.allocatable = {rounded_down(amount_at(allocatable, "cpu").value_or(0) * 1000),
                      rounded_down(amount_at(allocatable, "memory").value_or(0) / kMebi),
                      {}};
  for (const auto& [name, count] : queue::requests_of_list(allocatable).devices)
    if (const auto place = queue::device_of_nodes(name)) view.allocatable.devices[*place] = count;
  for (const json& taint : member(spec, "taints"))
    view.taints.push_back({text(taint, "key"), text(taint, "value"), text(taint, "effect")});
  const json& conditions = member(status, "conditions");
  const bool ready = std::ranges::any_of(conditions, [](const json& condition) {
    return text(condition, "type") == "Ready" && text(condition, "status") == "True";
  });
  view.usable = ready && member(spec, "unschedulable") != true;
  return view;
}

void reduce_node(json& node) {
  json state = only(member(node, "status"), {"allocatable"});
  for (const json& condition : member(member(node, "status"), "conditions"))
    if (text(condition, "type") == "Ready")
      state["conditions"].push_back(only(condition, {"type", "status"}));
  node = {{"metadata", only(member(node, "metadata"), {"name", "uid", "resourceVersion", "labels"})},
          {"spec", only(member(node, "spec"), {"unschedulable", "taints"})},
          {"status", std::move(state)}};
}

std::optional<NamespaceQuota> to_quota(const json& object) {
  const json& spec = member(object, "spec");
  const json& status = member(object, "status");
  NamespaceQuota quota;
  quota.namespace_name = text(member(object, "metadata"), "namespace");
  quota.name = text(member(object, "metadata"), "name");
  for (const json& scope : member(spec, "scopes"))
    if (!scope.is_string() || !counts_workers(quota, scope.get<std::string>(), "", {})) return std::nullopt;
  for (const json& scope : member(member(spec, "scopeSelector"), "matchExpressions"))
    if (!counts_workers(quota, text(scope, "scopeName"), text(scope, "operator"), member(scope, "values")))
      return std::nullopt;
  quota.left.milli_cpu = left(status, {"requests.cpu", "cpu"}, .001).value_or(kNotCounted);
  quota.left.memory_mib = left(status, {"requests.memory", "memory"}, kMebi).value_or(kNotCounted);
  const std::string prefix = "requests.";
  for (const auto& [name, amount] : member(status, "hard").items())
    if (name.starts_with(prefix) && queue::is_device(name.substr(prefix.size())))
      quota.devices_left[name.substr(prefix.size())] = left(status, {name.c_str()}, 1).value_or(kNotCounted);
  quota.pods_left = left(status, {"pods", "count/pods"}, 1);
  return quota;
}

void reduce_quota(json& quota) {
  quota = {{"metadata", only(member(quota, "metadata"), {"name", "namespace", "uid", "resourceVersion"})},
           {"spec", only(member(quota, "spec"), {"scopes", "scopeSelector"})},
           {"status", only(member(quota, "status"), {"hard", "used"})}};
}

void reduce_placed_pod(json& pod) {
  const auto placement = is_worker(pod) ? placement_of(pod) : std::nullopt;
  reduce_pod(pod);
  keep_placement(pod, placement);
}

void reduce_foreign_pod(json& pod) {
  const auto placement = is_worker(pod) ? std::nullopt : placement_of(pod);
  pod = {{"metadata", only(member(pod, "metadata"), {"name", "namespace", "uid", "resourceVersion"})}};
  keep_placement(pod, placement);
}

}  // namespace emj::manager
