// SPDX-License-Identifier: Apache-2.0
// The lines of a pod's log, and who said them: its ranks, whose lines the agent marks, the agent itself, or a
// program that the agent could not mark (a loader, a shell). Whoever shows a log picks by this, not by words.
#pragma once
#include <string>
#include <string_view>

namespace empi {

enum class LogLine {
  OfRank,        // "[POD NAMESPACE/RANK] ..."
  AgentProblem,  // "TIME POD agent error: ...", or warning, or critical
  AgentNote,     // "TIME POD agent info: ...", or debug, or trace
  Other
};
LogLine kind_of_log_line(std::string_view pod, std::string_view line);

// What stands before a line of a rank.
std::string rank_log_prefix(const std::string& pod, const std::string& rank);
// The agent's own lines, as spdlog wants it.
std::string agent_log_pattern(const std::string& pod);

}  // namespace empi
