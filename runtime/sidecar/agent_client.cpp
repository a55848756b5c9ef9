// SPDX-License-Identifier: Apache-2.0
#include "runtime/sidecar/agent_client.hpp"

#include <httplib.h>

#include <chrono>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/plain_http.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::sidecar {

struct AgentClient::Http {
  httplib::Client client;
  Http(const std::string& host, int port) : client(host, port) {
    // No connection is kept: the agent's side of it would look for the next request a hundred times a second.
    want_plain_answers(client);
    client.set_connection_timeout(std::chrono::milliseconds(300));
    client.set_read_timeout(std::chrono::milliseconds(700));
  }
  nlohmann::json get(const std::string& path, const std::string& token) {
    httplib::Headers headers;
    if (!token.empty()) headers.emplace("Authorization", "Bearer " + token);
    const httplib::Result answer = client.Get(path, headers);
    if (!answer) throw std::runtime_error(path + ": " + httplib::to_string(answer.error()));
    if (answer->status != 200)
      throw std::runtime_error(path + ": status " + std::to_string(answer->status) + ", " + answer->body);
    return json_text::parse(answer->body, json_text::kDeepestMessage);
  }
};

AgentClient::AgentClient(const std::string& host, int port, agent::TokenFile* token, std::string pod_uid)
    : http_(std::make_unique<Http>(host, port)), token_(token), pod_uid_(std::move(pod_uid)) {}

AgentClient::~AgentClient() = default;

std::optional<AgentView> AgentClient::look() {
  try {
    const std::string token = token_ ? token_->current() : "";
    const std::string path = std::string(paths::kReport) + "?since=" + std::to_string(since_);
    auto report = http_->get(path, token).get<Report>();
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
