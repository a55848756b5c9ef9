// SPDX-License-Identifier: Apache-2.0
// How HttpRuntime asks the agents of a job: what it remembers of them, which token they take, and how long
// each has. For http_runtime.cpp and http_commands.cpp alone.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "operator/agents/http_runtime.hpp"
#include "operator/agents/pod_reports.hpp"

namespace emj {

// What was found out by asking, good until then unless something is new of the pods.
struct Silence {
  std::chrono::steady_clock::time_point until{};
  Millis pause{0};
  std::string pods;
  RuntimeView view;
};

struct HttpRuntime::JobMemory {
  std::string lead_uid;
  std::unique_ptr<PodReports> lead;
  std::string led_by;                               // UID of the pod that answered last as the lead
  std::set<std::string> told_to_end, tried_to_end;  // pods, since the last look, by their UIDs
  JobCredentials credentials;                       // of `lead`
  PodReports::Sidecars sidecars;
  std::size_t next_candidate = 0;
  std::string informant_uid;  // the member that answered while the lead did not
  std::deque<empi::WindowSample> windows;
  std::deque<empi::ChangeRecord> changes;
  Silence silence;
  std::string notice;                 // the last one that was given
  std::set<std::string> told_notice;  // addresses
};

// What a connection with TLS to another zone and a busy agent take.
inline constexpr Millis kShortestShare{400};

// Of the time that a look has left, for the next of `members` that are still to be asked: as many as can have
// enough of it. As long as nothing speaks against the lead it may be slow, and has half.
inline std::chrono::steady_clock::time_point share_of(std::chrono::steady_clock::time_point end,
                                                      std::size_t members, bool trusted) {
  const auto now = std::chrono::steady_clock::now();
  const auto left = end - now;
  const auto enough = std::clamp<std::int64_t>(left / kShortestShare, 1,
                                               std::max<std::int64_t>(1, static_cast<std::int64_t>(members)));
  return now + left / (trusted && members > 1 ? 2 : enough);
}

// Asks with one token after the other until one is not refused. `stale`: the newest one was.
template <class Client, class Ask>
auto with_tokens(const std::vector<std::string>& tokens, Client& agent, bool& stale, const Ask& ask) {
  agent.use_token(tokens.front());
  auto result = ask(agent);
  for (std::size_t i = 1; i <= tokens.size(); ++i) {
    if (result || result.error().kind != AgentError::Kind::Unauthorized) break;
    stale = true;
    if (i == tokens.size()) break;
    agent.use_token(tokens[i]);
    result = ask(agent);
  }
  return result;
}

}  // namespace emj
