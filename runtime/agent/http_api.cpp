// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/http_api.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>

#include "runtime/base/json_text.hpp"
#include "runtime/base/tls.hpp"
#include "runtime/base/token.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::agent {
namespace {

using nlohmann::json;

void answer(httplib::Response& response, const ApiAnswer& a) {
  response.status = a.status;
  response.set_content(a.body, "application/json");
}

json parse_body(const httplib::Request& request) {
  if (request.get_header_value("Content-Type") == "application/cbor")
    return json_text::from_cbor(request.body);
  return json_text::parse(request.body, json_text::kDeepestMessage);
}

std::optional<std::int64_t> number_in(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Why not, in words; empty: who is there may. The token, which all of a job have, is asked for besides.
std::string forbidden(const std::optional<tls::Identity>& peer, const httplib::Request& request) {
  if (!peer) return "no certificate: expected one of the job";
  if (!peer->worker || (request.method == "POST" && request.path == paths::kMessage)) return "";
  return tls::to_uri(*peer) +
         " may send messages and nothing else: expected a certificate of the job's controller";
}

}  // namespace

ApiAnswer health_of(std::chrono::milliseconds age, std::chrono::milliseconds limit) {
  if (age <= limit) return {200, json_text::text({{"ok", true}, {kReactorAge, age.count()}})};
  return {503,
          json_text::text({{"error", "the agent's reactor has not turned for " + std::to_string(age.count()) +
                                         " ms: expected at most " + std::to_string(limit.count())},
                           {kReactorAge, age.count()}})};
}

struct HttpApi::Impl {
  TokenFile& token;
  ApiHandlers& handlers;
  HttpServer server;
  int port = 0;
  std::thread thread;

  Impl(TokenFile& t, ApiHandlers& h, const HttpLimits& limits,
       const std::shared_ptr<tls::Credentials>& credentials = nullptr)
      : token(t),
        handlers(h),
        server(limits,
               [this, secure = credentials != nullptr](const auto& request, auto& response, bool& trusted) {
                 const std::string problem = secure ? forbidden(HttpServer::peer(), request) : "";
                 trusted = problem.empty() && token.accepts_header(request.get_header_value("Authorization"));
                 if (trusted || request.path == paths::kHealth) return true;
                 answer(response, problem.empty()
                                      ? refuse(401, "wrong or missing bearer token: expected the job's token")
                                      : refuse(403, problem));
                 return false;
               }) {
    if (credentials) server.secure(credentials);
  }

  using Handle = std::function<ApiAnswer(const httplib::Request&)>;
  static httplib::Server::Handler route_to(Handle handle) {
    return [handle = std::move(handle)](const httplib::Request& request, httplib::Response& response) {
      try {
        answer(response, handle(request));
      } catch (const json::exception& error) {
        answer(response, refuse(400, std::string("malformed request: ") + error.what()));
      } catch (const std::invalid_argument& error) {  // what a field says is none of its choices
        answer(response, refuse(400, std::string("malformed request: ") + error.what()));
      } catch (const std::exception& error) {
        answer(response, refuse(500, error.what()));
      }
    };
  }

  using Request = const httplib::Request&;
  static std::int64_t number(Request request, const char* name) {
    return number_in(request.get_param_value(name)).value_or(-1);
  }

  void route_report() {
    server.Get(paths::kReport, route_to([this](Request r) { return handlers.report(number(r, "since")); }));
  }

  void serve() {
    thread = std::thread([this] { server.listen_after_bind(); });
    server.wait_until_ready();
  }

  void route() {
    route_report();
    server.Get(paths::kHealth, [this](Request, httplib::Response& r) { answer(r, handlers.health()); });
    server.Post(paths::kStart, route_to([this](Request r) { return handlers.start(parse_body(r)); }));
    server.Put(paths::kChange, route_to([this](Request r) { return handlers.put_change(parse_body(r)); }));
    server.Get(paths::kChange, route_to([this](Request) { return handlers.get_changes(); }));
    server.Delete(paths::kChange, route_to([this](Request r) {
                    const auto fence = number_in(r.get_param_value("fence"));
                    if (!fence)
                      return refuse(400, "fence is '" + r.get_param_value("fence") +
                                             "': expected the number of the controller that cancels");
                    return handlers.cancel_change(r.get_param_value("id"), Fence{*fence});
                  }));
    server.Get(paths::kMembership, route_to([this](Request) { return handlers.membership(); }));
    server.Get(paths::kSample, route_to([this](Request r) { return handlers.samples(number(r, "since")); }));
    server.Put(paths::kFence, route_to([this](Request r) { return handlers.put_fence(parse_body(r)); }));
    server.Put(paths::kLead, route_to([this](Request r) { return handlers.put_lead(parse_body(r)); }));
    server.Post(paths::kNotice, route_to([this](Request r) { return handlers.notice(parse_body(r)); }));
    server.Post(paths::kStop, route_to([this](Request r) { return handlers.stop(parse_body(r)); }));
    server.Post(paths::kMessage,
                route_to([this](Request r) { return handlers.batch(parse_body(r).get<Batch>()); }));
  }
};

HttpApi::HttpApi(const std::string& address, int port, TokenFile& token, ApiHandlers& handlers,
                 const HttpLimits& limits, const std::shared_ptr<tls::Credentials>& credentials)
    : impl_(std::make_unique<Impl>(token, handlers, limits, credentials)) {
  impl_->route();
  impl_->port = impl_->server.open(address, port);
  if (impl_->port < 0)
    throw std::runtime_error("cannot listen on " + address + ":" + std::to_string(port) +
                             ": is the address ours and the port free?");
  impl_->serve();
}

HttpApi::HttpApi(const std::string& socket, TokenFile& token, ApiHandlers& handlers, const HttpLimits& limits)
    : impl_(std::make_unique<Impl>(token, handlers, limits)) {
  impl_->route_report();
  if (!impl_->server.open_unix(socket))
    throw std::runtime_error("cannot listen on '" + socket +
                             "': is its folder writable, and the path below 108 bytes?");
  impl_->serve();
}

int HttpApi::port() const { return impl_->port; }

HttpApi::~HttpApi() {
  impl_->server.stop();
  impl_->thread.join();
}

}  // namespace empi::agent
