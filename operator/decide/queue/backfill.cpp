// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/backfill.hpp"

#include <algorithm>
#include <optional>

#include "operator/decide/queue/order.hpp"

namespace emj::queue {

Room::Room(const QueueState& state, const std::vector<Ledger>& ledgers)
    : state_(state), pools_(ledgers.size()) {
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    pools_[p].sure = to_come(ledgers[p]) - ledgers[p].promised;
    pools_[p].free = smaller(pools_[p].sure, ledgers[p].free - ledgers[p].promised);
  }
}

Resources Room::of(int pool, const Demand& job) {
  Pool& p = pools_[pool];
  if (free_only_in(job, pool)) return p.free;
  if (!p.known || p.priority != job.priority) {
    p.known = true;
    p.priority = job.priority;
    p.surplus = surplus(state_, pool, job.priority);
  }
  return p.sure + p.surplus;
}

namespace {

bool could_hold(const QueueState& state, const Demand& job, int pool) {
  return fits(job.of(sizes_in(job, pool).floor), state.pools[pool].capacity);
}

}  // namespace

bool placeable(const QueueState& state, const Demand& job) {
  return std::ranges::any_of(pools_of(state, job), [&](int pool) { return could_hold(state, job, pool); });
}

bool others_make_room_for(const QueueState& state, const Demand& job) {
  return std::ranges::any_of(pools_of(state, job), [&](int pool) {
    return !free_only_in(job, pool) && could_hold(state, job, pool);
  });
}

bool quotas_allow(const QueueState& state, const std::vector<Quota>& quotas, const Demand& job) {
  if (job.quotas.empty()) return true;
  const int room = quota_room(quotas, job);
  return std::ranges::any_of(pools_of(state, job), [&](int pool) {
    const int floor = sizes_in(job, pool).floor;
    return floor <= room && fits(job.of(floor), state.pools[pool].capacity);
  });
}

namespace {

constexpr int kReservations = 100;  // of conservative backfill, in a pool

// What stands in the way of those behind, in one pool.
struct Barrier {
  bool closed = false;  // nobody passes
  bool up = false;      // somebody waits: only who cannot delay it passes
  int reserved = 0;
  std::optional<Time> until;       // whose start cannot be told waits: only who ends by then passes
  Shadow shadow;                   // EASY
  std::optional<Profile> profile;  // conservative
};

class Admitting {
 public:
  Admitting(const QueueState& state, const std::vector<Ledger>& ledgers, std::vector<Quota> quotas, Time now)
      : state_(state),
        now_(now),
        room_(state, ledgers),
        quotas_(std::move(quotas)),
        barriers_(ledgers.size()) {}

  Admission run(const std::vector<int>& order) {
    for (const int i : order) {
      if (!placeable(state_, state_.jobs[i])) {
        result_.waiting.push_back(i);
      } else if (!quotas_allow(state_, quotas_, state_.jobs[i])) {
        result_.waiting.push_back(i);
        result_.barred.push_back({i, quota_room(quotas_, state_.jobs[i])});
      } else if (!let_in(i)) {
        result_.waiting.push_back(i);
        reserve(i);
      }
    }
    return std::move(result_);
  }

 private:
  // By price, or nobody is shrunk while there is another pool with room; spot workers before others.
  bool let_in(int i) {
    const Demand& job = state_.jobs[i];
    const std::vector<int> pools = pools_of(state_, job);
    if (job.by_price || pools.size() == 1)
      return std::ranges::any_of(pools, [&](int pool) { return let_into(i, pool, room_.of(pool, job)); });
    const auto into = [&](bool spot) {
      return std::ranges::any_of(pools, [&](int pool) {
        return state_.pools[pool].spot == spot && let_into(i, pool, room_.of(pool, job));
      });
    };
    return std::ranges::any_of(pools, [&](int pool) { return let_into(i, pool, room_.sure(pool, job)); }) ||
           into(true) || into(false);
  }

  bool let_into(int i, int pool, const Resources& room) {
    const Demand& job = state_.jobs[i];
    Barrier& barrier = barriers_[pool];
    const int floor = sizes_in(job, pool).floor;
    const Resources need = job.of(floor);
    if (floor > quota_room(quotas_, job)) return false;
    // While more is held than there is, what can be taken from others may be more than the pool.
    if (barrier.closed || !fits(need, state_.pools[pool].capacity) || !fits(need, room)) return false;
    if (barrier.up && !passes(job, pool, need, barrier)) return false;
    room_.take(pool, need);
    queue::take(quotas_, job, floor);
    result_.admitted.push_back({i, pool, barrier.up});
    return true;
  }

  std::optional<double> seconds_at_floor(const Demand& job, int pool) const {
    return seconds_left_at(job, sizes_in(job, pool).floor, state_.pools[pool].speed);
  }

