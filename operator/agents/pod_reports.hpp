// SPDX-License-Identifier: Apache-2.0
// What one pod tells of its job: its sidecar is asked, the agent is told (decision K5'). So the port of
// commands is not polled, and questions that pile up are the sidecar's trouble. When the sidecar is dead or
// hangs, the agent is asked what commands need, the membership and the changes, and not for samples.
#pragma once
#include <chrono>
#include <functional>
#include <string>

#include "operator/agents/agent_client.hpp"

namespace emj {

// Who does not answer is asked again after a pause that doubles, unless not answering cost next to nothing.
inline constexpr Millis kCostly{100};  // a refused connection costs nothing
inline constexpr Millis kFirstPause{1000}, kLongestPause{60000};

class PodReports {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  // What the sidecars of a job, which are of one version, were found to be.
  struct Sidecars {
    bool speak = false;  // one of them has told a report
    bool lack = false;   // they know no report: of an earlier version
  };

  // host:port each; no sidecar: empty.
  PodReports(const std::string& agent, const std::string& sidecar, AgentTimeouts timeouts,
             const JobCredentials& credentials = nullptr);

  AgentClient& agent() { return agent_; }
  const std::string& address() const { return agent_.address(); }
  void use_token(const std::string& token);

  // As AgentClient::report(), over by `end`. A sidecar that has cost time and not answered is asked ever less
  // often, at least once a minute; it leaves the agent 300 ms, and two thirds if none has ever told a report.
  AgentResult<empi::Report> report(std::int64_t since, std::int64_t fence, Sidecars& sidecars,
                                   const std::function<Instant()>& clock, Instant end);
  // Why the last report has no windows, in words; empty: it has what there are.
  const std::string& unmeasured() const { return unmeasured_; }

 private:
  AgentClient agent_, sidecar_;
  const bool has_sidecar_;
  Instant asked_again_{};
  Millis pause_{0};
  std::string silence_, unmeasured_;
};

}  // namespace emj
