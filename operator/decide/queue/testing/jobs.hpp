// SPDX-License-Identifier: Apache-2.0
// Queues and jobs for tests. Time is counted in seconds from kStart.
#pragma once
#include <numeric>
#include <string>
#include <vector>

#include "operator/decide/queue/plan.hpp"

namespace emj::queue::testing_queue {

inline constexpr Time kStart{Seconds(1'000'000'000)};
inline Time at(double seconds) { return after(kStart, seconds); }

// Cores of one pool.
inline QueueState machine(int cores) {
  QueueState state;
  state.pools = {{"machine", Resources{1000, 0} * cores}};
  return state;
}

inline std::vector<int> sizes(int least, int most) {
  std::vector<int> all(most - least + 1);
  std::iota(all.begin(), all.end(), least);
  return all;
}

// Of workers of one core, from `least` to `most`; rigid where they are equal. Waits since `since` seconds.
inline Demand job(const std::string& name, int least, int most, double since = 0) {
  Demand demand;
  demand.uid = demand.name = name;
  demand.namespace_name = "default";
  demand.worker = {1000, 0};
  demand.curve = amdahl_curve(sizes(least, most), most, .8, Objective::Fair);
  demand.reference = demand.wish = demand.trusted = most;
  demand.floor = least;
  demand.since = at(since);
  demand.lost_seconds = 1;
  demand.work_left = 3600;
  return demand;
}

inline Demand running(Demand demand, int workers) {
  demand.allocation = {.workers = workers, .pool = 0, .time = demand.since};
  demand.held = workers;
  demand.started = demand.since;
  return demand;
}

// A lets go of three workers, which job 1 is promised; job 2, more important, wants as many.
inline QueueState urgent_behind_a_promise(int cores) {
  QueueState state = machine(cores);
  Demand promised = job("low", 4, 4, 1);
  promised.allocation = {.promised = 4, .pool = 0, .time = at(1)};
  Demand urgent = job("urgent", 4, 4, 2);
  urgent.priority = 10;
  Demand donor = running(job("A", 1, 4), 4);
  donor.allocation.workers = 1;
  donor.resizing = true;
  state.jobs = {donor, promised, urgent};
  return state;
}

// As if the grants were written and carried out at once, but for pods that have to go.
inline void carry_out(QueueState& state, const Plan& plan, Time now) {
  for (const Grant& grant : plan.grants) {
    Demand& demand = state.jobs[grant.job];
    const bool runs = !demand.queued();
    if (!runs && grant.allocation.workers > 0) demand.started = now;
    if (runs && grant.allocation.workers != demand.allocation.workers) demand.changed = now;
    demand.allocation = grant.allocation;
    demand.held = std::max(demand.held, grant.allocation.workers);
    demand.resizing = runs && demand.held != demand.allocation.workers;
  }
}

inline void release(Demand& demand) {
  demand.held = demand.allocation.workers;
  demand.resizing = false;
}

inline const Grant* grant_of(const Plan& plan, int job) {
  for (const Grant& grant : plan.grants)
    if (grant.job == job) return &grant;
  return nullptr;
}

}  // namespace emj::queue::testing_queue
