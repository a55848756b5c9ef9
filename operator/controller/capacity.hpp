// SPDX-License-Identifier: Apache-2.0
// What the pools of queues have to give. Pure.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "operator/controller/queue_cluster.hpp"
#include "operator/decide/queue/state.hpp"

namespace emj {

struct PoolRoom {
  queue::Pool pool;
  int nodes = 0;
  queue::Resources foreign{};
  queue::Resources unplaceable{};
  bool overlaps = false;    // some of its nodes count for a pool before it
  bool unreadable = false;  // it goes by nodes, and these cannot be read
};

// In the order of the spec's pools. A node counts for the first pool that it matches; `taken` has the names
// of those that count already, and gets this queue's. `name`: the queue's, whose own workers are not foreign.
std::vector<PoolRoom> rooms_of(const QueueSpec& spec, const std::optional<std::vector<NodeView>>& nodes,
                               const std::vector<ForeignPod>& foreign, std::set<std::string>& taken,
                               const std::string& name = {});

// What it leaves, with what it does not bound as very much (rule Q30).
queue::Quota left_of(const NamespaceQuota& quota);
// Whether it counts pods of this PriorityClass in this namespace.
bool counts_pods(const NamespaceQuota& quota, const std::string& namespace_name,
                 const std::string& priority_class);

}  // namespace emj
