// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/log_lines.hpp"

#include <gtest/gtest.h>

namespace empi {
namespace {

// As spdlog writes it by the agent's pattern.
std::string of_agent(const std::string& pod, const std::string& level, const std::string& text) {
  std::string line = agent_log_pattern(pod);
  for (const auto& [flag, value] :
       {std::pair<std::string, std::string>{"%Y-%m-%dT%H:%M:%S.%e", "2026-01-31T12:00:00.250"},
        {"%l", level},
        {"%v", text}})
    line.replace(line.find(flag), flag.size(), value);
  return line;
}

TEST(LogLines, TellWhoSaidThem) {
  EXPECT_EQ(kind_of_log_line("demo-w-0", rank_log_prefix("demo-w-0", "demo.1/3") + "42 cells"),
            LogLine::OfRank);
  for (const char* level : {"warning", "error", "critical"})
    EXPECT_EQ(kind_of_log_line("demo-w-0", of_agent("demo-w-0", level, "no room")), LogLine::AgentProblem)
        << level;
  for (const char* level : {"trace", "debug", "info"})
    EXPECT_EQ(kind_of_log_line("demo-w-0", of_agent("demo-w-0", level, "ready")), LogLine::AgentNote)
        << level;
}

TEST(LogLines, WordsWithinALineTellNothing) {
  EXPECT_EQ(kind_of_log_line("demo-w-0", of_agent("demo-w-0", "info", "it said: demo agent error: none")),
            LogLine::AgentNote);
  EXPECT_EQ(kind_of_log_line("demo-w-0", "an agent error: of somebody else"), LogLine::Other);
  EXPECT_EQ(kind_of_log_line("demo-w-0", of_agent("demo-w-1", "error", "of another pod")), LogLine::Other);
  EXPECT_EQ(kind_of_log_line("demo-w-0", rank_log_prefix("demo-w-01", "demo.1/3")), LogLine::Other);
  for (const char* line :
       {"", " ", "[", "[demo-w-0", "x demo-w-0", "x demo-w-0 agent", "x demo-w-0 agent error"})
    EXPECT_NE(kind_of_log_line("demo-w-0", line), LogLine::AgentProblem) << line;
}

}  // namespace
}  // namespace empi
