// SPDX-License-Identifier: Apache-2.0
// The sidecar: its HTTP server (a thread of its own until destruction) and its sampling.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/profile/read/window_reader.hpp"
#include "runtime/sidecar/agent_client.hpp"
#include "runtime/sidecar/options.hpp"
#include "runtime/sidecar/pod_state.hpp"

namespace empi::tls {
class Credentials;
}

namespace empi::sidecar {

class Server {
 public:
  // Listens at once. Throws std::runtime_error when the port is taken or the token file is empty.
  explicit Server(const Options& options);
  ~Server();

  int port() const { return port_; }
  int report_port() const { return report_port_; }  // the same without TLS
  // Ends the window now and takes it in; the caller waits for the boundaries.
  void end_window();

 private:
  struct Http;
  void serve_openly(Http& http);   // metrics and health
  void serve_reports(Http& http);  // to the controller
  std::unique_ptr<Http> make_http(std::shared_ptr<tls::Credentials> credentials);

  const Options options_;
  profile::WindowReader reader_;
  std::uint64_t previous_ns_ = 0;
  std::int64_t epoch_ = 0;
  std::unique_ptr<agent::TokenFile> token_;  // null: no token is asked for
  std::unique_ptr<AgentClient> agent_;

  mutable std::mutex mutex_;  // guards state_
  PodState state_;
  std::atomic<std::uint64_t> sampled_ns_{0};  // when the last window ended, for /healthz

  int port_ = 0, report_port_ = 0;
  std::unique_ptr<Http> http_, reports_;  // reports_: with TLS
};

}  // namespace empi::sidecar
