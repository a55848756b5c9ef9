// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/reserve.hpp"

#include <algorithm>

namespace emj::queue {

std::vector<End> ends_at_floor(const QueueState& state, int pool, int priority,
                               const std::vector<Admitted>& admitted, Time now, WhenUnknown unknown) {
  std::vector<End> ends;
  for (const Demand& job : state.jobs) {
    if (job.allocation.pool != pool || (job.queued() && job.allocation.promised == 0)) continue;
    const int workers = job.queued() ? job.allocation.promised : yields_down_to(job, priority);
    if (const auto end = end_at_floor(job, now, unknown)) ends.push_back({*end, job.of(workers)});
  }
  for (const Admitted& entry : admitted) {
    const Demand& job = state.jobs[entry.job];
    if (entry.pool != pool) continue;
    const int floor = sizes_in(job, pool).floor;
    if (const auto left = seconds_left_at(job, floor, state.pools[pool].speed))
      ends.push_back({after(now, *left), job.of(floor)});
    else if (unknown == WhenUnknown::Guess)
      ends.push_back({after(now, kShortestGuess), job.of(floor)});
  }
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.time < b.time; });
  return ends;
}

Shadow shadow(const std::vector<End>& ends, Resources available, const Resources& need, Time now) {
  if (fits(need, available)) return {now, available - need};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    available += ends[i].freed;
    const bool last_of_its_time = i + 1 == ends.size() || ends[i + 1].time > ends[i].time;
    if (last_of_its_time && fits(need, available)) return {ends[i].time, available - need};
  }
  return {std::nullopt, {}};
}

Profile::Profile(Resources available, const std::vector<End>& ends, Time now) {
  levels_.push_back({now, available});
  for (const End& end : ends) {
    available += end.freed;
    if (end.time > levels_.back().from) levels_.push_back({end.time, available});
    levels_.back().free = available;
  }
}

std::optional<Time> Profile::earliest(const Resources& need, std::optional<double> seconds) const {
  std::optional<Time> start;
  for (const Level& level : levels_) {
    if (start && seconds && level.from >= after(*start, *seconds)) return start;
    if (!fits(need, level.free)) {
      start.reset();
    } else if (!start) {
      start = level.from;
    }
  }
  return start;
}

std::size_t Profile::split(Time at) {
  std::size_t i = 0;
  while (i + 1 < levels_.size() && levels_[i + 1].from <= at) ++i;
  if (levels_[i].from == at) return i;
  levels_.insert(levels_.begin() + static_cast<std::ptrdiff_t>(i) + 1, {at, levels_[i].free});
  return i + 1;
}

void Profile::take(Time from, std::optional<double> seconds, const Resources& need) {
  const std::size_t first = split(from);
  const std::size_t last = seconds ? split(after(from, *seconds)) : levels_.size();
  for (std::size_t i = first; i < last; ++i) levels_[i].free -= need;
}

}  // namespace emj::queue
