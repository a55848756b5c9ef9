// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/moves.hpp"

#include <algorithm>

#include "operator/decide/queue/growth.hpp"

namespace emj::queue {
namespace {

struct Side {
  int job = -1;
  double marginal = 0;  // per CPU
};

class Moving {
 public:
  Moving(Draft& draft, int pool) : draft_(draft), pool_(pool) {}

  void run() {
    if (draft_.state.rules.objective == Objective::Workload) return;
    for (int tries = 0; tries < kTries; ++tries) {
      find_pair();
      if (receiver_.job < 0 || donor_.job < 0 || receiver_.job == donor_.job) return;
      if (receiver_.marginal <= ratio() * donor_.marginal) return;
      if (balance() || grows_alone()) return;
      passed_.push_back(receiver_.job);
    }
  }

 private:
  static constexpr int kTries = 8;

  double ratio() const { return draft_.state.rules.moves.min_ratio_percent / 100; }

  bool may_move(int i) const {
    const Demand& job = draft_.job(i);
    return !job.queued() && job.allocation.pool == pool_ && !job.rigid() && job.lacking() == 0 &&
           !draft_.granted(i) && draft_.can_change(i) &&
           draft_.now >= job.changed + draft_.state.rules.moves.rest;
  }

  // Who gains most by one step more, and who loses least by one less.
  void find_pair() {
    const Ledger& ledger = draft_.ledgers[pool_];
    const Resources spare = ledger.free - ledger.promised;
    receiver_ = donor_ = {};
    for (int i = 0; i < static_cast<int>(draft_.state.jobs.size()); ++i) {
      if (!may_move(i)) continue;
      const Demand& job = draft_.job(i);
      const Curve& curve = *job.curve;
      const int place = curve.at_most(job.allocation.workers);
      const double scale = factor(draft_.state, job, pool_, draft_.now);
      const bool receives = !free_only_in(job, pool_) && std::ranges::find(passed_, i) == passed_.end();
      if (receives && place < growth_limit(draft_, i, pool_) &&
          curve.marginal(place) * scale > receiver_.marginal &&
          !fits(job.of(curve.size(curve.next(place)) - curve.size(place)), spare))
        receiver_ = {i, curve.marginal(place) * scale};
      if (place > 0 && curve.size(place - 1) >= std::max(job.floor, job.keeps) &&
          (donor_.job < 0 || curve.marginal(place - 1) * scale < donor_.marginal))
        donor_ = {i, curve.marginal(place - 1) * scale};
    }
  }

  // Whether what is freed for another would be the receiver's, which is worth less to it than what both
  // changes cost, and more than its own.
  bool grows_alone() const {
    const Demand& job = draft_.job(receiver_.job);
    const int most = job.curve->size(growth_limit(draft_, receiver_.job, pool_));
    Grant ignored;
    return pays(draft_, receiver_.job, most, job.lost_seconds, ignored);
  }

  // As many steps as are worth it. False: none.
  bool balance() {
    const Demand& from = draft_.job(donor_.job);
    const Demand& to = draft_.job(receiver_.job);
    const double from_scale = factor(draft_.state, from, pool_, draft_.now);
    const double to_scale = factor(draft_.state, to, pool_, draft_.now);
    const int limit = growth_limit(draft_, receiver_.job, pool_);
    int low = from.curve->at_most(from.allocation.workers);
    int high = to.curve->at_most(to.allocation.workers);
    int given = low;  // with what the receiver can use
    Resources freed;
    while (low > 0 && high < limit && from.curve->size(low - 1) >= std::max(from.floor, from.keeps) &&
           to.curve->marginal(high) * to_scale > ratio() * from.curve->marginal(low - 1) * from_scale) {
      freed += from.of(from.curve->size(low) - from.curve->size(low - 1));
      --low;
      const int next = to.curve->next(high);
      const Resources need = to.of(to.curve->size(next) - to.curve->size(high));
      if (next > limit || !fits(need, freed)) continue;
      freed -= need;
      high = next;
      given = low;
    }
    Grant grant{
        .job = donor_.job, .kind = Grant::Kind::Move, .allocation = from.allocation, .other = receiver_.job};
    grant.allocation.workers = from.curve->size(given);
    const double lost = from.lost_seconds + to.lost_seconds;
    if (grant.allocation.workers >= from.allocation.workers) return false;
    if (!pays(draft_, receiver_.job, to.curve->size(high), lost, grant)) return false;
    draft_.ledgers[pool_].releasing += from.of(from.allocation.workers - grant.allocation.workers);
    draft_.add(grant);
    return true;
  }

  Draft& draft_;
  int pool_;
  Side receiver_, donor_;
  std::vector<int> passed_;  // receivers for which it does not pay
};

}  // namespace

void move_workers(Draft& draft) {
  for (int pool = 0; pool < static_cast<int>(draft.ledgers.size()); ++pool) Moving(draft, pool).run();
}

}  // namespace emj::queue
