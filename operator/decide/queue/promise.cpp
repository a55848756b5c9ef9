// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/promise.hpp"

#include <algorithm>

namespace emj::queue {
namespace {

// Of a pool that the queue has no more only those that are to be withdrawn.
std::vector<int> standing_promises(const Draft& draft) {
  std::vector<int> standing;
  for (int i = 0; i < static_cast<int>(draft.state.jobs.size()); ++i) {
    const Demand& job = draft.job(i);
    if (job.lacking() > 0 && !draft.granted(i) && (job.written || job.allocation.pool >= 0))
      standing.push_back(i);
  }
  std::stable_sort(standing.begin(), standing.end(),
                   [&](int a, int b) { return draft.job(a).allocation.time < draft.job(b).allocation.time; });
  return standing;
}

void withdraw(Draft& draft, int i, int other, bool by_quota = false) {
  const Demand& job = draft.job(i);
  Allocation allocation = job.allocation;
  if (allocation.pool >= 0) draft.ledgers[allocation.pool].promised -= job.of(job.lacking());
  take(draft.quotas, job, -job.lacking());
  allocation.promised = 0;
  if (allocation.workers == 0) allocation.pool = -1;
  draft.add({.job = i,
             .kind = Grant::Kind::Withdraw,
             .allocation = allocation,
             .other = other,
             .by_quota = by_quota});
}

// As admission sees it: while more is held than there is, what can be taken from others may be more than the
// pool.
bool can_enter(const Draft& draft, const Demand& job, int pool, const Resources& room) {
  const int floor = sizes_in(job, pool).floor;
  return fits(job.of(floor), draft.state.pools[pool].capacity) && fits(job.of(floor), room) &&
         floor <= quota_room(draft.quotas, job);
}

// Who would be admitted first, if these were what quotas leave.
std::vector<int>::const_iterator first_with_room(const Draft& draft, const std::vector<int>& order,
                                                 const std::vector<Quota>& quotas) {
  return std::ranges::find_if(order, [&](int i) {
    return others_make_room_for(draft.state, draft.job(i)) && quotas_allow(draft.state, quotas, draft.job(i));
  });
}

// Promises of `standing` in `pool` that must go so that `head` can enter; nothing where that does not help.
std::vector<int> to_take_over(const Draft& draft, std::vector<int> standing, int pool, int head,
                              Resources room) {
  const Demand& job = draft.job(head);
  std::stable_sort(standing.begin(), standing.end(), [&](int a, int b) {
    const Demand &one = draft.job(a), &two = draft.job(b);
    return one.priority != two.priority ? one.priority < two.priority
                                        : one.allocation.time > two.allocation.time;
  });
  std::vector<int> taken;
  for (const int i : standing) {
    const Demand& holder = draft.job(i);
    if (!holder.written || holder.allocation.pool != pool || !holder.queued() ||
        holder.priority >= job.priority)
      continue;
    taken.push_back(i);
    room += holder.of(holder.lacking());
    if (can_enter(draft, job, pool, room)) return taken;
  }
  return {};
}

// Workers of one pool, while promises are walked.
struct Walk {
  Resources kept;       // free, but for those that came before
  Resources releasing;  // not yet counted for one of those
};

void keep(Walk& walk, const Resources& need) {
  walk.kept += positive(need - walk.releasing);
  walk.releasing -= smaller(walk.releasing, need);
}

// Whether `need` can be had now; if not, what it waits for is kept.
bool granted_now(Walk& walk, Ledger& ledger, const Resources& need) {
  if (fits(need, ledger.free - walk.kept)) {
    ledger.free -= need;
    return true;
  }
  keep(walk, need);
  return false;
}

}  // namespace

void withdraw_promises(Draft& draft, const std::vector<int>& order) {
  const std::vector<int> standing = standing_promises(draft);
  if (standing.empty()) return;
  // Workers that are no pods yet do not count here: for a moment a quota counts some that have just been
  // made.
  std::vector<Quota> quotas = draft.state.quotas;
  for (const int i : standing) {
    const Demand& job = draft.job(i);
    const int pool = job.allocation.pool;  // the queue may have it no more
    const bool in_pool = pool >= 0 && fits(job.of(job.allocation.promised), draft.state.pools[pool].capacity);
    const bool in_quota = job.lacking() <= quota_room(quotas, job);
    if (job.written && !(in_pool && in_quota))
      withdraw(draft, i, -1, in_pool);
    else
      take(quotas, job, job.lacking());
  }
  const auto first = first_with_room(draft, order, draft.quotas);
  if (first == order.end()) return;
  const Demand& head = draft.job(*first);
  Room room(draft.state, draft.ledgers);
  const std::vector<int> pools = pools_of(draft.state, head);
  for (const int pool : pools)
    if (can_enter(draft, head, pool, room.of(pool, head))) return;
  for (const int pool : pools) {
    if (free_only_in(head, pool)) continue;
    const std::vector<int> taken =
        to_take_over(draft, standing_promises(draft), pool, *first, room.of(pool, head));
    // Their quotas may then let in one that is before it, for which it would wait: to be promised all of it
    // again.
    std::vector<Quota> quotas_then = draft.quotas;
    for (const int i : taken) take(quotas_then, draft.job(i), -draft.job(i).lacking());
    if (first_with_room(draft, order, quotas_then) != first) continue;
    for (const int i : taken) withdraw(draft, i, *first);
    if (!taken.empty()) return;
  }
}

void grant_promises(Draft& draft, const std::vector<Admitted>& admitted) {
  std::vector<Walk> walks(draft.ledgers.size());
  for (std::size_t p = 0; p < walks.size(); ++p) walks[p].releasing = draft.ledgers[p].releasing;
  std::vector<Quota> quotas = quotas_before_promises(draft.state);
  for (const int i : standing_promises(draft)) {
    const Demand& job = draft.job(i);
    const bool barred = job.lacking() > quota_room(quotas, job);
    take(quotas, job, job.lacking());
    Ledger& ledger = draft.ledgers[job.allocation.pool];
    const Resources need = job.of(job.lacking());
    if (!job.written || barred) {
      keep(walks[job.allocation.pool], need);
      continue;
    }
    if (!granted_now(walks[job.allocation.pool], ledger, need)) {
      draft.unmet.push_back(i);
      continue;
    }
    ledger.promised -= need;
    draft.add(
        {.job = i,
         .kind = job.queued() ? Grant::Kind::Start : Grant::Kind::Grow,
         .allocation = {.workers = job.allocation.promised, .pool = job.allocation.pool, .time = draft.now}});
  }
  for (const Admitted& entry : admitted) {
    const Demand& job = draft.job(entry.job);
    Ledger& ledger = draft.ledgers[entry.pool];
    const int floor = sizes_in(job, entry.pool).floor;
    take(draft.quotas, job, floor);
    if (granted_now(walks[entry.pool], ledger, job.of(floor))) {
      draft.add({.job = entry.job,
                 .kind = entry.ahead ? Grant::Kind::Backfill : Grant::Kind::Start,
                 .allocation = {.workers = floor, .pool = entry.pool, .time = draft.now}});
    } else {
      ledger.promised += job.of(floor);
      draft.add({.job = entry.job,
                 .kind = Grant::Kind::Promise,
                 .allocation = {.promised = floor, .pool = entry.pool, .time = draft.now}});
    }
  }
}

}  // namespace emj::queue
