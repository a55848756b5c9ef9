// SPDX-License-Identifier: Apache-2.0
#include "runtime/sidecar/agent_client.hpp"

#include <unistd.h>

#include <chrono>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::sidecar {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kLongest = std::size_t{4} << 20;  // what the operator takes of an answer, too
constexpr HttpBounds kLook{milliseconds(300), milliseconds(1000), kLongest};
// Below the 1.1 s that the operator waits for us at least where nothing speaks against this pod.
constexpr HttpBounds kReport{milliseconds(300), milliseconds(1000), kLongest};
// The agent is the tenant's, and our memory is small.
constexpr json_text::Limits kReadable{json_text::kDeepestMessage, kLongest / 16};

}  // namespace

AgentClient::AgentClient(std::string socket, const std::string& host, int port, agent::TokenFile* token,
                         std::string pod_uid)
    : socket_(std::move(socket)),
      looks_{{socket_, kLook}, {host + ":" + std::to_string(port), kLook}},
      reports_{{socket_, kReport}, {host + ":" + std::to_string(port), kReport}},
      token_(token),
      pod_uid_(std::move(pod_uid)) {}

HttpAnswer AgentClient::ask(Ways& ways, const std::string& target, const std::string& token) const {
  BoundedHttp& way = ::access(socket_.c_str(), F_OK) == 0 ? ways.socket : ways.port;
  return way.ask("GET", target, token);
}

HttpAnswer AgentClient::report(std::int64_t since, std::int64_t fence, const std::string& token) {
  const std::string target =
      std::string(paths::kReport) + "?since=" + std::to_string(since) + "&fence=" + std::to_string(fence);
  const std::scoped_lock lock(reports_mutex_);
  return ask(reports_, target, token);
}

std::optional<AgentView> AgentClient::look() {
  try {
    const std::string token = token_ ? token_->current() : "";
    const std::string target = std::string(paths::kReport) + "?since=" + std::to_string(since_);
    const HttpAnswer answer = ask(looks_, target, token);
    if (answer.status == 0) throw std::runtime_error(target + ": " + answer.problem);
    if (answer.status != 200)
      throw std::runtime_error(target + ": status " + std::to_string(answer.status) + ", " + answer.body);
    auto report = json_text::parse(answer.body, kReadable).get<Report>();
    const MembershipView& member = report.view;
    AgentView view;
    view.epoch = member.membership.epoch.value;
    view.pods = static_cast<int>(member.membership.members.size());
    view.parked_helpers = member.parked_helpers;
    view.parked_seconds = member.parked_seconds;
    view.lead = !member.membership.members.empty() && member.membership.lead().uid == pod_uid_;
    if (view.lead) {
      view.changes = std::move(report.changes);
      view.job_windows = std::move(report.windows);
      // The newest may still lack pods: it is asked for again.
      if (view.job_windows.size() > 1) since_ = std::prev(view.job_windows.end(), 2)->index;
    }
    complained_ = false;
    return view;
  } catch (const std::exception& e) {
    if (!complained_)
      log::warn("cannot ask this pod's agent ({}); figures of the job are left out until it answers",
                e.what());
    complained_ = true;
    return std::nullopt;
  }
}

}  // namespace empi::sidecar
