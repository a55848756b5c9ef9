// SPDX-License-Identifier: Apache-2.0
// Pods and jobs of the API server in the operator's terms. Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "operator/decide/decide.hpp"

namespace emj::manager {

// What decide() needs to know of a worker's pod. Fields that are absent or of another type count as unknown.
// A pod whose worker container has ended has ended, whatever its sidecar still does.
PodView to_pod_view(const nlohmann::json& pod, const std::string& job);
// The same of one that holds nothing of its queue any more.
bool worker_has_ended(const nlohmann::json& pod);

// Keeps what caches and to_pod_view() read of a pod, so that ten thousand fit into memory (about 4 KiB each).
void reduce_pod(nlohmann::json& pod);
void reduce_job(nlohmann::json& job);

}  // namespace emj::manager
