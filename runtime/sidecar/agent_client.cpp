#include "runtime/sidecar/agent_client.hpp"

#include <httplib.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <stdexcept>

#include "runtime/protocol/json.hpp"
#include "runtime/protocol/plain_http.hpp"

namespace empi::sidecar {

struct AgentClient::Http {
  httplib::Client client;
  Http(const std::string& host, int port) : client(host, port) {
    // No connection is kept: the agent's side of it would look for the next request a hundred times a second.
    want_plain_answers(client);
    client.set_connection_timeout(std::chrono::milliseconds(300));
    client.set_read_timeout(std::chrono::milliseconds(700));
  }
  nlohmann::json get(const char* path, const std::string& token) {
    httplib::Headers headers;
    if (!token.empty()) headers.emplace("Authorization", "Bearer " + token);
    const httplib::Result answer = client.Get(path, headers);
    if (!answer) throw std::runtime_error(std::string(path) + ": " + httplib::to_string(answer.error()));
    if (answer->status != 200)
      throw std::runtime_error(std::string(path) + ": status " + std::to_string(answer->status) + ", " +
                               answer->body);
    return nlohmann::json::parse(answer->body);
  }
};

AgentClient::AgentClient(const std::string& host, int port, agent::TokenFile* token, std::string pod_uid)
    : http_(std::make_unique<Http>(host, port)), token_(token), pod_uid_(std::move(pod_uid)) {}

AgentClient::~AgentClient() = default;

std::optional<AgentView> AgentClient::look() {
  try {
    const std::string token = token_ ? token_->current() : "";
    const auto member = http_->get(paths::kMembership, token).get<MembershipView>();
    AgentView view;
    view.epoch = member.membership.epoch.value;
    view.pods = static_cast<int>(member.membership.members.size());
    view.parked_helpers = member.parked_helpers;
    view.lead = !member.membership.members.empty() && member.membership.lead().uid == pod_uid_;
    if (view.lead) {
      view.changes = http_->get(paths::kChange, token).at("changes").get<std::vector<ChangeStatus>>();
      view.job_windows = http_->get(paths::kSample, token).at("windows").get<std::vector<WindowSample>>();
    }
    complained_ = false;
    return view;
  } catch (const std::exception& e) {
    if (!complained_)
      spdlog::warn("cannot ask this pod's agent ({}); figures of the job are left out until it answers",
                   e.what());
    complained_ = true;
    return std::nullopt;
  }
}

}  // namespace empi::sidecar
