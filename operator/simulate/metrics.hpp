// SPDX-License-Identifier: Apache-2.0
// What a schedule was worth.
#pragma once
#include <functional>

#include "operator/simulate/schedule_run.hpp"

namespace emj::simulate {

// Seconds, unless said otherwise.
struct Summary {
  int jobs = 0;
  double mean_wait = 0, median_wait = 0, p95_wait = 0, longest_wait = 0;
  double mean_turnaround = 0, median_turnaround = 0, p95_turnaround = 0;
  double bounded_slowdown = 0;  // mean of max(1, turnaround / max(10, run time at the reference size))
  double makespan = 0;          // from the first arrival to the last end
  double utilisation = 0;       // processor seconds held over those there were
  double useful_utilisation =
      0;  // the same of what one worker each would have needed: resizing cannot raise it
  double processor_hours = 0;
  double changes_per_job = 0;
  double jain = 0;                  // fairness index of Jain over the stretch: 1 when all are equal
  double expected_start_error = 0;  // median of |told - true| / wait, of those who were told a start
};

enum class JobClass { All, Rigid, Malleable };

Summary summarise(const Workload& workload, const ScheduleRun& run, JobClass which = JobClass::All);

// Share of the jobs with a deadline that have met it.
double deadlines_met(const Workload& workload, const ScheduleRun& run, JobClass which = JobClass::All);

// Share of the jobs of a class that end more than an hour later than in the other schedule.
double late_share(const Workload& workload, const ScheduleRun& run, const ScheduleRun& other, JobClass which);

}  // namespace emj::simulate
