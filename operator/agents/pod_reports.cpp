// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/pod_reports.hpp"

#include <algorithm>

namespace emj {
namespace {

constexpr std::int64_t kNoWindows = std::int64_t{1} << 53;
constexpr Millis kForAgent{300};  // at least

}  // namespace

PodReports::PodReports(const std::string& agent, const std::string& sidecar, AgentTimeouts timeouts,
                       const JobCredentials& credentials)
    : agent_(agent, "", timeouts, "agent", credentials),
      sidecar_(sidecar, "", timeouts, "sidecar", credentials),
      has_sidecar_(!sidecar.empty()) {}

void PodReports::use_token(const std::string& token) {
  agent_.use_token(token);
  sidecar_.use_token(token);
}

AgentResult<empi::Report> PodReports::report(std::int64_t since, std::int64_t fence, Sidecars& sidecars,
                                             const std::function<Instant()>& clock, Instant end) {
  unmeasured_.clear();
  agent_.end_by(end);
  const auto left = end - std::chrono::steady_clock::now();
  sidecar_.end_by(end - std::max<Instant::duration>(kForAgent, sidecars.speak ? left / 4 : left * 2 / 3));
  if (!has_sidecar_ || sidecars.lack) return agent_.report(since, fence);
  const Instant start = clock();
  if (start >= asked_again_) {
    auto told = agent_.taking(fence, [&] { return sidecar_.told(since, fence); });
    if (told) {
      sidecars.speak = true;
      silence_.clear();
      pause_ = Millis(0);
      return told;
    }
    switch (told.error().kind) {
      case AgentError::Kind::Unauthorized:
      case AgentError::Kind::Conflict:  // of the agent: another controller has the job
      case AgentError::Kind::NoAgent:   // asked directly it would cost the same time again
        return told;
      case AgentError::Kind::NotFound:
        sidecars.lack = true;
        return agent_.report(since, fence);
      default:
        break;
    }
    silence_ = told.error().message;
    const Instant given_up = clock();
    pause_ = given_up - start < kCostly ? Millis(0) : std::clamp(2 * pause_, kFirstPause, kLongestPause);
    asked_again_ = given_up + pause_;
  }
  if (!sidecars.speak) return agent_.report(since, fence);
  unmeasured_ = silence_;
  return agent_.report(kNoWindows, fence);
}

}  // namespace emj
