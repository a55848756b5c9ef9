// SPDX-License-Identifier: Apache-2.0
#include "operator/controller/unplaceable.hpp"

#include <algorithm>

namespace emj {
namespace {

constexpr Seconds kRemembered{3600};

int attempts_of(const ElasticMPIJob& job) { return job.status.queue ? job.status.queue->attempts : 0; }

}  // namespace

void Unplaceable::note(const JobKey& key, const ElasticMPIJob& before, const ElasticMPIJob& now,
                       const queue::Resources& worker, Time time) {
  if (now.metadata.generation != before.metadata.generation) forget(key);
  if (now.status.active_workers.size() > before.status.active_workers.size()) {
    // Some have found a node; where the others have not is not known better by that.
    if (const auto found = given_back_.find(key); found != given_back_.end())
      for (GivenBack& entry : found->second) entry.attempts = std::min(entry.attempts, 1);
  }
  const auto &had = before.status.allocation, &has = now.status.allocation;
  const auto& wait = now.status.queue;
  const bool given_back = had && has && has->workers < had->workers && wait && wait->retry_after &&
                          wait->cause == QueueCause::Unplaceable && attempts_of(now) > attempts_of(before);
  if (!given_back) return;
  std::vector<GivenBack>& all = given_back_[key];
  auto entry = std::ranges::find_if(all, [&](const GivenBack& found) {
    return found.queue == now.spec.scheduling.queue_name && found.pool == had->pool;
  });
  if (entry == all.end()) entry = all.insert(all.end(), {now.spec.scheduling.queue_name, had->pool, worker});
  const queue::Resources more = worker * (had->workers - has->workers);
  if (time < entry->until) {  // the rest of the same attempt
    entry->hidden += more;
  } else {
    entry->hidden = ++entry->attempts == 1 ? more : queue::Resources{};
    entry->capacity.reset();
  }
  entry->worker = worker;
  entry->until = *wait->retry_after;
  entry->since = time;
}

void Unplaceable::compare(const std::string& queue, const std::vector<queue::Pool>& pools, Time time) {
  const auto over = [&](GivenBack& entry) {
    if (entry.queue != queue) return false;
    const auto pool = std::ranges::find(pools, entry.pool, &queue::Pool::name);
    if (pool == pools.end() || time > entry.since + kRemembered) return true;
    if (!entry.capacity) entry.capacity = pool->capacity;
    return queue::fits(entry.worker, pool->capacity - *entry.capacity);
  };
  for (auto& [key, entries] : given_back_) std::erase_if(entries, over);
  std::erase_if(given_back_, [](const auto& job) { return job.second.empty(); });
}

queue::Resources Unplaceable::of(const std::string& queue, const std::string& pool, Time time) const {
  queue::Resources sum;
  for (const auto& [key, entries] : given_back_)
    for (const GivenBack& entry : entries)
      if (entry.queue == queue && entry.pool == pool && time < entry.until) sum += entry.hidden;
  return sum;
}

std::vector<int> Unplaceable::twice(const JobKey& key, const std::string& queue,
                                    const std::vector<queue::Pool>& pools) const {
  std::vector<int> places;
  const auto found = given_back_.find(key);
  if (found == given_back_.end()) return places;
  for (int p = 0; p < static_cast<int>(pools.size()); ++p)
    if (std::ranges::any_of(found->second, [&](const GivenBack& entry) {
          return entry.queue == queue && entry.pool == pools[p].name && entry.attempts > 1;
        }))
      places.push_back(p);
  return places;
}

}  // namespace emj
