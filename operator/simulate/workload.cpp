// SPDX-License-Identifier: Apache-2.0
#include "operator/simulate/workload.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

#include "operator/decide/queue/demand.hpp"

namespace emj::simulate {
namespace {

constexpr double kEfficiency = .8;  // at the reference size
constexpr double kFloorEfficiency = .95;
constexpr double kLeastEfficiency = .5;

// Largest size with this parallel efficiency under Amdahl's law: 1 + (1 / efficiency - 1) / serial fraction.
int size_at(double efficiency, int reference) {
  const double serial = (1 / kEfficiency - 1) / (reference - 1);
  return static_cast<int>(std::floor(1 + (1 / efficiency - 1) / serial + 1e-9));
}

// [0, 1), the same with every standard library.
double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1.0p-53; }

}  // namespace

Workload make_workload(const Trace& trace, int processors, const WorkloadOptions& options) {
  Workload workload;
  workload.processors = processors;
  std::mt19937_64 random(options.seed);
  // Jobs of one request share a curve.
  std::map<std::tuple<int, int, int>, std::shared_ptr<const queue::Curve>> curves;
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
    job.user = source.user;
    job.submit = queue::after(kOrigin, first + (source.submit - first) / options.load);
    job.run_seconds = source.run_seconds;
    job.estimate = source.estimate;
    job.reference = job.floor = job.most = source.processors;
    job.malleable = drawn && source.processors > 1;
    if (job.malleable) {
      const int held_up = static_cast<int>(std::ceil(options.floor_percent / 100 * job.reference));
      job.floor = std::clamp(std::max(size_at(kFloorEfficiency, job.reference), held_up), 1, job.reference);
      job.most = std::clamp(size_at(kLeastEfficiency, job.reference), job.reference, processors);
    }
    auto& curve = curves[{job.floor, job.reference, job.most}];
    if (!curve) {
      std::vector<int> sizes(job.most - job.floor + 1);
      std::iota(sizes.begin(), sizes.end(), job.floor);
      sizes = queue::thinned(std::move(sizes), {job.reference});
      curve = queue::amdahl_curve(std::move(sizes), job.reference, kEfficiency, options.objective);
    }
    job.curve = curve;
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

}  // namespace emj::simulate
