// SPDX-License-Identifier: Apache-2.0
#include "operator/simulate/beliefs.hpp"

#include <algorithm>
#include <cmath>

#include "operator/decide/queue/job_demand.hpp"
#include "runtime/base/hash.hpp"

namespace emj::simulate {
namespace {

constexpr std::size_t kMeasuredKept = 16;  // as a job's status keeps them
constexpr std::size_t kChangesKept = 5;    // likewise
constexpr int kFewWindows = 4, kManyWindows = 30;

}  // namespace

double drawn_noise(std::uint64_t seed, int id, int measurement) {
  const std::uint64_t job = empi::split_mix64(seed * empi::kSplitMix64Step + static_cast<std::uint64_t>(id));
  const std::uint64_t bits =
      empi::split_mix64(job + static_cast<std::uint64_t>(measurement) * empi::kSplitMix64Step);
  return 2 * static_cast<double>(bits >> 11) * 0x1.0p-53 - 1;
}

MeasuredSize measured_size(const Job& job, int workers, Time time, double noise) {
  const double seconds = (1 + noise) / job.curve->speed_of(workers);
  const double efficiency = std::min(1.0, job.curve->speed_of(workers) / (workers * job.single));
  MeasuredSize measured;
  measured.workers = workers;
  measured.efficiency_percent = static_cast<int>(std::lround(100 * efficiency));
  measured.iteration_seconds = seconds;
  measured.time = time;
  measured.compute_seconds = measured.useful_seconds = efficiency * seconds;
  return measured;
}

void Beliefs::come(int id) {
  const Job& job = workload_.jobs[id];
  if (exact() || !job.malleable) return;
  Known& known = known_[id];
  known.job = manifest_of(job);
  known.key = queue::model_key(known.job.spec);
}

void Beliefs::computes(int id, int workers, Time now, double cost_seconds) {
  const auto found = known_.find(id);
  if (found == known_.end()) return;
  JobStatus& status = found->second.job.status;
  if (!status.start_time) status.start_time = now;
  if (!status.usage) status.usage = UsageStatus{now, 0, 0, now};
  const int before = status.usage->workers;
  status.usage = UsageStatus{status.usage->since, worker_seconds(*status.usage, now), workers, now};
  auto& changes = status.policy_state.changes;
  changes.push_back({now, before, workers, cost_seconds});
  if (changes.size() > kChangesKept) changes.erase(changes.begin());
}

void Beliefs::measure(int id, const Stay& stay, Time now) {
  const auto found = known_.find(id);
  if (found == known_.end()) return;
  Known& known = found->second;
  auto& measured = known.job.status.policy_state.measured;
  std::erase_if(measured, [&](const MeasuredSize& old) { return old.workers == stay.workers; });
  const int windows = stay.well ? kManyWindows : kFewWindows;
  double noise = 0;
  for (int i = 0; i < windows; ++i) noise += drawn_noise(seed_, id, stay.number * kManyWindows + i) / windows;
  measured.push_back(measured_size(workload_.jobs[id], stay.workers, now, noise_ * noise));
  if (measured.size() > kMeasuredKept) measured.erase(measured.begin());
  known.curve.reset();
  queue::learn_points(status_.models, known.job);
}

std::optional<double> Beliefs::ended(int id, const queue::Demand& demand, Time now) {
  const auto found = known_.find(id);
  if (found == known_.end()) return std::nullopt;
  ElasticMPIJob& before = found->second.job;
  before.status.allocation = AllocationStatus{};
  before.status.allocation->workers = demand.allocation.workers;
  ElasticMPIJob after = before;
  after.status.completion_time = now;
  after.status.state = JobState::Succeeded;
  std::optional<double> taken;
  if (measures()) {
    taken = queue::run_seconds(before, now);
    queue::learn_end(status_, before, after);
  }
  lessons_.forget(demand.uid);
  known_.erase(found);
  return taken;
}

void Beliefs::teach(int id, queue::Demand& demand, Time now) {
  const auto found = known_.find(id);
  if (found == known_.end()) return;
  Known& known = found->second;
  auto& allocation = known.job.status.allocation;
  const int before = allocation ? allocation->workers : 0;
  if (!known.curve || before != demand.allocation.workers) {
    allocation = AllocationStatus{};
    allocation->workers = demand.allocation.workers;
    const int present = demand.queued() ? demand.reference : demand.allocation.workers;
    known.curve = queue::curve_over(known.job, workload_.jobs[id].curve->sizes(), present, objective_);
  }
  demand.curve = known.curve;
  demand.trusted = std::max(queue::trusted_size(known.job), demand.floor);
  if (measures()) lessons_.teach(demand, known.job, known.key, status_, objective_, now);
}

}  // namespace emj::simulate
