// SPDX-License-Identifier: Apache-2.0
#include "operator/simulate/report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "operator/decide/queue/demand.hpp"
#include "runtime/base/text.hpp"

namespace emj::simulate {
namespace {

using empi::format;

struct ClassName {
  JobClass which;
  const char* name;
};
constexpr std::array<ClassName, 3> kClasses = {
    {{JobClass::All, "all"}, {JobClass::Rigid, "rigid"}, {JobClass::Malleable, "malleable"}}};

// The figures of a summary, once for all that lists them.
struct Figure {
  const char* name;
  double Summary::* value;
};
constexpr std::array<Figure, 15> kFigures = {{{"meanWaitSeconds", &Summary::mean_wait},
                                              {"medianWaitSeconds", &Summary::median_wait},
                                              {"p95WaitSeconds", &Summary::p95_wait},
                                              {"longestWaitSeconds", &Summary::longest_wait},
                                              {"meanTurnaroundSeconds", &Summary::mean_turnaround},
                                              {"medianTurnaroundSeconds", &Summary::median_turnaround},
                                              {"p95TurnaroundSeconds", &Summary::p95_turnaround},
                                              {"boundedSlowdown", &Summary::bounded_slowdown},
                                              {"makespanSeconds", &Summary::makespan},
                                              {"utilisation", &Summary::utilisation},
                                              {"usefulUtilisation", &Summary::useful_utilisation},
                                              {"processorHours", &Summary::processor_hours},
                                              {"changesPerJob", &Summary::changes_per_job},
                                              {"jainIndexOfStretch", &Summary::jain},
                                              {"expectedStartError", &Summary::expected_start_error}}};

double since_origin(Time time) { return seconds_between(kOrigin, time); }

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += format("\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

std::string summary_table(const Workload& workload, const std::vector<Result>& results) {
  std::string text =
      format("%-10s %-10s %7s %10s %10s %12s %12s %9s %11s %8s %6s\n", "schedule", "jobs of", "jobs",
             "wait s", "longest s", "turnaround s", "p95 s", "slowdown", "processor h", "changes", "late");
  for (const Result& result : results) {
    for (const auto& [which, name] : kClasses) {
      const Summary s = summarise(workload, result.run, which);
      if (s.jobs == 0 || (which != JobClass::All && s.jobs == static_cast<int>(workload.jobs.size())))
        continue;
      text += format("%-10s %-10s %7d %10.0f %10.0f %12.0f %12.0f %9.1f %11.0f %8.2f %5.1f%%\n",
                     result.name.c_str(), name, s.jobs, s.mean_wait, s.longest_wait, s.mean_turnaround,
                     s.p95_turnaround, s.bounded_slowdown, s.processor_hours, s.changes_per_job,
                     100 * late_share(workload, result.run, results.front().run, which));
    }
  }
  return text;
}

std::string summary_json(const Trace& trace, const Workload& workload, const std::vector<Result>& results,
                         double price) {
  std::string text =
      "{\n  \"trace\": " + quoted(trace.name.substr(trace.name.rfind('/') + 1)) +
      format(
          ",\n  \"schedule\": \"%s\",\n  \"processors\": %d,\n  \"jobs\": %d,\n  \"leftOut\": {\"tooLarge\": "
          "%d, \"withoutSize\": %d, "
          "\"withoutRunTime\": %d, \"cancelled\": %d},\n  \"schedules\": {",
          results.back().name.c_str(), workload.processors, static_cast<int>(workload.jobs.size()),
          workload.too_large, trace.without_size, trace.without_run_time, trace.cancelled);
  const char* between_schedules = "\n";
  for (const Result& result : results) {
    text += between_schedules + std::string("    ") + quoted(result.name) + ": {";
    between_schedules = ",\n";
    const char* between = "\n";
    for (const auto& [which, name] : kClasses) {
      const Summary s = summarise(workload, result.run, which);
      text += between + format("      \"%s\": {\"jobs\": %d", name, s.jobs);
      between = ",\n";
      for (const Figure& figure : kFigures) text += format(", \"%s\": %.9g", figure.name, s.*figure.value);
      if (workload.deadlines())
        text += format(", \"deadlinesMet\": %.9g", deadlines_met(workload, result.run, which));
      if (price > 0) text += format(", \"cost\": %.9g", price * s.processor_hours);
      text += format(", \"lateShare\": %.9g}", late_share(workload, result.run, results.front().run, which));
    }
    text += "\n    }";
  }
  return text + "\n  }\n}\n";
}

std::string jobs_csv(const Workload& workload, const ScheduleRun& run) {
  std::string text =
      "job,class,submit,start,end,processors_requested,wait,turnaround,stretch,processor_seconds,changes";
  const bool deadlines = workload.deadlines();
  text += deadlines ? ",deadline\n" : "\n";
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    const JobRun& it = run.jobs[i];
    const double turnaround = seconds_between(job.submit, it.end);
    text += format("%s,%s,%.3f,%.3f,%.3f,%.10g,%.3f,%.3f,%.4f,%.3f,%d", job.name.c_str(),
                   job.malleable ? "malleable" : "rigid", since_origin(job.submit), since_origin(it.start),
                   since_origin(it.end), job.processors(job.reference), seconds_between(job.submit, it.start),
                   turnaround, turnaround / job.run_seconds, it.processor_seconds, it.changes);
    if (deadlines) text += job.deadline ? format(",%.3f", since_origin(*job.deadline)) : ",inf";
    text += '\n';
  }
  return text;
}

std::string timeline_csv(const ScheduleRun& run) {
  std::string text = "time,running,waiting,held,promised\n";
  for (const Moment& m : run.timeline)
    text +=
        format("%.3f,%d,%d,%.10g,%.10g\n", since_origin(m.time), m.running, m.waiting, m.held, m.promised);
  return text;
}

std::string schedule_swf(const Workload& workload, const ScheduleRun& run) {
  std::string text = format("; Version: 2.2\n; MaxProcs: %d\n; MaxRecords: %d\n", workload.processors,
                            static_cast<int>(workload.jobs.size()));
  for (const Job& job : workload.jobs)
    if (job.manifest) text += format("; Note: job %d is %s\n", job.number, job.name.c_str());
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    const JobRun& it = run.jobs[i];
    const double seconds = std::max(.001, seconds_between(it.start, it.end));
    text += format("%d %.0f %.0f %.0f %ld -1 -1 %d %.0f -1 1 %d -1 -1 -1 -1 -1 -1\n", job.number,
                   since_origin(job.submit), seconds_between(job.submit, it.start), std::max(1.0, seconds),
                   std::max(1L, std::lround(it.processor_seconds / seconds)),
                   std::max(1, static_cast<int>(std::ceil(job.processors(job.reference)))), job.estimate,
                   job.user);
  }
  return text;
}

std::string starts_log(const Workload& workload, const ScheduleRun& run) {
  std::vector<std::size_t> order(workload.jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return run.jobs[i].start; });
  std::string text;
  for (const std::size_t i : order)
    text += format("%.3f job %s starts with %d of %d workers\n", since_origin(run.jobs[i].start),
                   workload.jobs[i].name.c_str(), workload.jobs[i].reference, workload.jobs[i].reference);
  return text;
}

}  // namespace emj::simulate
