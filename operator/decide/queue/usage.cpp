// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/usage.hpp"

#include <algorithm>
#include <cmath>

namespace emj::queue {

double held_milli_cpu(const Demand& job) {
  return static_cast<double>(job.of(std::max(job.held, job.allocation.workers) + job.pods_left()).milli_cpu);
}

void add_usage(std::map<std::string, double>& usage, const QueueState& state, double seconds) {
  const auto half_life = static_cast<double>(state.rules.order.fair_share.half_life.count());
  for (auto& [name, hours] : usage) hours *= std::exp2(-seconds / half_life);
  for (const Demand& job : state.jobs)
    usage[job.namespace_name] += held_milli_cpu(job) / 1000 * seconds / 3600;
}

std::map<std::string, double> prices_per_hour(const QueueState& state) {
  std::map<std::string, double> prices;
  for (const Demand& job : state.jobs) {
    const auto add = [&](int workers, int pool) {
      if (workers <= 0 || pool < 0) return;
      prices[job.namespace_name] +=
          static_cast<double>(job.of(workers).milli_cpu) / 1000 * state.pools[pool].price;
    };
    add(std::max(job.held, job.allocation.workers), job.allocation.pool);
    for (const Left& other : job.left) add(other.pods, other.pool);
  }
  return prices;
}

}  // namespace emj::queue
