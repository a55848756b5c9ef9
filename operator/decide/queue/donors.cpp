// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/donors.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <queue>

namespace emj::queue {
namespace {

// The running jobs of a pool by what a step down costs, per CPU.
class Donors {
 public:
  Donors(Draft& draft, int pool) : draft_(draft), pool_(pool) {}

  // Takes workers from donors until `lack` is met or nobody has more; what was taken, in whole steps.
  // `for_job`: whom they are for, -1 for nobody. What programs say that they need is taken only where all the
  // rest would never do: that one of the rest is passed over for a moment is no reason.
  Resources take(Resources lack, int priority, int for_job) {
    Resources taken = take_as(Donation::Chosen, lack, priority, for_job);
    const Resources still = positive(lack - taken);
    if (any_positive(still) && keeps_ && any_positive(still - chosen_rest(priority)))
      taken += take_as(Donation::Due, still, priority, for_job);
    draft_.ledgers[pool_].releasing += taken;
    return taken;
  }

 private:
  struct Entry {
    double loss;
    int job;
    // The top of a queue is its largest: the least loss, then who came first.
    bool operator<(const Entry& other) const {
      return loss != other.loss ? loss > other.loss : job > other.job;
    }
  };

  Resources take_as(Donation donation, Resources lack, int priority, int for_job) {
    if (!priority_ || *priority_ != priority || donation_ != donation) gather(priority, donation);
    Resources taken;
    while (any_positive(lack - taken) && !heap_.empty()) {
      const int i = heap_.top().job;
      heap_.pop();
      const Demand& job = draft_.job(i);
      const int now = draft_.workers(i);
      const int next = one_step_down(job, now, yields_down_to(job, priority, donation_));
      if (next >= now) continue;
      taken += job.of(now - next);
      set(i, next, for_job);
      push(i, priority);
    }
    return taken;
  }

  // What could still be had, now or soon, without that.
  Resources chosen_rest(int priority) const {
    Resources rest;
    for (int i = 0; i < static_cast<int>(draft_.state.jobs.size()); ++i) {
      const Demand& job = draft_.job(i);
      if (job.queued() || job.allocation.pool != pool_) continue;
      rest += job.of(std::max(0, draft_.workers(i) - yields_down_to(job, priority)));
    }
    return rest;
  }

  void gather(int priority, Donation donation) {
    priority_ = priority;
    donation_ = donation;
    heap_ = {};
    const double soon = 2 * draft_.state.release_seconds;
    for (int i = 0; i < static_cast<int>(draft_.state.jobs.size()); ++i) {
      const Demand& job = draft_.job(i);
      if (draft_.granted(i) && draft_.plan.grants[draft_.grant_of[i]].allocation.pool != pool_) continue;
      if (job.queued() || job.allocation.pool != pool_ || job.resizing || job.lacking() > 0) continue;
      if (job.keeps > job.floor) keeps_ = true;
      if (draft_.workers(i) <= yields_down_to(job, priority, donation)) continue;
      if (draft_.now < job.frozen_until) {
        draft_.wake_at(job.frozen_until);
        continue;
      }
      const auto left = seconds_left(job, job.allocation.workers);
      if (left && *left + seconds_between(draft_.now, std::max(draft_.now, job.paused_until)) < soon)
        continue;
      push(i, priority);
    }
  }

  void push(int i, int priority) {
    const Demand& job = draft_.job(i);
    const int workers = draft_.workers(i);
    if (workers <= yields_down_to(job, priority, donation_)) return;
    const int place = job.curve->at_most(workers);
    const double loss = place > 0 ? job.curve->marginal(place - 1) : std::numeric_limits<double>::infinity();
    heap_.push({loss * factor(draft_.state, job, pool_, draft_.now), i});
  }

  // At least minStepPercent of what it had, to a feasible size.
  int one_step_down(const Demand& job, int workers, int least) const {
    const double percent = draft_.state.rules.growth.min_step_percent;
    const int step = std::max(1, static_cast<int>(std::ceil(job.allocation.workers * percent / 100)));
    const Curve& curve = *job.curve;
    const int size = curve.size(curve.at_most(workers - step));
    if (size <= workers - step && size >= least) return size;
    return curve.size(curve.at_least(least));
  }

  void set(int i, int workers, int for_job) {
    if (draft_.granted(i)) {
      draft_.plan.grants[draft_.grant_of[i]].allocation.workers = workers;
      return;
    }
    Allocation allocation = draft_.job(i).allocation;
    allocation.workers = workers;
    draft_.add({.job = i,
                .kind = for_job < 0 ? Grant::Kind::GiveBack : Grant::Kind::Yield,
                .allocation = allocation,
                .other = for_job});
  }

  Draft& draft_;
  int pool_;
  std::optional<int> priority_;
  Donation donation_ = Donation::Chosen;
  bool keeps_ = false;  // a program of the pool says that it needs some
  std::priority_queue<Entry> heap_;
};

}  // namespace

void ask_donors(Draft& draft) {
  for (int pool = 0; pool < static_cast<int>(draft.ledgers.size()); ++pool) {
    Donors donors(draft, pool);
    Resources coming = to_come(draft.ledgers[pool]);
    for (const int i : draft.unmet) {
      const Demand& job = draft.job(i);
      if (job.allocation.pool != pool) continue;
      const Resources need = job.of(job.lacking());
      const Resources lack = positive(need - coming);
      if (any_positive(lack)) coming += donors.take(lack, job.priority, i);
      coming -= smaller(coming, need);
    }
  }
}

void give_back(Draft& draft) {
  for (int pool = 0; pool < static_cast<int>(draft.ledgers.size()); ++pool) {
    const Ledger& ledger = draft.ledgers[pool];
    const Resources over = positive(Resources{} - ledger.free - ledger.releasing);
    if (any_positive(over)) Donors(draft, pool).take(over, std::numeric_limits<int>::max(), -1);
  }
}

}  // namespace emj::queue
