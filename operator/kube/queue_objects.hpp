// SPDX-License-Identifier: Apache-2.0
// Nodes and ResourceQuotas as the scheduler of queues sees them, and what of them is kept for that. Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "operator/controller/queue_cluster.hpp"

namespace emj::manager {

NodeView to_node_view(const nlohmann::json& node);
void reduce_node(nlohmann::json& node);

// Nothing: it does not count workers, which have no deadline and do ask for something.
std::optional<NamespaceQuota> to_quota(const nlohmann::json& quota);
void reduce_quota(nlohmann::json& quota);

// What is kept of a worker where there are queues: reduce_pod(), and where it is.
void reduce_placed_pod(nlohmann::json& pod);
// Of a pod that is no worker: where it is.
void reduce_foreign_pod(nlohmann::json& pod);

}  // namespace emj::manager
