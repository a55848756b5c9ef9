// SPDX-License-Identifier: Apache-2.0
// What jobs were given and gave back, since no node had room for it (rule Q29): free in sum, but not in
// pieces of that size. It is offered to nobody until the job may try again, or the pool has become another
// one. Only in memory: who begins anew tries once more.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "operator/controller/cluster.hpp"
#include "operator/decide/queue/state.hpp"

namespace emj {

class Unplaceable {
 public:
  // `worker`: what one takes.
  void note(const JobKey& key, const ElasticMPIJob& before, const ElasticMPIJob& now,
            const queue::Resources& worker);
  void forget(const JobKey& key) { given_back_.erase(key); }
  // Of this pool of a queue, with its capacity as it is now.
  queue::Resources of(const std::string& queue, const queue::Pool& pool, Time now);

 private:
  struct GivenBack {
    std::string queue, pool;
    queue::Resources resources;
    Time until{};
    std::optional<queue::Resources> capacity{};  // of the pool, when it was first asked for
  };
  std::map<JobKey, GivenBack> given_back_;
};

}  // namespace emj
