// SPDX-License-Identifier: Apache-2.0
#include "operator/controller/capacity.hpp"

#include <algorithm>
#include <map>

#include "operator/decide/queue/job_demand.hpp"
#include "runtime/base/joined.hpp"
#include "runtime/base/text.hpp"

namespace emj {
namespace {

using queue::Resources;

std::int64_t milli(const Quantity& quantity) { return queue::rounded_down(amount(quantity) * 1000); }
std::int64_t mebi(const Quantity& quantity) { return queue::rounded_down(amount(quantity) / (1 << 20)); }

Resources limit_of(const Amounts& quota) {
  Resources limit = queue::everything(kNotCounted);
  if (quota.cpu) limit.milli_cpu = milli(*quota.cpu);
  if (quota.memory) limit.memory_mib = mebi(*quota.memory);
  return limit;
}

bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (toleration.op == "Exists") return toleration.key.empty() || toleration.key == taint.key;
  return toleration.key == taint.key && toleration.value == taint.value;
}

bool keeps_away(const Taint& taint, const PoolSpec& pool) {
  return taint.effect != "PreferNoSchedule" &&
         std::ranges::none_of(pool.tolerations, [&](const Toleration& t) { return tolerates(t, taint); });
}

bool has_labels(const NodeView& node, const PoolSpec& pool) {
  return std::ranges::all_of(pool.node_selector, [&](const auto& label) {
    const auto found = node.labels.find(label.first);
    return found != node.labels.end() && found->second == label.second;
  });
}

bool is_kept_away(const NodeView& node, const PoolSpec& pool) {
  return std::ranges::any_of(node.taints, [&](const Taint& taint) { return keeps_away(taint, pool); });
}

bool matches(const NodeView& node, const PoolSpec& pool) {
  return has_labels(node, pool) && !is_kept_away(node, pool);
}

// Of a pool that has no node: what those with its labels lack, or which labels there are in their place.
std::string no_nodes(const PoolSpec& pool, const std::vector<NodeView>& nodes) {
  int unusable = 0, tainted = 0;
  for (const NodeView& node : nodes)
    if (has_labels(node, pool)) ++(node.usable ? tainted : unusable);
  if (unusable + tainted > 0)
    return empi::format(
        "of those with its labels %d are not ready or cordoned, and %d have a taint that it does not "
        "tolerate, or count for another pool",
        unusable, tainted);
  std::string text;
  for (const auto& [label, wanted] : pool.node_selector) {
    std::map<std::string, int> values;
    for (const NodeView& node : nodes)
      if (const auto found = node.labels.find(label); found != node.labels.end()) ++values[found->second];
    if (values.contains(wanted)) continue;
    std::vector<std::string> there;
    for (const auto& [value, count] : values) there.push_back(value + empi::format(" (%d)", count));
    text += text.empty() ? "none has " : ", nor ";
    text += empi::format("%s=%s", label.c_str(), wanted.c_str());
    text +=
        there.empty() ? ", and none that label at all" : "; of that label there are " + empi::joined(there);
  }
  return text.empty() ? "none has all of its labels" : text;
}

// The queue's own workers count by their jobs, or as departing, for the pool that they are in: what of them
// is on nodes of another one takes room there that no job counts for.
bool counts_by_its_job(const ForeignPod& pod, const std::string& queue, const QueueSpec& spec,
                       const PoolSpec& pool) {
  if (pod.queue.empty() || pod.queue != queue) return false;
  if (!pod.namespace_name.empty() && !admits(spec, pod.namespace_name)) return false;
  return pod.pool.empty() || pod.pool == pool.name;
}

template <class CountsByItsJob>
void count_nodes(PoolRoom& room, const PoolSpec& pool, const std::vector<NodeView>& nodes,
                 const std::vector<ForeignPod>& foreign, CountsByItsJob counts_by_its_job,
                 std::set<std::string>& taken) {
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
    if (!own.contains(pod.node) || counts_by_its_job(pod)) continue;
    room.pool.capacity -= pod.requests;
    room.foreign += pod.requests;
  }
}

}  // namespace

std::vector<PoolRoom> rooms_of(const QueueSpec& spec, const std::optional<std::vector<NodeView>>& nodes,
                               const std::vector<ForeignPod>& foreign, std::set<std::string>& taken,
                               const std::string& name) {
  std::vector<PoolRoom> rooms;
  for (const PoolSpec& pool : spec.pools) {
    PoolRoom room;
    room.pool.name = pool.name;
    room.pool.capacity = limit_of(pool.quota);
    room.pool.speed = pool.speed_percent / 100.0;
    if (queue::has_prices(spec)) room.pool.price = amount(pool.price);
    room.pool.spot = pool.spot;
    if (pool.capacity == PoolCapacity::Nodes) {
      const Resources bound = room.pool.capacity;
      room.pool.capacity = {};
      room.unreadable = !nodes;
      const auto by_its_job = [&](const ForeignPod& pod) { return counts_by_its_job(pod, name, spec, pool); };
      if (nodes) count_nodes(room, pool, *nodes, foreign, by_its_job, taken);
      room.pool.without_nodes = nodes && room.nodes == 0;
      if (room.pool.without_nodes) room.pool.no_nodes = no_nodes(pool, *nodes);
      room.pool.capacity = smaller(room.pool.capacity, bound);
    }
    room.pool.capacity -= {pool.headroom.cpu ? milli(*pool.headroom.cpu) : 0,
                           pool.headroom.memory ? mebi(*pool.headroom.memory) : 0};
    room.pool.capacity = queue::positive(room.pool.capacity);
    rooms.push_back(std::move(room));
  }
  return rooms;
}

queue::Quota left_of(const NamespaceQuota& quota) {
  queue::Quota rest{quota.left, quota.pods_left.value_or(kNotCounted)};
  for (const auto& [name, count] : quota.devices_left)
    if (const auto place = queue::known_device(name)) rest.left.devices[*place] = count;
  return rest;
}

bool counts_pods(const NamespaceQuota& quota, const std::string& namespace_name,
                 const std::string& priority_class) {
  const auto& classes = quota.priority_classes;
  return quota.namespace_name == namespace_name &&
         (!classes || std::ranges::find(*classes, priority_class) != classes->end());
}

}  // namespace emj
