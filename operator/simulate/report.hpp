// SPDX-License-Identifier: Apache-2.0
// What a simulation leaves behind: a table for people, files for programs. The same workload and options give
// the same bytes.
#pragma once
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "operator/simulate/metrics.hpp"

namespace emj::simulate {

// One schedule of a workload.
struct Result {
  std::string name;  // easy, moldable, elastic, ...
  ScheduleRun run;
};

// Mean, p95 and longest of waits and turnarounds, hours, changes, by schedule and class.
std::string summary_table(const Workload& workload, const std::vector<Result>& results);
// The same as JSON, with the last of the results by name, what was left out of the trace, and what the
// processor hours cost where they have a price.
std::string summary_json(const Trace& trace, const Workload& workload, const std::vector<Result>& results,
                         double price = 0);

// "job,class,submit,start,end,processors_requested,wait,turnaround,stretch,processor_seconds,changes";
// seconds since the trace begins. Where jobs have deadlines also ",deadline".
std::string jobs_csv(const Workload& workload, const ScheduleRun& run);
// "time,running,waiting,held,promised", a line where one of them has changed.
std::string timeline_csv(const ScheduleRun& run);
// The schedule as a trace in the Standard Workload Format: processors are the average over the run.
std::string schedule_swf(const Workload& workload, const ScheduleRun& run);
// Of a schedule that decides nothing but starts, what it has decided.
std::string starts_log(const Workload& workload, const ScheduleRun& run);

}  // namespace emj::simulate
