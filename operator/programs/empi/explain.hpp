// SPDX-License-Identifier: Apache-2.0
// A job's status in words: why it has the size that it has, and what happened. Pure.
#pragma once
#include <string>
#include <vector>

#include "operator/api/job.hpp"

namespace emj::cli {

const char* meaning(ResizePhase phase);

// What was asked for and who decides, what the change in hand or the next one waits for, the recorded
// decisions, and what an iteration takes by the number of workers, as measured and as the model has it.
std::vector<std::string> why_lines(const ElasticMPIJob& job, Time now);

// The changes of size, the decisions and how the last change went.
std::vector<std::string> history_lines(const ElasticMPIJob& job);

}  // namespace emj::cli
