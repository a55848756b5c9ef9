// SPDX-License-Identifier: Apache-2.0
#include "operator/controller/queue_books.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "operator/decide/pass.hpp"
#include "operator/decide/queue/explain.hpp"
#include "operator/decide/queue/ledger.hpp"
#include "operator/decide/queue/usage.hpp"

namespace emj {
namespace {

constexpr double kDay = 86400;
constexpr std::size_t kHead = 10;
constexpr std::size_t kNamespaces = 256;
constexpr double kReleases = 20;
// Of one that takes longer the others are to learn no more: with twice the average left nobody grows, or
// lets go.
constexpr double kLongestRelease = 300;

double capacity_milli_cpu(const queue::QueueState& state) {
  double all = 0;
  for (const queue::Pool& pool : state.pools) all += static_cast<double>(pool.capacity.milli_cpu);
  return all;
}

void add_usage(QueueStatus& status, const queue::QueueState& state, double seconds) {
  std::map<std::string, double> hours;
  for (const NamespaceUsage& usage : status.usage) hours[usage.namespace_name] = usage.cpu_hours;
  queue::add_usage(hours, state, seconds);
  status.usage.clear();
  for (const auto& [name, used] : hours)
    if (used > 1e-6) status.usage.push_back({name, used});
  std::ranges::stable_sort(status.usage, std::greater<>{}, &NamespaceUsage::cpu_hours);
  if (status.usage.size() > kNamespaces) status.usage.resize(kNamespaces);
}

// What the pool counts, of what there is some in it.
std::vector<ResourceStatus> resources_of(const PoolRoom& room, const queue::Resources& held,
                                         const queue::Resources& promised) {
  std::vector<ResourceStatus> all;
  const auto add = [&](const std::string& name, std::int64_t unit, const auto& amount_in) {
    const std::int64_t capacity = amount_in(room.pool.capacity), foreign = amount_in(room.foreign);
    if (capacity >= kNotCounted / 2 || capacity + foreign + amount_in(held) <= 0) return;
    all.push_back({name, capacity * unit, amount_in(held) * unit, amount_in(promised) * unit, foreign * unit,
                   amount_in(room.unplaceable) * unit});
  };
  add("memory", 1 << 20, [](const queue::Resources& of) { return of.memory_mib; });
  for (std::size_t k = 0; k < queue::kDevices; ++k)
    add(queue::device_name(k), 1, [k](const queue::Resources& of) { return of.devices[k]; });
  return all;
}

void set_condition_if_known(QueueStatus& status, const char* type, bool value, const char* reason,
                            const std::string& message, std::int64_t generation, Time now) {
  const bool known = std::ranges::find(status.conditions, type, &Condition::type) != status.conditions.end();
  if (!value && !known) return;
  set_condition(
      status.conditions,
      {type, value ? "True" : "False", value ? reason : "Clear", value ? message : "", {}, generation}, now);
}

}  // namespace

void count_use(QueueStatus& status, const queue::QueueState& state, Time now) {
  const double seconds = status.usage_time ? std::max(0.0, seconds_between(*status.usage_time, now)) : 0;
  status.usage_time = now;
  if (seconds <= 0) return;
  add_usage(status, state, seconds);
  const double capacity = capacity_milli_cpu(state);
  if (capacity <= 0) return;
  double held = 0;
  for (const queue::Demand& job : state.jobs) held += queue::held_milli_cpu(job);
  const double share = std::min(1.0, held / capacity);
  status.busy_percent += (100 * share - status.busy_percent) * (1 - std::exp(-seconds / kDay));
}

void describe_queue(QueueStatus& status, const ElasticQueue& queue, const queue::QueueState& state,
                    const std::vector<PoolRoom>& rooms, const queue::Plan& plan, Time now) {
  status.observed_generation = queue.metadata.generation;
  status.pools.clear();
  const std::vector<queue::Ledger> ledgers = queue::make_ledgers(state);
  bool overlaps = false, unreadable = false;
  for (std::size_t p = 0; p < rooms.size(); ++p) {
    const PoolRoom& room = rooms[p];
    const queue::Resources held = room.pool.capacity - room.unplaceable - ledgers[p].free;
    status.pools.push_back({room.pool.name, room.nodes, room.pool.capacity.milli_cpu, held.milli_cpu,
                            ledgers[p].promised.milli_cpu, room.foreign.milli_cpu, room.unplaceable.milli_cpu,
                            resources_of(room, held, ledgers[p].promised)});
    overlaps = overlaps || room.overlaps;
    unreadable = unreadable || room.unreadable;
  }
  status.queued = static_cast<int>(std::ranges::count_if(
      state.jobs, [](const queue::Demand& job) { return job.queued() && job.held == 0; }));
  status.running = static_cast<int>(
      std::ranges::count_if(state.jobs, [](const queue::Demand& job) { return !job.queued(); }));
  status.head.clear();
  const auto name_of = [&](int pool) {
    return pool < 0 ? "a pool that the queue has no more" : "pool " + state.pools[pool].name;
  };
  for (const queue::Demand& job : state.jobs)
    if (job.queued() && job.allocation.promised > 0 && status.head.size() < kHead)
      status.head.push_back({job.namespace_name, job.name, job.priority, job.since,
                             "is promised " + std::to_string(job.allocation.promised) + " workers of " +
                                 name_of(job.allocation.pool) + ", as soon as others have let go of them",
                             queue::after(job.allocation.time, std::ceil(state.release_seconds))});
  for (const int i : plan.waiting) {
    if (status.head.size() >= kHead) break;
    const queue::Demand& job = state.jobs[i];
    WaitingJob waiting{
        job.namespace_name, job.name, job.priority, job.since, explain_waiting(state, plan, i), {}};
    for (const queue::Reservation& reservation : plan.reservations)
      if (reservation.job == i) waiting.expected_start = reservation.start;
    status.head.push_back(std::move(waiting));
  }
  const std::int64_t generation = queue.metadata.generation;
  set_condition_if_known(status, "Ready", true, "Scheduling", "", generation, now);
  set_condition_if_known(status, "PoolOverlap", overlaps, "NodesCountElsewhere",
                         "some nodes match another pool as well, and count there", generation, now);
  set_condition_if_known(status, "NodesUnreadable", unreadable, "NoPermission",
                         "pools of capacity Nodes have nothing to give: nodes cannot be read", generation,
                         now);
}

void count_release(QueueStatus& status, double seconds) {
  const double average = release_seconds(status);
  status.release_seconds = average + (std::clamp(seconds, 0.0, kLongestRelease) - average) / kReleases;
}

double release_seconds(const QueueStatus& status) {
  return std::clamp(status.release_seconds, 0.0, kLongestRelease);
}

bool same_but_for_use(const QueueStatus& one, QueueStatus other) {
  other.usage_time = one.usage_time;
  if (std::ranges::is_permutation(one.usage, other.usage, {}, &NamespaceUsage::namespace_name,
                                  &NamespaceUsage::namespace_name))
    other.usage = one.usage;
  other.busy_percent = one.busy_percent;
  other.release_seconds = one.release_seconds;
  return one == other;
}

bool urgent(const QueueStatus& before, const QueueStatus& now) {
  const auto first = [](const QueueStatus& status) {
    return status.head.empty() ? std::string() : status.head[0].namespace_name + "/" + status.head[0].name;
  };
  const auto same_amount = [](const ResourceStatus& a, const ResourceStatus& b) {
    return a.resource == b.resource && a.capacity == b.capacity;
  };
  const auto same_room = [&](const PoolStatus& a, const PoolStatus& b) {
    return a.name == b.name && a.capacity_milli_cpu == b.capacity_milli_cpu &&
           std::ranges::equal(a.resources, b.resources, same_amount);
  };
  return before.observed_generation != now.observed_generation || before.fence != now.fence ||
         first(before) != first(now) || !std::ranges::equal(before.pools, now.pools, same_room);
}

}  // namespace emj