  // Whether those with reservations start no later for it.
  bool passes(const Demand& job, int pool, const Resources& need, Barrier& barrier) {
    const auto seconds = seconds_at_floor(job, pool);
    if (barrier.until && (!seconds || after(now_, *seconds) > *barrier.until)) return false;
    if (barrier.profile) {
      if (barrier.profile->earliest(need, seconds) != now_) return false;
      barrier.profile->take(now_, seconds, need);
      return true;
    }
    if (!barrier.shadow.start || (seconds && after(now_, *seconds) <= *barrier.shadow.start)) return true;
    if (!fits(need, barrier.shadow.extra)) return false;
    barrier.shadow.extra -= need;
    return true;
  }

  // Until when others may pass a job whose start cannot be told, since those have no forecast that have what
  // it needs: as long as they may be expected to keep it (rule Q12), which makes no promise. So the job waits
  // for those that passed it no longer than for those had run by then (rule Q35, as Q37 bounds what is done
  // without a forecast), and what is free does not lie idle behind a job that goes on for days.
  Time pass_until(const Demand& job, int pool) {
    const Shadow guess =
        shadow(ends_at_floor(state_, pool, job.priority, result_.admitted, now_, WhenUnknown::Guess),
               room_.of(pool, job), job.of(sizes_in(job, pool).floor), now_);
    const Time least = after(now_, kShortestGuess);
    return guess.start ? std::max(*guess.start, least) : least;
  }

  // In the pool where it can start first: of those where nobody waits yet; conservative: of all.
  void reserve(int i) {
    const Demand& job = state_.jobs[i];
    std::optional<int> best;
    std::optional<Time> best_start;
    for (const int pool : pools_of(state_, job)) {
      const Barrier& barrier = barriers_[pool];
      const Resources need = job.of(sizes_in(job, pool).floor);
      if (free_only_in(job, pool) || !fits(need, state_.pools[pool].capacity)) continue;
      if (barrier.up && !barrier.profile) continue;
      const auto start = start_in(job, pool, need);
      if (best && (!start || (best_start && *best_start <= *start))) continue;
      best = pool;
      best_start = start;
    }
    if (!best) return;
    Barrier& barrier = barriers_[*best];
    if (barrier.profile) return reserve_later(i, *best);
    barrier.up = true;
    barrier.closed = state_.rules.backfill == Backfill::None || overdue(state_, job, now_);
    barrier.shadow = shadow_in(job, *best, job.of(sizes_in(job, *best).floor));
    if (state_.rules.backfill == Backfill::Conservative && !barrier.closed) {
      barrier.profile.emplace(room_.of(*best, job),
                              ends_at_floor(state_, *best, job.priority, result_.admitted, now_), now_);
      reserve_later(i, *best);
    } else if (barrier.shadow.start) {
      result_.reservations.push_back({i, *best, *barrier.shadow.start});
    } else {
      barrier.until = pass_until(job, *best);
    }
  }

  Shadow shadow_in(const Demand& job, int pool, const Resources& need) {
    return shadow(ends_at_floor(state_, pool, job.priority, result_.admitted, now_), room_.of(pool, job),
                  need, now_);
  }

  std::optional<Time> start_in(const Demand& job, int pool, const Resources& need) {
    const Barrier& barrier = barriers_[pool];
    if (!barrier.profile) return shadow_in(job, pool, need).start;
    if (barrier.until || barrier.closed) return std::nullopt;
    return barrier.profile->earliest(need, seconds_at_floor(job, pool));
  }

  void reserve_later(int i, int pool) {
    const Demand& job = state_.jobs[i];
    Barrier& barrier = barriers_[pool];
    if (barrier.until) return;  // it waits for one whose start cannot be told
    if (barrier.reserved >= kReservations) {
      barrier.closed = true;
      return;
    }
    ++barrier.reserved;
    const Resources need = job.of(sizes_in(job, pool).floor);
    const auto seconds = seconds_at_floor(job, pool);
    const auto start = barrier.profile->earliest(need, seconds);
    if (!start) {
      barrier.until = pass_until(job, pool);
      return;
    }
    barrier.profile->take(*start, seconds, need);
    result_.reservations.push_back({i, pool, *start});
  }

  const QueueState& state_;
  Time now_;
  Room room_;
  std::vector<Quota> quotas_;
  std::vector<Barrier> barriers_;
  Admission result_;
};

}  // namespace

Admission admit(const QueueState& state, const std::vector<Ledger>& ledgers, std::vector<Quota> quotas,
                const std::vector<int>& order, Time now) {
  return Admitting(state, ledgers, std::move(quotas), now).run(order);
}

}  // namespace emj::queue
