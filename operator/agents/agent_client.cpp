// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/agent_client.hpp"

#include <httplib.h>

#include "runtime/base/bounded_http.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/protocol/json.hpp"

namespace emj {

using nlohmann::json;

struct AgentClient::Connection {
  empi::HttpAnswer ask(const std::string& method, const std::string& target, const json& body = {}) {
    return http.ask(method, target, token, body.is_null() ? "" : empi::json_text::safe_text(body));
  }

  std::string address, token;
  std::string peer;  // for messages
  empi::BoundedHttp http;
};

namespace {

constexpr std::size_t kLongestRefusal = 500;  // of a refusal, in the agent's words
// What agents tell has sixteen bytes of text and more a value.
constexpr empi::json_text::Limits kReadable{empi::json_text::kDeepestMessage, kLongestAnswer / 16};

AgentError::Kind kind_of(int status) {
  switch (status) {
    case 401:
      return AgentError::Kind::Unauthorized;
    case 404:
      return AgentError::Kind::NotFound;
    case 409:
      return AgentError::Kind::Conflict;
    case 504:
      return AgentError::Kind::NoAgent;
    default:
      return status >= 500 ? AgentError::Kind::Server : AgentError::Kind::BadRequest;
  }
}

// Nothing when the request was served.
std::optional<AgentError> problem(const std::string& what, const std::string& peer,
                                  const empi::HttpAnswer& answer) {
  const std::string asked = what + " at " + peer + ": ";
  if (answer.status == 0) return AgentError{AgentError::Kind::Unreachable, asked + answer.problem};
  if (answer.status >= 200 && answer.status < 300) return std::nullopt;
  const json body = empi::json_text::try_parse(answer.body, kReadable);
  const std::string reason = body.is_object() && body.contains("error") && body["error"].is_string()
                                 ? body["error"].get<std::string>()
                                 : answer.body;
  return AgentError{kind_of(answer.status), asked + std::to_string(answer.status) + " " +
                                                empi::json_text::cut(reason, kLongestRefusal)};
}

template <class T, class Read>
AgentResult<T> answer(const std::string& what, const std::string& peer, const empi::HttpAnswer& given,
                      Read read) {
  if (auto error = problem(what, peer, given)) return *error;
  try {
    return T(read(empi::json_text::parse(given.body, kReadable)));
  } catch (const std::exception& error) {
    return AgentError{AgentError::Kind::Malformed, what + " at " + peer + ": cannot read the answer: " +
                                                       empi::json_text::cut(error.what(), kLongestRefusal)};
  }
}

AgentResult<Accepted> accepted(const std::string& what, const std::string& peer,
                               const empi::HttpAnswer& given) {
  if (auto error = problem(what, peer, given)) return *error;
  return Accepted{};
}

}  // namespace

const char* to_string(AgentError::Kind kind) {
  switch (kind) {
    case AgentError::Kind::Unreachable:
      return "unreachable";
    case AgentError::Kind::Unauthorized:
      return "unauthorized";
    case AgentError::Kind::NotFound:
      return "not found";
    case AgentError::Kind::Conflict:
      return "conflict";
    case AgentError::Kind::BadRequest:
      return "bad request";
    case AgentError::Kind::Server:
      return "server error";
    case AgentError::Kind::NoAgent:
      return "no agent";
    case AgentError::Kind::Malformed:
      return "malformed answer";
  }
  return "unknown";
}

AgentClient::AgentClient(const std::string& address, const std::string& token, AgentTimeouts timeouts,
                         const std::string& whom, const JobCredentials& credentials)
    : connection_(new Connection{
          address, token, whom + " " + address,
          empi::BoundedHttp(address, {timeouts.connect, timeouts.answer, kLongestAnswer}, credentials)}) {}
AgentClient::~AgentClient() = default;
AgentClient::AgentClient(AgentClient&&) noexcept = default;
AgentClient& AgentClient::operator=(AgentClient&&) noexcept = default;

const std::string& AgentClient::address() const { return connection_->address; }
void AgentClient::use_token(const std::string& token) { connection_->token = token; }
void AgentClient::end_by(std::chrono::steady_clock::time_point end) { connection_->http.end_by(end); }

AgentResult<Accepted> AgentClient::health() {
  return accepted("asking for health", connection_->peer, connection_->ask("GET", empi::paths::kHealth));
}

AgentResult<empi::Report> AgentClient::report(std::int64_t since, std::int64_t fence) {
  return taking(fence, [&] { return read_report(since, fence); });
}

AgentResult<empi::Report> AgentClient::taking(std::int64_t fence,
                                              const std::function<AgentResult<empi::Report>()>& read) {
  auto seen = read();
  if (!seen || !fences_) return seen;
  const empi::MembershipView& view = seen.value().view;
  const auto& members = view.membership.members;
  const bool leads = !members.empty() && members.front().uid == view.uid;
  if (!leads || view.fence.value >= fence) return seen;
  const auto taken = accepted("taking the job", connection_->peer,
                              connection_->ask("PUT", empi::paths::kFence, {{"fence", fence}}));
  if (taken) return read();  // an older controller may have commanded in between
  if (taken.error().kind != AgentError::Kind::NotFound) return taken.error();
  fences_ = false;
  return seen;
}

// Agents of before there was kFence learn the fence by this.
AgentResult<empi::Report> AgentClient::told(std::int64_t since, std::int64_t fence) {
  const std::string path = std::string(empi::paths::kReport) + "?since=" + std::to_string(since) +
                           "&fence=" + std::to_string(fence);
  return answer<empi::Report>("asking for the report", connection_->peer, connection_->ask("GET", path),
                              [](const json& body) { return body.get<empi::Report>(); });
}

AgentResult<empi::Report> AgentClient::read_report(std::int64_t since, std::int64_t fence) {
  if (!reports_) return report_in_parts(since);
  auto whole = told(since, fence);
  if (whole || whole.error().kind != AgentError::Kind::NotFound) return whole;
  reports_ = false;
  return report_in_parts(since);
}

// Of different moments: whoever reads them must bear that.
AgentResult<empi::Report> AgentClient::report_in_parts(std::int64_t since) {
  empi::Report report;
  auto view = membership();
  if (!view) return view.error();
  report.view = view.value();
  if (auto known = changes()) report.changes = known.value();
  if (auto windows = samples(since)) report.windows = windows.value();
  return report;
}

AgentResult<empi::MembershipView> AgentClient::membership() {
  return answer<empi::MembershipView>("asking for the membership", connection_->peer,
                                      connection_->ask("GET", empi::paths::kMembership),
                                      [](const json& body) { return body.get<empi::MembershipView>(); });
}

AgentResult<std::vector<empi::ChangeStatus>> AgentClient::changes() {
  return answer<std::vector<empi::ChangeStatus>>(
      "asking for the changes", connection_->peer, connection_->ask("GET", empi::paths::kChange),
      [](const json& body) { return body.at("changes").get<std::vector<empi::ChangeStatus>>(); });
}

AgentResult<std::vector<empi::WindowSample>> AgentClient::samples(std::int64_t since) {
  const std::string path = std::string(empi::paths::kSample) + "?since=" + std::to_string(since);
  return answer<std::vector<empi::WindowSample>>(
      "asking for samples", connection_->peer, connection_->ask("GET", path),
      [](const json& body) { return body.at("windows").get<std::vector<empi::WindowSample>>(); });
}

AgentResult<Accepted> AgentClient::start(const empi::StartRequest& request) {
  return accepted("starting the job", connection_->peer,
                  connection_->ask("POST", empi::paths::kStart, request));
}

AgentResult<Accepted> AgentClient::name_lead(const empi::LeadRequest& request) {
  return accepted("naming the lead", connection_->peer, connection_->ask("PUT", empi::paths::kLead, request));
}

AgentResult<Accepted> AgentClient::change(const empi::ChangeRequest& request) {
  return accepted("asking for change " + request.id, connection_->peer,
                  connection_->ask("PUT", empi::paths::kChange, request));
}

AgentResult<Accepted> AgentClient::cancel(const std::string& id, empi::Fence fence) {
  const std::string path = std::string(empi::paths::kChange) +
                           "?id=" + httplib::detail::encode_query_param(id) +
                           "&fence=" + std::to_string(fence.value);
  return accepted("cancelling change " + id, connection_->peer, connection_->ask("DELETE", path));
}

AgentResult<Accepted> AgentClient::stop(const empi::StopRequest& request) {
  return accepted("stopping the job", connection_->peer,
                  connection_->ask("POST", empi::paths::kStop, request));
}

AgentResult<Accepted> AgentClient::notice(empi::Fence fence, const std::string& id) {
  return accepted("telling the program to end, to be started again", connection_->peer,
                  connection_->ask("POST", empi::paths::kNotice, {{"fence", fence.value}, {"id", id}}));
}

}  // namespace emj
