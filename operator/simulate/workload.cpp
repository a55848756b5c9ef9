// SPDX-License-Identifier: Apache-2.0
#include "operator/simulate/workload.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "operator/decide/queue/demand.hpp"
#include "runtime/base/hash.hpp"

namespace emj::simulate {
namespace {

constexpr double kFloorEfficiency = .95;
constexpr double kLeastEfficiency = .5;
constexpr double kLie = 60;  // seconds

// [0, 1), the same with every standard library.
double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1.0p-53; }

// By how much the efficiency of a program differs from the model's: the same for all its runs.
double drawn_spread(const TraceJob& job, const WorkloadOptions& options) {
  if (options.spread_percent <= 0) return 0;
  const auto program =
      static_cast<std::uint64_t>(job.user) * 1'000'003 + static_cast<std::uint64_t>(job.processors);
  const std::uint64_t bits = empi::split_mix64(options.seed * empi::kSplitMix64Step + program);
  return options.spread_percent / 100 * (2 * static_cast<double>(bits >> 11) * 0x1.0p-53 - 1);
}

// Users, drawn at random, who have so many of the jobs together.
std::set<int> draw_liars(const Trace& trace, double percent, std::uint64_t seed) {
  std::map<int, int> jobs;
  for (const TraceJob& job : trace.jobs) ++jobs[job.user];
  std::vector<std::pair<std::uint64_t, int>> order;
  for (const auto& [user, count] : jobs)
    order.emplace_back(empi::split_mix64(seed * empi::kSplitMix64Step + static_cast<std::uint64_t>(user)),
                       user);
  std::ranges::sort(order);
  const double wanted = percent / 100 * static_cast<double>(trace.jobs.size());
  std::set<int> liars;
  double have = 0;
  for (const auto& [place, user] : order) {
    // Whoever has more than is left is not asked: one user may have a tenth of all.
    if (have + jobs[user] > wanted) continue;
    have += jobs[user];
    liars.insert(user);
  }
  return liars;
}

}  // namespace

bool Workload::deadlines() const {
  return std::ranges::any_of(jobs, [](const Job& job) { return job.deadline.has_value(); });
}

Workload make_workload(const Trace& trace, int processors, const WorkloadOptions& options) {
  Workload workload;
  workload.processors = processors;
  std::mt19937_64 random(options.seed);
  // Jobs of one request share a curve.
  std::map<std::tuple<int, int, int, double>, std::shared_ptr<const queue::Curve>> curves;
  const std::set<int> liars =
      options.liars_percent > 0 ? draw_liars(trace, options.liars_percent, options.seed) : std::set<int>();
  double first = -1;
  for (const TraceJob& source : trace.jobs) {
    if (options.jobs > 0 && static_cast<int>(workload.jobs.size()) >= options.jobs) break;
    const bool drawn = uniform(random) * 100 < options.malleable_percent;
    if (source.processors > processors) {
      ++workload.too_large;
      continue;
    }
    if (first < 0) first = source.submit;
    Job job;
    job.number = source.number;
    job.name = std::to_string(source.number);
    job.user = source.user;
    job.submit = queue::after(kOrigin, first + (source.submit - first) / options.load);
    job.run_seconds = source.run_seconds;
    if (options.deadline_factor > 0)
      job.deadline = queue::after(job.submit, options.deadline_factor * job.run_seconds);
    job.lies = liars.contains(source.user);
    job.estimate = job.lies ? kLie : source.estimate;
    job.reference = job.floor = job.most = source.processors;
    job.malleable = drawn && source.processors > 1;
    if (job.malleable) {
      const int held_up = static_cast<int>(std::ceil(options.floor_percent / 100 * job.reference));
      const int least = options.speedup.size_at(kFloorEfficiency, job.reference, job.reference);
      job.floor = std::clamp(std::max(least, held_up), 1, job.reference);
      job.most =
          std::max(job.reference, options.speedup.size_at(kLeastEfficiency, job.reference, processors));
    }
    const double off = drawn_spread(source, options);
    const Speed speed = options.speedup.of(job.reference, off);
    job.single = speed(1);
    auto& curve = curves[{job.floor, job.reference, job.most, off}];
    if (!curve) {
      std::vector<int> sizes(job.most - job.floor + 1);
      std::iota(sizes.begin(), sizes.end(), job.floor);
      sizes = queue::thinned(std::move(sizes), {job.reference});
      std::vector<double> speeds;
      for (const int size : sizes) speeds.push_back(speed(size));
      curve = std::make_shared<const queue::Curve>(std::move(sizes), std::move(speeds), options.objective);
    }
    job.curve = curve;
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

Workload as_rigid(const Workload& workload) {
  Workload rigid = workload;
  for (Job& job : rigid.jobs) {
    job.floor = job.most = job.reference;
    job.malleable = false;
    job.asked.reset();
    job.curve = std::make_shared<const queue::Curve>(std::vector{job.reference}, std::vector{1.0},
                                                     queue::Objective::Fair);
  }
  return rigid;
}

}  // namespace emj::simulate
