// SPDX-License-Identifier: Apache-2.0
// A plan in the making: steps 6 to 11 of a pass each add grants to it.
#pragma once
#include <algorithm>
#include <vector>

#include "operator/decide/queue/ledger.hpp"
#include "operator/decide/queue/quota.hpp"
#include "operator/decide/queue/state.hpp"

namespace emj::queue {

struct Draft {
  Draft(const QueueState& state_, Time now_)
      : state(state_),
        now(now_),
        ledgers(make_ledgers(state_)),
        quotas(quotas_left(state_)),
        grant_of(state_.jobs.size(), -1) {}

  const QueueState& state;
  Time now;
  std::vector<Ledger> ledgers;  // as if the grants were carried out
  std::vector<Quota> quotas;    // likewise
  std::vector<int> grant_of;    // of each job, its place in plan.grants or -1
  std::vector<int> unmet;       // jobs with a promise that stands and is not met by this plan, oldest first
  Plan plan;

  const Demand& job(int i) const { return state.jobs[i]; }
  bool granted(int i) const { return grant_of[i] >= 0; }
  // What job `i` has by this plan.
  int workers(int i) const {
    return granted(i) ? plan.grants[grant_of[i]].allocation.workers : job(i).allocation.workers;
  }
  bool can_change(int i) const { return !job(i).resizing && now >= job(i).frozen_until; }
  void add(const Grant& grant) {
    grant_of[grant.job] = static_cast<int>(plan.grants.size());
    plan.grants.push_back(grant);
  }
  void wake_at(Time time) { plan.wake = plan.wake ? std::min(*plan.wake, time) : time; }
};

// What a step of the objective is worth, per CPU of this pool: that of the curve times this.
double factor(const QueueState& state, const Demand& job, int pool, Time now);

}  // namespace emj::queue
