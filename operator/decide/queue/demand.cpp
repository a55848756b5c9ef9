// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/demand.hpp"

#include <algorithm>
#include <cmath>

namespace emj::queue {

int yields_down_to(const Demand& job, int other, Donation donation) {
  int least = job.priority <= other ? job.floor : std::max(job.floor, job.reference);
  if (donation == Donation::Chosen) least = std::max(least, job.keeps);
  return std::min(job.allocation.workers, least);
}

SizesIn sizes_in(const Demand& job, int pool) {
  for (const SizesIn& sizes : job.sizes_in)
    if (sizes.pool == pool) return sizes;
  return {pool, job.floor, job.wish};
}

std::optional<double> seconds_left_at(const Demand& job, int workers, double speed) {
  if (!job.work_left) return std::nullopt;
  return *job.work_left / (job.curve->speed_of(workers) * speed);
}

std::optional<double> seconds_left(const Demand& job, int workers) {
  return seconds_left_at(job, workers, job.speed);
}

double seconds_left_or_guess(const Demand& job, int workers, Time now) {
  if (const auto known = seconds_left(job, workers)) return *known;
  const double run = job.queued() ? 0 : seconds_between(job.started, now);
  const double present = job.curve->speed_of(job.queued() ? workers : job.allocation.workers);
  return std::max(kShortestGuess, run) * present / job.curve->speed_of(workers);
}

std::optional<Time> end_at_floor(const Demand& job, Time now, WhenUnknown unknown) {
  const int promised = job.allocation.promised > 0 ? job.allocation.promised : job.floor;
  const int size = job.queued() ? promised : std::min(job.floor, job.allocation.workers);
  const auto left =
      unknown == WhenUnknown::Guess ? seconds_left_or_guess(job, size, now) : seconds_left(job, size);
  if (!left) return std::nullopt;
  if (job.queued()) return after(now, *left);
  const bool could_shrink = job.allocation.workers > size || job.resizing;
  const Time runs = std::max(now, job.paused_until);
  return std::max(after(runs, *left + (could_shrink ? job.lost_seconds : 0)), now + Millis(1));
}

Time after(Time from, double seconds) {
  constexpr double kLongest = 1e10;
  return from + Millis(std::llround(std::min(seconds, kLongest) * 1000));
}

}  // namespace emj::queue
