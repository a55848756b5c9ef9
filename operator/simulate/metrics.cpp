// SPDX-License-Identifier: Apache-2.0
#include "operator/simulate/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "operator/decide/queue/demand.hpp"

namespace emj::simulate {
namespace {

bool of_class(const Job& job, JobClass which) {
  return which == JobClass::All || job.malleable == (which == JobClass::Malleable);
}

// Sorts.
double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

double mean(const std::vector<double>& values) {
  return values.empty()
             ? 0
             : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

Summary summarise(const Workload& workload, const ScheduleRun& run, JobClass which) {
  std::vector<double> waits, turnarounds, slowdowns, errors;
  Summary summary;
  double held = 0, useful = 0, changes = 0, stretch = 0, stretch_squared = 0;
  Time first = Time::max(), last = Time::min();
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    const JobRun& it = run.jobs[i];
    if (!of_class(job, which)) continue;
    const double wait = seconds_between(job.submit, it.start);
    const double turnaround = seconds_between(job.submit, it.end);
    waits.push_back(wait);
    turnarounds.push_back(turnaround);
    slowdowns.push_back(std::max(1.0, turnaround / std::max(10.0, job.run_seconds)));
    if (it.expected_start && wait > 0)
      errors.push_back(std::abs(seconds_between(*it.expected_start, it.start)) / wait);
    held += it.processor_seconds;
    useful += job.run_seconds / job.single * job.processors(1);
    changes += it.changes;
    stretch += slowdowns.back();
    stretch_squared += slowdowns.back() * slowdowns.back();
    first = std::min(first, job.submit);
    last = std::max(last, it.end);
  }
  summary.jobs = static_cast<int>(waits.size());
  if (waits.empty()) return summary;
  summary.mean_wait = mean(waits);
  summary.mean_turnaround = mean(turnarounds);
  summary.bounded_slowdown = mean(slowdowns);
  summary.median_wait = quantile(waits, .5);
  summary.p95_wait = quantile(waits, .95);
  summary.longest_wait = waits.back();
  summary.median_turnaround = quantile(turnarounds, .5);
  summary.p95_turnaround = quantile(turnarounds, .95);
  summary.makespan = seconds_between(first, last);
  const double there = std::max(1.0, summary.makespan * workload.processors);
  summary.utilisation = held / there;
  summary.useful_utilisation = useful / there;
  summary.processor_hours = held / 3600;
  summary.changes_per_job = changes / summary.jobs;
  summary.jain = stretch * stretch / (summary.jobs * stretch_squared);
  summary.expected_start_error = quantile(errors, .5);
  return summary;
}

double deadlines_met(const Workload& workload, const ScheduleRun& run, JobClass which) {
  int jobs = 0, met = 0;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    if (!job.deadline || !of_class(job, which)) continue;
    ++jobs;
    met += run.jobs[i].end <= *job.deadline;
  }
  return jobs == 0 ? 1 : static_cast<double>(met) / jobs;
}

double late_share(const Workload& workload, const ScheduleRun& run, const ScheduleRun& other,
                  JobClass which) {
  int jobs = 0, late = 0;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    if (!of_class(workload.jobs[i], which)) continue;
    ++jobs;
    late += seconds_between(other.jobs[i].end, run.jobs[i].end) > 3600;
  }
  return jobs == 0 ? 0 : static_cast<double>(late) / jobs;
}

}  // namespace emj::simulate
