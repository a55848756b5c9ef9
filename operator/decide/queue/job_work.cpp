// SPDX-License-Identifier: Apache-2.0
// How much of a job is done, and how much is left, as its status and what is said of it tell (rule Q12).

#include <algorithm>

#include "operator/decide/queue/job_demand.hpp"
#include "operator/decide/queueing.hpp"

namespace emj::queue {
namespace {

// Of speed 1, by the sizes that it has run at since then, which began with `size`.
double work_since(const ElasticMPIJob& job, Time then, int size, const Curve& curve, Time now) {
  double work = 0;
  const auto run_until = [&](Time end) {
    work += std::max(0.0, seconds_between(then, end)) * curve.speed_of(std::max(1, size));
  };
  for (const SizeChange& change : job.status.policy_state.changes) {
    if (change.time <= then || change.time > now) continue;
    run_until(change.time);
    then = change.time, size = change.to;
  }
  run_until(now);
  return work;
}

// Seconds that its workers have had until `end`, one after the other, from its first changes that are known.
double worker_seconds_since(const std::vector<SizeChange>& changes, Time end) {
  double sum = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Time until = i + 1 < changes.size() ? changes[i + 1].time : end;
    sum += changes[i].to * std::max(0.0, seconds_between(changes[i].time, until));
  }
  return sum;
}

// What changes have cost, of speed 1: the queue's doing, and not the program's.
double work_lost(const std::vector<SizeChange>& changes, const Curve& curve, Time end) {
  double lost = 0;
  for (const SizeChange& change : changes) {
    if (change.from == 0 || change.time > end) continue;
    lost += std::min(change.cost_seconds, seconds_between(change.time, end)) *
            curve.speed_of(std::max(1, change.to));
  }
  return lost;
}

bool goes_on_from_a_checkpoint(const JobStatus& status) {
  return status.checkpoint && status.checkpoint->restored_iteration > 0;
}

// A phase of tasks is the whole of a program that has one. One that has had others before will have others:
// as much again as it has done.
bool is_of_a_later_phase(const JobStatus& status) {
  return status.forecast->source == ForecastSource::Tasks && status.tasks && status.tasks->phase > 1;
}

// Between its sizes along a line.
double speed_at(const Curve& curve, double workers) {
  const int low = curve.at_most(static_cast<int>(workers)), high = std::min(low + 1, curve.count() - 1);
  if (low == high) return curve.speed(low);
  const double part = (workers - curve.size(low)) / (curve.size(high) - curve.size(low));
  return curve.speed(low) + part * (curve.speed(high) - curve.speed(low));
}

// Of speed 1, before the first change that is known: at the mean of the sizes.
double work_before_changes(const ElasticMPIJob& job, const Curve& curve, Time end) {
  const JobStatus& status = job.status;
  const auto& changes = status.policy_state.changes;
  const double seconds = std::max(0.0, seconds_between(*status.start_time, changes.front().time));
  if (!status.usage) return seconds * curve.speed_of(std::max(1, changes.front().from));
  const double of_workers =
      std::max(0.0, worker_seconds(*status.usage, end) - worker_seconds_since(changes, end));
  const double mean =
      std::clamp<double>(of_workers / std::max(1.0, seconds), curve.size(0), curve.sizes().back());
  const double computed = of_workers / mean;
  // Usage adds up over suspensions, too, whose runs were for nothing without a checkpoint.
  return (goes_on_from_a_checkpoint(status) ? computed : std::min(computed, seconds)) * speed_at(curve, mean);
}

}  // namespace

double work_done(const ElasticMPIJob& job, const Curve& curve, Time end) {
  const JobStatus& status = job.status;
  const auto& changes = status.policy_state.changes;
  const bool has_run = !changes.empty() || !status.active_workers.empty();
  if (!status.start_time || !has_run) return 0;
  if (changes.empty()) return work_since(job, *status.start_time, allocated_workers(job.status), curve, end);
  const double known = work_since(job, changes.front().time, changes.front().to, curve, end) -
                       work_lost({changes.begin() + 1, changes.end()}, curve, end);
  // The first of a run comes from no workers; start_time is that of the job's first run.
  const bool all = changes.front().from == 0 && !goes_on_from_a_checkpoint(status);
  return std::max(0.0, all ? known : known + work_before_changes(job, curve, end));
}

std::optional<double> work_left(const ElasticMPIJob& job, const Curve& curve, std::optional<double> said,
                                double speed, Time now) {
  const JobStatus& status = job.status;
  if (const auto& forecast = status.forecast; forecast && allocated_workers(job.status) > 0) {
    const int told_for = forecast->workers > 0 ? forecast->workers : status.active_workers.size();
    const double told = curve.speed_of(std::max(1, told_for)) * speed;
    const double done = work_since(job, forecast->time, told_for, curve, now) * speed;
    double work = forecast->seconds_left * told;
    if (is_of_a_later_phase(status)) work = std::max(work, work_done(job, curve, forecast->time) * speed);
    for (double more = std::max(told, work); work <= done; more *= 2) work += more;
    return work - done;
  }
  if (!said) return std::nullopt;
  const double all = *said * curve.speed_of(reference_size(job.spec));
  if (allocated_workers(job.status) == 0 || !status.start_time) return all;
  const double done = work_done(job, curve, now) * speed;
  double work = all;
  while (work <= done) work *= 2;
  return work - done;
}

}  // namespace emj::queue
