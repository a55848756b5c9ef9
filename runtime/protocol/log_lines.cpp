// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/log_lines.hpp"

#include <algorithm>
#include <array>

namespace empi {
namespace {

constexpr std::string_view kAgent = "agent";
constexpr std::array<std::string_view, 3> kProblems = {"warning:", "error:", "critical:"};
constexpr std::array<std::string_view, 3> kNotes = {"trace:", "debug:", "info:"};

// The text up to the next space, which is taken off `line`, too.
std::string_view next_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

}  // namespace

std::string rank_log_prefix(const std::string& pod, const std::string& rank) {
  return "[" + pod + " " + rank + "] ";
}

std::string agent_log_pattern(const std::string& pod) {
  return "%Y-%m-%dT%H:%M:%S.%e " + pod + " " + std::string(kAgent) + " %l: %v";
}

LogLine kind_of_log_line(std::string_view pod, std::string_view line) {
  std::string_view first = next_word(line);
  if (first.starts_with('[')) return first.substr(1) == pod ? LogLine::OfRank : LogLine::Other;
  if (next_word(line) != pod || next_word(line) != kAgent) return LogLine::Other;
  const std::string_view level = next_word(line);
  if (std::ranges::find(kProblems, level) != kProblems.end()) return LogLine::AgentProblem;
  return std::ranges::find(kNotes, level) != kNotes.end() ? LogLine::AgentNote : LogLine::Other;
}

}  // namespace empi
