// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/pod_view.hpp"

#include <nlohmann/json.hpp>

#include "operator/agents/convert.hpp"
#include "operator/api/json_member.hpp"
#include "operator/objects/pods.hpp"

namespace emj::manager {
namespace {

using nlohmann::json;

PodPhase phase_from(const std::string& phase) {
  if (phase == "Pending") return PodPhase::Pending;
  if (phase == "Running") return PodPhase::Running;
  if (phase == "Succeeded") return PodPhase::Succeeded;
  if (phase == "Failed") return PodPhase::Failed;
  return PodPhase::Unknown;
}

const json& named(const json& list, const char* key, const std::string& value) {
  static const json none;
  for (const json& entry : list)
    if (text(entry, key) == value) return entry;
  return none;
}

std::string reason_and_message(const json& object) {
  const std::string reason = text(object, "reason"), message = text(object, "message");
  return reason.empty() || message.empty() ? reason + message : reason + ": " + message;
}

// Why a pod that has not started yet waits: its image, its volumes, or no room on any node.
std::string why_waiting(const json& status) {
  for (const char* list : {"initContainerStatuses", "containerStatuses"})
    for (const json& container : member(status, list)) {
      const json& waiting = member(member(container, "state"), "waiting");
      const std::string reason = text(waiting, "reason");
      if (!reason.empty() && reason != "PodInitializing" && reason != "ContainerCreating")
        return reason_and_message(waiting);
    }
  const json& scheduled = named(member(status, "conditions"), "type", "PodScheduled");
  return text(scheduled, "status") == "False" ? reason_and_message(scheduled) : std::string();
}

// A container's status as far as it waits or has ended; null while it runs.
json not_running(const json& container) {
  const json& state = member(container, "state");
  json brief;
  for (const char* name : {"waiting", "terminated"})
    if (const json& what = member(state, name); what.is_object())
      brief["state"][name] = only(what, {"exitCode", "reason", "message"});
  if (!brief.is_null()) brief["name"] = text(container, "name");
  return brief;
}

const json& exit_code_of_worker(const json& pod) {
  const json& worker = named(member(member(pod, "status"), "containerStatuses"), "name", "worker");
  return member(member(member(worker, "state"), "terminated"), "exitCode");
}

}  // namespace

bool worker_has_ended(const json& pod) {
  const PodPhase phase = phase_from(text(member(pod, "status"), "phase"));
  return phase == PodPhase::Succeeded || phase == PodPhase::Failed ||
         exit_code_of_worker(pod).is_number_integer();
}

PodView to_pod_view(const json& pod, const std::string& job) {
  const json& metadata = member(pod, "metadata");
  const json& status = member(pod, "status");
  const json& conditions = member(status, "conditions");
  PodView view;
  view.name = text(metadata, "name");
  view.uid = text(metadata, "uid");
  view.index = worker_index(job, view.name).value_or(-1);
  view.queue = text(member(metadata, "labels"), kLabelQueue);
  view.pool = text(member(metadata, "labels"), kLabelPool);
  view.node = text(member(pod, "spec"), "nodeName");
  view.phase = phase_from(text(status, "phase"));
  view.ip = text(status, "podIP");
  view.terminating = !text(metadata, "deletionTimestamp").empty();
  view.ready = text(named(conditions, "type", "Ready"), "status") == "True";
  view.disruption_target = text(named(conditions, "type", "DisruptionTarget"), "status") == "True";
  view.runtime_image =
      text(named(member(member(pod, "spec"), "initContainers"), "name", kSidecarName), "image");
  const json& scheduled = named(conditions, "type", "PodScheduled");
  // Not of a pod with a scheduling gate: that waits for whoever has put it there.
  if (text(scheduled, "status") == "False" && text(scheduled, "reason") == "Unschedulable")
    view.unschedulable_since = parse_time(text(scheduled, "lastTransitionTime"));
  view.message = view.phase == PodPhase::Pending ? why_waiting(status) : reason_and_message(status);

  const json& worker = named(member(status, "containerStatuses"), "name", "worker");
  const json& ended = member(member(worker, "state"), "terminated");
  const json& exit_code = exit_code_of_worker(pod);
  if (exit_code.is_number_integer()) {
    view.exit_code = exit_code.get<int>();
    view.phase = *view.exit_code == 0 ? PodPhase::Succeeded : PodPhase::Failed;
    const std::string message = text(ended, "message");
    Termination last_words = read_termination(message);
    view.message = message.empty() ? reason_and_message(ended) : std::move(last_words.text);
    view.last_change = std::move(last_words.last_change);
    view.program_succeeded = last_words.program_succeeded;
    view.ready = false;
  }
  return view;
}

void reduce_pod(json& pod) {
  const json& metadata = member(pod, "metadata");
  json kept = only(metadata, {"name", "namespace", "uid", "resourceVersion", "deletionTimestamp"});
  kept["labels"] = only(member(metadata, "labels"), {kLabelJob, kLabelQueue, kLabelPool});
  for (const json& owner : member(metadata, "ownerReferences"))
    if (member(owner, "controller") == true)
      kept["ownerReferences"].push_back(only(owner, {"uid", "kind", "controller"}));

  const json& status = member(pod, "status");
  json state = only(status, {"phase", "podIP", "reason", "message"});
  for (const json& condition : member(status, "conditions")) {
    const std::string type = text(condition, "type");
    if (type == "Ready" || type == "DisruptionTarget" || type == "PodScheduled")
      state["conditions"].push_back(
          only(condition, {"type", "status", "reason", "message", "lastTransitionTime"}));
  }
  for (const char* list : {"initContainerStatuses", "containerStatuses"})
    for (const json& container : member(status, list))
      if (json brief = not_running(container); !brief.is_null()) state[list].push_back(std::move(brief));
  json containers = json::array();
  if (const json& sidecar = named(member(member(pod, "spec"), "initContainers"), "name", kSidecarName);
      sidecar.is_object())
    containers.push_back(only(sidecar, {"name", "image"}));
  json spec = only(member(pod, "spec"), {"nodeName"});
  spec["initContainers"] = std::move(containers);
  pod = {{"metadata", std::move(kept)}, {"spec", std::move(spec)}, {"status", std::move(state)}};
}

void reduce_job(json& job) {
  if (json& metadata = job["metadata"]; metadata.is_object()) metadata.erase("managedFields");
}

}  // namespace emj::manager
