// SPDX-License-Identifier: Apache-2.0
// A job in a few lines of text. Pure.
#pragma once
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operator/api/job.hpp"
#include "operator/programs/empi/recorder.hpp"

namespace emj::cli {

std::string duration_text(double seconds);    // 1:02:03 or 2:03
std::string clock_text(Time time);            // 14:05:00
std::string clock_text(Time time, Time now);  // with the date, unless it is today
std::string decision_text(const DecisionRecord& decision);
// "" when nothing is emulated.
std::string tasks_text(const TaskStatus& tasks);
std::string emulation_text(const JobSpec& spec);
// How long until progress reaches 1, from its rate over the last minute.
class RemainingTime {
 public:
  void add(double time_s, double progress);
  std::optional<double> seconds() const;

 private:
  std::deque<std::pair<double, double>> points_;
};

// "2 workers (4 wanted)": members now and, where it is another number, how many there are to be.
std::string sizes_text(const JobStatus& status);
// The application's progress.json: time_s and end_s (simulated), cells, progress (0..1), phase (a text); what
// is absent is left out. Adds the progress to `remaining`.
std::string progress_text(const std::string& progress_json, double now_s, RemainingTime& remaining);

// One line: "demo  Running  4 workers x 2 = 8 ranks  efficiency 83 %  1:02".
std::string job_line(const ElasticMPIJob& job, const LiveFigures& figures, double run_seconds);
std::vector<std::string> view_lines(const ElasticMPIJob& job, const LiveFigures& figures, double run_seconds,
                                    const std::string& progress);

}  // namespace emj::cli
