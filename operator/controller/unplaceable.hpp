// SPDX-License-Identifier: Apache-2.0
// What jobs were given and gave back, since no node had room for it (rule Q29): free in sum, but not in
// pieces of that size, or not for that job. After the first attempt it is offered to nobody until the job may
// try again. When that comes to the same, the others are no part of it: they may have what is free, and the
// job no more than that in this pool, for an hour, or until the pool has room for one worker more or the job
// is another one. Only in memory: who begins anew tries once more.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/controller/cluster.hpp"
#include "operator/decide/queue/state.hpp"

namespace emj {

class Unplaceable {
 public:
  // What became of a job: `before`, and `now` at `time`. `worker`: what one takes.
  void note(const JobKey& key, const ElasticMPIJob& before, const ElasticMPIJob& now,
            const queue::Resources& worker, Time time);
  void forget(const JobKey& key) { given_back_.erase(key); }
  // The pools of a queue, as they are at `time`.
  void compare(const std::string& queue, const std::vector<queue::Pool>& pools, Time time);
  // Of a pool, to be offered to nobody.
  queue::Resources of(const std::string& queue, const std::string& pool, Time time) const;
  // Those of `pools`, as places, where it has happened to the job twice.
  std::vector<int> twice(const JobKey& key, const std::string& queue,
                         const std::vector<queue::Pool>& pools) const;

 private:
  struct GivenBack {
    std::string queue, pool;
    queue::Resources worker;
    queue::Resources hidden{};
    Time until{};                                // the next attempt
    Time since{};                                // of the last attempt that failed
    int attempts = 0;                            // that failed, one after the other
    std::optional<queue::Resources> capacity{};  // of the pool, when it was first looked at afterwards
  };
  std::map<JobKey, std::vector<GivenBack>> given_back_;
};

}  // namespace emj
