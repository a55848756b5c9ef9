// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/urgent.hpp"

#include <algorithm>
#include <optional>

#include "operator/decide/queue/backfill.hpp"

namespace emj::queue {
namespace {

constexpr double kKeptMargin = .5;  // of the margin: a running job that has so much left has enough

int largest(const Demand& job) {
  const Curve& curve = *job.curve;
  return curve.size(std::min(curve.fastest(), curve.at_most(std::max(job.trusted, job.floor))));
}

bool runs(const Demand& job) { return !job.queued(); }

// Seconds until it would be over on so many workers, a change to them included.
double time_needed(const Demand& job, int workers) {
  return *seconds_left(job, workers) +
         (runs(job) && workers != job.allocation.workers ? job.lost_seconds : 0);
}

std::optional<int> size_in_time(const Demand& job, double time) {
  const Curve& curve = *job.curve;
  if (runs(job) && time_needed(job, job.allocation.workers) * (1 + kKeptMargin * job.margin) <= time) {
    const int most = curve.at_most(job.allocation.workers);
    for (int i = curve.at_least(job.floor); i < most; ++i)
      if (time_needed(job, curve.size(i)) * (1 + job.margin) <= time) return curve.size(i);
    return job.allocation.workers;
  }
  for (int i = curve.at_least(job.floor); i < curve.count() && curve.size(i) <= largest(job); ++i)
    if (time_needed(job, curve.size(i)) * (1 + job.margin) <= time) return curve.size(i);
  return std::nullopt;
}

// Of a waiting job, when it gets urgent and when it is too late; nothing where nobody knows.
struct Span {
  Time from, until;
};
std::optional<Span> urgent_span(const QueueState& state, const Demand& job) {
  if (!job.deadline || !job.deadline_counts || !job.work_left) return std::nullopt;
  const double fastest = *seconds_left(job, largest(job));
  const double early = fastest * (1 + job.margin) + 2 * (state.release_seconds + job.lost_seconds);
  return Span{after(*job.deadline, -early), after(*job.deadline, -fastest)};
}

}  // namespace

void keep_to_deadline(Demand& job, Time now) {
  if (!job.deadline || job.rigid()) return;
  std::optional<int> need;
  if (job.sized) {
    need = job.wish;
  } else if (job.work_left) {
    need = size_in_time(job, seconds_between(now, *job.deadline));
    job.wish = need.value_or(largest(job));
  }
  if (need && job.deadline_counts) job.floor = std::max(job.floor, *need);
  job.wish = std::max(job.wish, job.floor);
}

bool is_urgent(const QueueState& state, const Demand& job, Time now) {
  const auto span = urgent_span(state, job);
  return span && now >= span->from && now <= span->until;
}

void serve_urgent(Draft& draft) {
  std::vector<int> late;
  for (int i = 0; i < static_cast<int>(draft.state.jobs.size()); ++i) {
    const Demand& job = draft.job(i);
    if (!job.deadline || !job.deadline_counts) continue;
    if (job.queued()) {
      if (const auto span = urgent_span(draft.state, job); span && span->from > draft.now)
        draft.wake_at(span->from);
    } else if (job.allocation.workers < job.floor && job.lacking() == 0 && job.written && !draft.granted(i) &&
               draft.can_change(i)) {
      late.push_back(i);
    }
  }
  std::ranges::stable_sort(late, {}, [&](int i) { return -draft.job(i).priority; });
  for (const int i : late) {
    const Demand& job = draft.job(i);
    Ledger& ledger = draft.ledgers[job.allocation.pool];
    const int more = job.floor - job.allocation.workers;
    const Resources need = job.of(more);
    if (more > quota_room(draft.quotas, job)) continue;
    if (fits(need, ledger.free - ledger.promised)) {
      ledger.free -= need;
      take(draft.quotas, job, more);
      Grant grant{.job = i, .kind = Grant::Kind::Grow, .allocation = job.allocation};
      grant.allocation.workers = job.floor;
      grant.left = seconds_left_or_guess(job, job.allocation.workers, draft.now);
      grant.saved = grant.left - seconds_left_or_guess(job, job.floor, draft.now);
      draft.add(grant);
      continue;
    }
    Room room(draft.state, draft.ledgers);
    if (free_only_in(job, job.allocation.pool) || !fits(need, room.of(job.allocation.pool, job))) continue;
    ledger.promised += need;
    take(draft.quotas, job, more);
    Grant grant{.job = i, .kind = Grant::Kind::Promise, .allocation = job.allocation};
    grant.allocation.promised = job.floor;
    grant.allocation.time = draft.now;
    draft.add(grant);
  }
}

}  // namespace emj::queue
