// SPDX-License-Identifier: Apache-2.0
#include "operator/controller/capacity.hpp"

#include <algorithm>
#include <cmath>

namespace emj {
namespace {

using queue::Resources;

constexpr std::int64_t kNotCounted = std::int64_t{1} << 50;  // MiB: more than anybody asks for

std::int64_t milli(const Quantity& quantity) {
  return std::llround(std::floor(amount(quantity) * 1000 + 1e-6));
}
std::int64_t mebi(const Quantity& quantity) { return std::llround(std::floor(amount(quantity) / (1 << 20))); }

Resources limit_of(const Amounts& quota) {
  return {quota.cpu ? milli(*quota.cpu) : kNotCounted, quota.memory ? mebi(*quota.memory) : kNotCounted};
}

bool matches(const NodeView& node, const PoolSpec& pool) {
  return std::ranges::all_of(pool.node_selector, [&](const auto& label) {
    const auto found = node.labels.find(label.first);
    return found != node.labels.end() && found->second == label.second;
  });
}

void count_nodes(PoolRoom& room, const PoolSpec& pool, const std::vector<NodeView>& nodes,
                 const std::vector<ForeignPod>& foreign, std::set<std::string>& taken) {
  std::set<std::string> own;
  for (const NodeView& node : nodes) {
    if (!node.usable || !matches(node, pool)) continue;
    if (!taken.insert(node.name).second) {
      room.overlaps = true;
      continue;
    }
    own.insert(node.name);
    ++room.nodes;
    room.pool.capacity += node.allocatable;
  }
  for (const ForeignPod& pod : foreign) {
    if (!own.contains(pod.node)) continue;
    room.pool.capacity -= pod.requests;
    room.foreign_milli_cpu += pod.requests.milli_cpu;
  }
}

}  // namespace

std::vector<PoolRoom> rooms_of(const QueueSpec& spec, const std::optional<std::vector<NodeView>>& nodes,
                               const std::vector<ForeignPod>& foreign, std::set<std::string>& taken) {
  std::vector<PoolRoom> rooms;
  for (const PoolSpec& pool : spec.pools) {
    PoolRoom room;
    room.pool.name = pool.name;
    room.pool.capacity = limit_of(pool.quota);
    if (pool.capacity == PoolCapacity::Nodes) {
      const Resources bound = room.pool.capacity;
      room.pool.capacity = {};
      room.unreadable = !nodes;
      if (nodes) count_nodes(room, pool, *nodes, foreign, taken);
      room.pool.capacity = smaller(room.pool.capacity, bound);
    }
    room.pool.capacity -= {pool.headroom.cpu ? milli(*pool.headroom.cpu) : 0,
                           pool.headroom.memory ? mebi(*pool.headroom.memory) : 0};
    room.pool.capacity = queue::positive(room.pool.capacity);
    rooms.push_back(std::move(room));
  }
  return rooms;
}

int quota_room(const std::vector<NamespaceQuota>& quotas, const std::string& namespace_name,
               const Resources& worker) {
  std::int64_t room = 1'000'000;
  const auto bound = [&room](const std::optional<std::int64_t>& left, std::int64_t each) {
    if (left && each > 0) room = std::min(room, std::max<std::int64_t>(0, *left) / each);
  };
  for (const NamespaceQuota& quota : quotas) {
    if (quota.namespace_name != namespace_name) continue;
    bound(quota.milli_cpu_left, worker.milli_cpu);
    bound(quota.memory_mib_left, worker.memory_mib);
    bound(quota.pods_left, 1);
  }
  return static_cast<int>(room);
}

}  // namespace emj
