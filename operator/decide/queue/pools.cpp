// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/pools.hpp"

#include <algorithm>

#include "operator/decide/queue/ledger.hpp"
#include "operator/decide/queue/urgent.hpp"
#include "runtime/base/text.hpp"

namespace emj::queue {
namespace {

constexpr double kBudgetMargin = 1.05;  // as the policy keeps back
constexpr int kChanges = 2;             // of a migration

bool has_goal(const Demand& job) { return job.deadline || job.budget; }

double price_of(const Demand& job, int workers, const Pool& pool, double seconds) {
  return workers * (static_cast<double>(job.worker.milli_cpu) / 1000) * pool.price * seconds / 3600;
}

// Of two that keep to the goal, or do not: whether the first is the better one.
bool better(const Demand& job, const Offer& one, const Offer& two) {
  if (one.meets != two.meets) return one.meets;
  const bool by_price = job.deadline.has_value() == one.meets;
  return by_price ? one.price < two.price : one.seconds < two.seconds;
}

struct Choice {
  int pool = 0;
  std::optional<Offer> offer;
};

void choose(Demand& job, const std::vector<Pool>& pools, Time now) {
  std::vector<Choice> choices;
  for (const int pool : job.pools) choices.push_back({pool, best_offer(job, pools[pool], job.floor, now)});
  std::ranges::stable_sort(choices, [&](const Choice& a, const Choice& b) {
    return a.offer && (!b.offer || better(job, *a.offer, *b.offer));
  });
  const SizesIn before{0, job.floor, job.wish};
  job.pools.clear();
  for (const auto& [pool, offer] : choices) {
    job.pools.push_back(pool);
    SizesIn sizes{pool, before.floor, before.wish};
    if (offer && job.floor < job.wish) {
      sizes.wish = offer->workers;
      if (job.deadline && job.deadline_counts && offer->meets) sizes.floor = offer->workers;
    }
    job.sizes_in.push_back(sizes);
  }
  job.floor = job.sizes_in.front().floor;
  job.wish = job.sizes_in.front().wish;
  if (job.allocation.promised == 0) job.speed = pools[job.pools.front()].speed;
}

// What is better there is worth the changes.
bool pays(const QueueState& state, const Demand& job, const Pool& own, const Pool& other, const Offer& here,
          const Offer& there) {
  if (here.meets != there.meets) return there.meets;
  const double factor = state.rules.growth.cost_factor_percent / 100;
  const double lost = kChanges * job.lost_seconds;
  if (job.deadline.has_value() != here.meets) return here.seconds - there.seconds >= factor * lost;
  const double price =
      price_of(job, job.allocation.workers, own, lost) + price_of(job, there.workers, other, lost);
  return here.price - there.price >= factor * price && there.price < here.price;
}

std::string words(const Offer& here, const Offer& there) {
  return "over in " + empi::seconds_text(there.seconds) + " for " + empi::amount_text(there.price) +
         ", not in " + empi::seconds_text(here.seconds) + " for " + empi::amount_text(here.price);
}

void migrate_one(Draft& draft, int i) {
  const Demand& job = draft.job(i);
  const Pool& own = draft.state.pools[job.allocation.pool];
  const int least = job.curve->size(0);
  const auto here = best_offer(job, own, least, draft.now);
  if (!here) return;
  std::optional<Choice> best;
  for (const int p : job.pools) {
    const Pool& other = draft.state.pools[p];
    const Ledger& ledger = draft.ledgers[p];
    const auto there = best_offer(job, other, least, draft.now, kChanges);
    if (p == job.allocation.pool || !there || !pays(draft.state, job, own, other, *here, *there)) continue;
    if (!fits(job.of(there->workers), ledger.free - ledger.promised)) continue;
    // Until the old workers have gone they count, too.
    if (there->workers > quota_room(draft.quotas, job)) continue;
    if (!best || better(job, *there, *best->offer)) best = Choice{p, there};
  }
  if (!best) return;
  draft.ledgers[best->pool].free -= job.of(best->offer->workers);
  take(draft.quotas, job, best->offer->workers);
  draft.add({.job = i,
             .kind = Grant::Kind::Migrate,
             .allocation = {.workers = best->offer->workers, .pool = best->pool, .time = draft.now},
             .words = words(*here, *best->offer)});
}

bool may_move(const Draft& draft, int i) {
  const Demand& job = draft.job(i);
  return job.migrates && !job.queued() && job.written && job.lacking() == 0 && job.allocation.pool >= 0 &&
         job.left.empty() && job.pools.size() > 1 && !draft.granted(i);
}

// With as many workers as it needs there, else as it has, as far as there is room; 0: not even for its least
// size.
int size_for_refuge(const Draft& draft, const Demand& job, int pool) {
  const Ledger& ledger = draft.ledgers[pool];
  const Resources room = ledger.free - ledger.promised;
  const int allowed = quota_room(draft.quotas, job);  // until the old workers have gone they count, too
  const auto offer = has_goal(job)
                         ? best_offer(job, draft.state.pools[pool], job.curve->size(0), draft.now, kChanges)
                         : std::nullopt;
  int place = job.curve->at_most(offer ? offer->workers : job.allocation.workers);
  while (place >= 0 && (job.curve->size(place) > allowed || !fits(job.of(job.curve->size(place)), room)))
    --place;
  return place < 0 ? 0 : job.curve->size(place);
}

void leave(Draft& draft, int i) {
  const Demand& job = draft.job(i);
  const int own = job.allocation.pool;
  for (const int p : job.pools) {
    const int workers = p == own ? 0 : size_for_refuge(draft, job, p);
    if (workers == 0) continue;
    draft.ledgers[p].free -= job.of(workers);
    draft.ledgers[own].releasing += job.of(std::max(job.held, job.allocation.workers));
    take(draft.quotas, job, workers);
    draft.add({.job = i,
               .kind = Grant::Kind::Leave,
               .allocation = {.workers = workers, .pool = p, .time = draft.now}});
    return;
  }
}

}  // namespace

std::optional<Offer> best_offer(const Demand& job, const Pool& pool, int least, Time now, int changes) {
  if (!job.work_left) return std::nullopt;
  const Curve& curve = *job.curve;
  const int most = std::min(curve.fastest(), curve.at_most(std::max(job.trusted, least)));
  std::optional<Offer> best;
  for (int i = std::min(curve.at_least(least), most); i <= most; ++i) {
    Offer offer{.workers = curve.size(i)};
    if (!fits(job.of(offer.workers), pool.capacity)) break;
    offer.seconds = *seconds_left_at(job, offer.workers, pool.speed) + changes * job.lost_seconds;
    offer.price = price_of(job, offer.workers, pool, offer.seconds);
    offer.meets = job.deadline ? offer.seconds * (1 + job.margin) <= seconds_between(now, *job.deadline)
                               : job.budget && offer.price * kBudgetMargin <= *job.budget;
    // Of those in time the smallest, whatever a curve that is not concave makes of the price.
    if (job.deadline && offer.meets) return offer;
    if (!best || better(job, offer, *best)) best = offer;
  }
  return best;
}

void keep_to_goals(Demand& job, const std::vector<Pool>& pools, Time now) {
  if (!has_goal(job)) return;
  if (job.queued()) {
    if (job.work_left && !job.pools.empty()) choose(job, pools, now);
    return;
  }
  keep_to_deadline(job, now);
  if (!job.budget || job.sized || job.rigid() || job.allocation.pool < 0) return;
  if (const auto offer = best_offer(job, pools[job.allocation.pool], job.floor, now))
    job.wish = std::clamp(offer->workers, job.floor, std::max(job.floor, job.wish));
}

void leave_small_pools(Draft& draft) {
  for (int i = 0; i < static_cast<int>(draft.state.jobs.size()); ++i) {
    const Demand& job = draft.job(i);
    // Newcomers that it awaits find no node here.
    const bool can_change = !job.resizing || job.awaits_pods;
    if (!may_move(draft, i) || !can_change || draft.now < job.frozen_until) continue;
    if (!fits(job.of(job.curve->size(0)), draft.state.pools[job.allocation.pool].capacity)) leave(draft, i);
  }
}

void migrate(Draft& draft) {
  for (int i = 0; i < static_cast<int>(draft.state.jobs.size()); ++i) {
    const Demand& job = draft.job(i);
    if (!has_goal(job) || !may_move(draft, i) || !draft.can_change(i)) continue;
    const Time rested = job.changed + draft.state.rules.moves.rest;
    if (draft.now < rested)
      draft.wake_at(rested);
    else
      migrate_one(draft, i);
  }
}

}  // namespace emj::queue
