#pragma once

// A job in a few lines of text. Pure.

#include <string>
#include <vector>

#include "operator/api/job.hpp"
#include "operator/cli/recorder.hpp"

namespace emj::cli {

std::string duration_text(double seconds);  // 1:02:03 or 2:03
std::string decision_text(const DecisionRecord& decision);
// "" when nothing is emulated.
std::string emulation_text(const JobSpec& spec);
// The application's progress.json: simulated_s, end_s, cells, eta_s, message; what is absent is left out.
std::string progress_text(const std::string& progress_json);

// One line: "demo  Running  4 workers x 2 = 8 ranks  efficiency 83 %  1:02".
std::string job_line(const ElasticMPIJob& job, const LiveFigures& figures, double run_seconds);
std::vector<std::string> view_lines(const ElasticMPIJob& job, const LiveFigures& figures, double run_seconds,
                                    const std::string& progress);

}  // namespace emj::cli
