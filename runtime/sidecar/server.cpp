// SPDX-License-Identifier: Apache-2.0
#include "runtime/sidecar/server.hpp"

#include <charconv>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "runtime/base/exposition.hpp"
#include "runtime/base/http_server.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/tls.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/metrics.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::sidecar {

namespace {

// Prometheus, the kubelet, the operator, and people with a browser.
constexpr HttpLimits kLimits{.head = std::size_t{16} << 10, .body = 0, .connections = 64};

constexpr std::string_view kBearer = "Bearer ";

bool is_open(const std::string& path) { return path != paths::kSample && path != paths::kReport; }

void refuse(httplib::Response& answer, int status, const std::string& error) {
  answer.status = status;
  answer.set_content(json_text::safe_text({{"error", error}}), "application/json");
}

std::int64_t number(const httplib::Request& request, const char* name) {
  const std::string text = request.get_param_value(name);
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

struct Server::Http {
  HttpServer server;
  std::thread thread;
  explicit Http(HttpServer::Check check) : server(kLimits, std::move(check)) {}
  ~Http() {
    server.stop();
    if (thread.joinable()) thread.join();
  }
  int open(const std::string& listen, int port) {
    const int got = server.open(listen, port);
    if (got < 0)
      throw std::runtime_error("cannot listen on " + listen + ":" + std::to_string(port) +
                               ": is another sidecar running in this pod?");
    return got;
  }
  void serve() {
    thread = std::thread([this] { server.listen_after_bind(); });
    server.wait_until_ready();
  }
};

std::unique_ptr<Server::Http> Server::make_http(std::shared_ptr<tls::Credentials> credentials) {
  auto http =
      std::make_unique<Http>([this, secure = credentials != nullptr](
                                 const httplib::Request& request, httplib::Response& answer, bool& trusted) {
        const auto peer = HttpServer::peer();
        if (secure && (!peer || peer->worker)) {
          refuse(answer, 403, "expected a certificate of the job's controller");
          return false;
        }
        trusted = !token_ || token_->accepts_header(request.get_header_value("Authorization"));
        if (trusted || is_open(request.path)) return true;
        refuse(answer, 401, "wrong token: expected the job's as Authorization: Bearer");
        return false;
      });
  if (credentials) http->server.secure(std::move(credentials));
  return http;
}

Server::Server(const Options& options)
    : options_(options), reader_(options.run_dir), state_(options.identity) {
  if (!options_.token_file.empty()) token_ = std::make_unique<agent::TokenFile>(options_.token_file);
  if (!options_.agent_host.empty())
    agent_ =
        std::make_unique<AgentClient>(options_.run_dir + "/" + names::kViewSocketFile, options_.agent_host,
                                      options_.agent_port, token_.get(), options_.pod_uid);
  http_ = make_http(nullptr);
  serve_openly(*http_);
  if (!options_.tls_folder.empty()) {
    reports_ = make_http(std::make_shared<tls::Credentials>(options_.tls_folder));
    report_port_ = reports_->open(options_.listen, options_.report_port);
  }
  serve_reports(reports_ ? *reports_ : *http_);
  port_ = http_->open(options_.listen, options_.port);
  if (!reports_) report_port_ = port_;
  sampled_ns_ = profile::monotonic_ns();
  for (Http* http : {http_.get(), reports_.get()})
    if (http) http->serve();
}

Server::~Server() {
  reports_.reset();
  http_.reset();
}

void Server::end_window() {
  // The agent first, so that the epoch belongs to the window.
  const std::optional<AgentView> view = agent_ ? agent_->look() : std::nullopt;
  if (view) epoch_ = view->epoch;
  const std::int64_t width_ns = std::int64_t{options_.window_millis} * 1'000'000;
  const std::uint64_t now_ns = profile::monotonic_ns();
  const WindowSample sample = reader_.read(profile::window_index(profile::wall_ns(), width_ns),
                                           static_cast<double>(width_ns) * 1e-9, epoch_, now_ns);
  const double length_s = previous_ns_ != 0 ? static_cast<double>(now_ns - previous_ns_) * 1e-9 : 0;
  previous_ns_ = now_ns;
  const std::scoped_lock lock(mutex_);
  state_.add_window(sample, reader_.ranks(), length_s);
  if (view) state_.add_view(*view);
  sampled_ns_ = now_ns;
}

void Server::serve_openly(Http& http) {
  http.server.Get("/metrics", [this](const httplib::Request&, httplib::Response& answer) {
    const std::scoped_lock lock(mutex_);
    answer.set_content(state_.metrics(), metrics::kExpositionType);
  });
  http.server.Get("/healthz", [this](const httplib::Request&, httplib::Response& answer) {
    const std::uint64_t age_ns = profile::monotonic_ns() - sampled_ns_;
    const std::uint64_t limit_ns =
        5'000'000'000 + 5 * static_cast<std::uint64_t>(options_.window_millis) * 1'000'000;
    answer.status = age_ns < limit_ns ? 200 : 503;
    answer.set_content(age_ns < limit_ns ? "ok\n" : "no window has ended for too long\n", "text/plain");
  });
}

void Server::serve_reports(Http& http) {
  http.server.Get(paths::kSample, [this](const httplib::Request&, httplib::Response& answer) {
    const std::scoped_lock lock(mutex_);
    answer.set_content(json_text::safe_text({{"windows", state_.windows()}}), "application/json");
  });
  // As the agent says it, at this moment: we are in its place, and know nothing better.
  http.server.Get(paths::kReport, [this](const httplib::Request& request, httplib::Response& answer) {
    if (!agent_) return refuse(answer, 404, "this sidecar runs without an agent");
    std::string token = request.get_header_value("Authorization");
    if (token.starts_with(kBearer)) token.erase(0, kBearer.size());
    HttpAnswer given = agent_->report(number(request, "since"), number(request, "fence"), token);
    if (given.status == 0) return refuse(answer, 504, "this pod's agent does not answer: " + given.problem);
    answer.status = given.status;
    answer.set_content(std::move(given.body), "application/json");
  });
}

}  // namespace empi::sidecar
