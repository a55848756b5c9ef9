// SPDX-License-Identifier: Apache-2.0
#include "operator/controller/unplaceable.hpp"

namespace emj {

void Unplaceable::note(const JobKey& key, const ElasticMPIJob& before, const ElasticMPIJob& now,
                       const queue::Resources& worker) {
  const auto &had = before.status.allocation, &has = now.status.allocation;
  const auto& wait = now.status.queue;
  const bool given_back = had && has && has->workers < had->workers && wait && wait->retry_after &&
                          wait->cause == QueueCause::Unplaceable;
  if (!given_back) return;
  given_back_[key] = {now.spec.scheduling.queue_name, had->pool, worker * (had->workers - has->workers),
                      *wait->retry_after};
}

queue::Resources Unplaceable::of(const std::string& queue, const queue::Pool& pool, Time now) {
  queue::Resources sum;
  std::erase_if(given_back_, [&](auto& entry) {
    GivenBack& found = entry.second;
    if (now >= found.until) return true;
    if (found.queue != queue || found.pool != pool.name) return false;
    if (!found.capacity) found.capacity = pool.capacity;
    if (*found.capacity != pool.capacity) return true;
    sum += found.resources;
    return false;
  });
  return sum;
}

}  // namespace emj
