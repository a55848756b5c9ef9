#pragma once

// Pods and jobs of the API server in the operator's terms. Pure.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "operator/decide/decide.hpp"

namespace emj::manager {

// What decide() needs to know of a worker's pod. Fields that are absent or of another type count as unknown.
// A pod whose worker container has ended has ended, whatever its sidecar still does.
PodView to_pod_view(const nlohmann::json& pod, const std::string& job);

// Drops what nobody here reads, so that ten thousand pods fit into memory: managed fields, the spec but for
// the node's name, environment and images.
void reduce_pod(nlohmann::json& pod);
void reduce_job(nlohmann::json& job);

}  // namespace emj::manager
