// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/quota.hpp"

#include <algorithm>

namespace emj::queue {
namespace {

constexpr std::int64_t kUnbounded = 1'000'000;

}  // namespace

std::vector<Quota> quotas_before_promises(const QueueState& state) {
  std::vector<Quota> quotas = state.quotas;
  for (const Demand& job : state.jobs) take(quotas, job, job.unmade);
  return quotas;
}

std::vector<Quota> quotas_left(const QueueState& state) {
  std::vector<Quota> quotas = quotas_before_promises(state);
  for (const Demand& job : state.jobs) take(quotas, job, job.lacking());
  return quotas;
}

int quota_room(const std::vector<Quota>& quotas, const Demand& job) {
  std::int64_t room = kUnbounded;
  for (const int i : job.quotas)
    room = std::min({room, times(job.worker, quotas[i].left), std::max<std::int64_t>(0, quotas[i].pods)});
  return static_cast<int>(room);
}

void take(std::vector<Quota>& quotas, const Demand& job, int workers) {
  for (const int i : job.quotas) {
    quotas[i].left -= job.of(workers);
    quotas[i].pods -= workers;
  }
}

}  // namespace emj::queue
