// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/growth.hpp"

#include <algorithm>
#include <cmath>

#include "operator/decide/queue/level.hpp"

namespace emj::queue {
namespace {

// Of what a worker asks for the largest part of the pool, in thousandths of its CPUs: where memory or a
// device is gone nobody can use the CPUs.
double taken_of(const Resources& capacity, const Resources& worker) {
  const auto cpus = static_cast<double>(capacity.milli_cpu);
  double most = static_cast<double>(worker.milli_cpu);
  const auto look_at = [&](std::int64_t asked, std::int64_t there) {
    if (asked > 0 && there > 0)
      most = std::max(most, cpus * static_cast<double>(asked) / static_cast<double>(there));
  };
  look_at(worker.memory_mib, capacity.memory_mib);
  for (std::size_t k = 0; k < kDevices; ++k) look_at(worker.devices[k], capacity.devices[k]);
  return std::max(1.0, most);
}

}  // namespace

double factor(const QueueState& state, const Demand& job, int pool, Time now) {
  const double weight = job.weight / taken_of(state.pools[pool].capacity, job.worker);
  switch (state.rules.objective) {
    case Objective::Fair:
    case Objective::Throughput:
    case Objective::Workload:
      return weight;
    case Objective::Turnaround:
    case Objective::Makespan: {
      const int workers = job.queued() ? job.floor : job.allocation.workers;
      const double work = seconds_left_or_guess(job, workers, now) * job.curve->speed_of(workers);
      return state.rules.objective == Objective::Makespan ? weight * work : weight / std::max(1.0, work);
    }
  }
  return weight;
}

int growth_limit(const Draft& draft, int i, int pool) {
  const QueueState& state = draft.state;
  const Demand& job = draft.job(i);
  const Growth& growth = state.rules.growth;
  const Curve& curve = *job.curve;
  const Resources& all = state.pools[pool].capacity;
  const double capacity = static_cast<double>(all.milli_cpu) / taken_of(all, job.worker);  // in workers
  // On a few workers a share of them is less than one, and no job could be worth a second one.
  const double least = growth.time_value_percent > 0 ? 1 : 0;
  const double value =
      std::max(least, growth.time_value_percent / 100 * capacity) / std::clamp(state.busy, .25, 1.0);
  const int wish = job.queued() ? sizes_in(job, pool).wish : job.wish;
  int place = curve.at_most(std::min({wish, job.trusted, draft.workers(i) + quota_room(draft.quotas, job)}));
  place = std::min(
      {place, curve.fastest(), curve.worth(value), curve.efficient(growth.min_efficiency_percent / 100)});
  return curve.corner_at_most(place);
}

bool pays(const Draft& draft, int i, int workers, double lost, Grant& grant) {
  const Demand& job = draft.job(i);
  const Growth& growth = draft.state.rules.growth;
  const int present = job.allocation.workers;
  if (workers - present < growth.min_step_percent / 100 * present) return false;
  grant.left = seconds_left_or_guess(job, present, draft.now);
  grant.saved = grant.left - seconds_left_or_guess(job, workers, draft.now);
  return grant.saved > 0 && grant.saved >= growth.cost_factor_percent / 100 * lost &&
         grant.left >= 2 * draft.state.release_seconds;
}

namespace {

class Growing {
 public:
  Growing(Draft& draft, int pool) : draft_(draft), pool_(pool) {}

  void run() {
    const Ledger& ledger = draft_.ledgers[pool_];
    const Resources spare = ledger.free - ledger.promised;
    if (!any_positive(spare)) return;
    for (int i = 0; i < static_cast<int>(draft_.state.jobs.size()); ++i) claim(i);
    if (claims_.empty()) return;
    const std::vector<int> places = draft_.state.rules.objective == Objective::Workload
                                        ? level_by_work(claims_, work_, spare)
                                        : level(claims_, spare);
    for (std::size_t c = 0; c < claims_.size(); ++c)
      if (places[c] > claims_[c].from) grant(jobs_[c], claims_[c].curve->size(places[c]));
  }

 private:
  bool starts(int i) const {
    return draft_.granted(i) && draft_.job(i).queued() && draft_.workers(i) > 0 &&
           draft_.plan.grants[draft_.grant_of[i]].allocation.pool == pool_;
  }

  void claim(int i) {
    const Demand& job = draft_.job(i);
    const bool starting = starts(i);
    if (!starting) {
      if (job.queued() || job.allocation.pool != pool_ || job.rigid() || draft_.granted(i)) return;
      if (job.lacking() > 0 || job.resizing) return;
    } else if (job.rigid()) {
      return;
    }
    const Claim claim{.curve = job.curve.get(),
                      .factor = factor(draft_.state, job, pool_, draft_.now),
                      .worker = job.worker,
                      .from = job.curve->at_most(draft_.workers(i)),
                      .to = growth_limit(draft_, i, pool_)};
    if (claim.to <= claim.from) return;
    Grant all;
    // Else its share would be nobody's.
    if (!starting && !pays(draft_, i, job.curve->size(claim.to), job.lost_seconds, all)) return;
    if (!starting) {
      const Time rested = std::max(job.frozen_until, job.changed + draft_.state.rules.growth.cooldown);
      if (draft_.now < rested) {
        draft_.wake_at(rested);
        return;
      }
    }
    claims_.push_back(claim);
    jobs_.push_back(i);
    work_.push_back(job.work);
  }

  // Others of its namespace may have taken of what their quotas leave.
  void grant(int i, int workers) {
    const Demand& job = draft_.job(i);
    const Curve& curve = *job.curve;
    const int bound = draft_.workers(i) + quota_room(draft_.quotas, job);
    if (workers > bound) workers = curve.size(curve.corner_at_most(curve.at_most(bound)));
    if (workers <= draft_.workers(i)) return;
    const int more_workers = workers - draft_.workers(i);
    const Resources more = job.of(more_workers);
    if (starts(i)) {
      draft_.plan.grants[draft_.grant_of[i]].allocation.workers = workers;
    } else {
      Grant grant{.job = i, .kind = Grant::Kind::Grow, .allocation = job.allocation};
      grant.allocation.workers = workers;
      if (!pays(draft_, i, workers, job.lost_seconds, grant)) return;
      draft_.add(grant);
    }
    draft_.ledgers[pool_].free -= more;
    take(draft_.quotas, job, more_workers);
  }

  Draft& draft_;
  int pool_;
  std::vector<Claim> claims_;
  std::vector<int> jobs_;  // of each claim
  std::vector<double> work_;
};

}  // namespace

void grow(Draft& draft) {
  for (int pool = 0; pool < static_cast<int>(draft.ledgers.size()); ++pool) Growing(draft, pool).run();
}

}  // namespace emj::queue
