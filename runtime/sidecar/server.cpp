// SPDX-License-Identifier: Apache-2.0
#include "runtime/sidecar/server.hpp"

#include <httplib.h>

#include <stdexcept>

#include "runtime/base/exposition.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/metrics.hpp"

namespace empi::sidecar {

struct Server::Http {
  httplib::Server server;
};

Server::Server(const Options& options)
    : options_(options), reader_(options.run_dir), state_(options.identity), http_(std::make_unique<Http>()) {
  if (!options_.token_file.empty()) token_ = std::make_unique<agent::TokenFile>(options_.token_file);
  if (!options_.agent_host.empty())
    agent_ = std::make_unique<AgentClient>(options_.agent_host, options_.agent_port, token_.get(),
                                           options_.pod_uid);
  http_->server.new_task_queue = [] { return new httplib::ThreadPool(2); };
  http_->server.set_payload_max_length(64 * 1024);
  http_->server.set_keep_alive_timeout(1);
  // SO_REUSEPORT, which the library sets, would let two sidecars share a port silently.
  http_->server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  add_routes();
  port_ = options_.port != 0
              ? (http_->server.bind_to_port(options_.listen, options_.port) ? options_.port : -1)
              : http_->server.bind_to_any_port(options_.listen);
  if (port_ < 0)
    throw std::runtime_error("cannot listen on " + options_.listen + ":" + std::to_string(options_.port) +
                             ": is another sidecar running in this pod?");
  sampled_ns_ = profile::monotonic_ns();
  thread_ = std::thread([this] { http_->server.listen_after_bind(); });
  http_->server.wait_until_ready();
}

Server::~Server() {
  http_->server.stop();
  if (thread_.joinable()) thread_.join();
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

void Server::add_routes() {
  http_->server.Get("/metrics", [this](const httplib::Request&, httplib::Response& answer) {
    const std::scoped_lock lock(mutex_);
    answer.set_content(state_.metrics(), metrics::kExpositionType);
  });
  http_->server.Get(paths::kSample, [this](const httplib::Request& request, httplib::Response& answer) {
    if (token_ && !token_->accepts_header(request.get_header_value("Authorization"))) {
      answer.status = 401;
      answer.set_content(R"({"error": "wrong token: expected the job's as Authorization: Bearer"})",
                         "application/json");
      return;
    }
    const std::scoped_lock lock(mutex_);
    answer.set_content(json_text::safe_text({{"windows", state_.windows()}}), "application/json");
  });
  http_->server.Get("/healthz", [this](const httplib::Request&, httplib::Response& answer) {
    const std::uint64_t age_ns = profile::monotonic_ns() - sampled_ns_;
    const std::uint64_t limit_ns =
        5'000'000'000 + 5 * static_cast<std::uint64_t>(options_.window_millis) * 1'000'000;
    answer.status = age_ns < limit_ns ? 200 : 503;
    answer.set_content(age_ns < limit_ns ? "ok\n" : "no window has ended for too long\n", "text/plain");
  });
}

}  // namespace empi::sidecar
