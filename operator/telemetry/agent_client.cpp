#include "operator/telemetry/agent_client.hpp"

#include <httplib.h>

#include "runtime/protocol/json.hpp"
#include "runtime/protocol/plain_http.hpp"

namespace emj {

using nlohmann::json;

struct AgentClient::Connection {
  Connection(std::string address_, const std::string& token, AgentTimeouts timeouts)
      : address(std::move(address_)), http("http://" + address) {
    http.set_connection_timeout(timeouts.connect);
    http.set_read_timeout(timeouts.answer);
    http.set_write_timeout(timeouts.answer);
    http.set_keep_alive(true);
    http.set_tcp_nodelay(true);
    http.set_bearer_token_auth(token);
    empi::want_plain_answers(http);
  }

  std::string address;
  httplib::Client http;
};

namespace {

AgentError::Kind kind_of(int status) {
  switch (status) {
    case 401:
      return AgentError::Kind::Unauthorized;
    case 404:
      return AgentError::Kind::NotFound;
    case 409:
      return AgentError::Kind::Conflict;
    default:
      return status >= 500 ? AgentError::Kind::Server : AgentError::Kind::BadRequest;
  }
}

// Nothing when the request was served.
std::optional<AgentError> problem(const std::string& what, const std::string& address,
                                  const httplib::Result& result) {
  const std::string asked = what + " at agent " + address + ": ";
  if (!result) return AgentError{AgentError::Kind::Unreachable, asked + httplib::to_string(result.error())};
  if (result->status >= 200 && result->status < 300) return std::nullopt;
  const json body = json::parse(result->body, nullptr, false);
  const std::string reason = body.is_object() && body.contains("error") && body["error"].is_string()
                                 ? body["error"].get<std::string>()
                                 : result->body.substr(0, 200);
  return AgentError{kind_of(result->status), asked + std::to_string(result->status) + " " + reason};
}

template <class T, class Read>
AgentResult<T> answer(const std::string& what, const std::string& address, const httplib::Result& result,
                      Read read) {
  if (auto error = problem(what, address, result)) return *error;
  try {
    return T(read(json::parse(result->body)));
  } catch (const json::exception& error) {
    return AgentError{AgentError::Kind::Malformed,
                      what + " at agent " + address + ": cannot read the answer: " + error.what()};
  }
}

AgentResult<Accepted> accepted(const std::string& what, const std::string& address,
                               const httplib::Result& result) {
  if (auto error = problem(what, address, result)) return *error;
  return Accepted{};
}

std::string text_of(const json& body) { return body.dump(-1, ' ', false, json::error_handler_t::replace); }

constexpr char json_type[] = "application/json";

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
    case AgentError::Kind::Malformed:
      return "malformed answer";
  }
  return "unknown";
}

AgentClient::AgentClient(std::string address, std::string token, AgentTimeouts timeouts)
    : connection_(std::make_unique<Connection>(std::move(address), token, timeouts)) {}
AgentClient::~AgentClient() = default;
AgentClient::AgentClient(AgentClient&&) noexcept = default;
AgentClient& AgentClient::operator=(AgentClient&&) noexcept = default;

const std::string& AgentClient::address() const { return connection_->address; }

AgentResult<Accepted> AgentClient::health() {
  return accepted("asking for health", address(), connection_->http.Get(empi::paths::kHealth));
}

AgentResult<empi::Report> AgentClient::report(std::int64_t since, std::int64_t fence) {
  if (!reports_) return report_in_parts(since);
  const std::string path = std::string(empi::paths::kReport) + "?since=" + std::to_string(since) +
                           "&fence=" + std::to_string(fence);
  auto whole = answer<empi::Report>("asking for the report", address(), connection_->http.Get(path),
                                    [](const json& body) { return body.get<empi::Report>(); });
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
  return answer<empi::MembershipView>("asking for the membership", address(),
                                      connection_->http.Get(empi::paths::kMembership),
                                      [](const json& body) { return body.get<empi::MembershipView>(); });
}

AgentResult<std::vector<empi::ChangeStatus>> AgentClient::changes() {
  return answer<std::vector<empi::ChangeStatus>>(
      "asking for the changes", address(), connection_->http.Get(empi::paths::kChange),
      [](const json& body) { return body.at("changes").get<std::vector<empi::ChangeStatus>>(); });
}

AgentResult<std::vector<empi::WindowSample>> AgentClient::samples(std::int64_t since) {
  const std::string path = std::string(empi::paths::kSample) + "?since=" + std::to_string(since);
  return answer<std::vector<empi::WindowSample>>(
      "asking for samples", address(), connection_->http.Get(path),
      [](const json& body) { return body.at("windows").get<std::vector<empi::WindowSample>>(); });
}

AgentResult<Accepted> AgentClient::start(const empi::StartRequest& request) {
  return accepted("starting the job", address(),
                  connection_->http.Post(empi::paths::kStart, text_of(json(request)), json_type));
}

AgentResult<Accepted> AgentClient::change(const empi::ChangeRequest& request) {
  return accepted("asking for change " + request.id, address(),
                  connection_->http.Put(empi::paths::kChange, text_of(json(request)), json_type));
}

AgentResult<Accepted> AgentClient::cancel(const std::string& id, empi::Fence fence) {
  const std::string path = std::string(empi::paths::kChange) +
                           "?id=" + httplib::detail::encode_query_param(id) +
                           "&fence=" + std::to_string(fence.value);
  return accepted("cancelling change " + id, address(), connection_->http.Delete(path));
}

AgentResult<Accepted> AgentClient::stop(empi::Fence fence, const std::string& reason) {
  return accepted("stopping the job", address(),
                  connection_->http.Post(empi::paths::kStop,
                                         text_of({{"fence", fence.value}, {"reason", reason}}), json_type));
}

}  // namespace emj
