// SPDX-License-Identifier: Apache-2.0
// The agent's HTTP side: token check, routing, JSON and CBOR; what to answer is decided by ApiHandlers, what
// the port bears by HttpServer.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/agent/api_answer.hpp"
#include "runtime/agent/wire/batch.hpp"
#include "runtime/base/http_server.hpp"
#include "runtime/protocol/ids.hpp"

namespace empi::tls {
class Credentials;
}

namespace empi::agent {

class TokenFile;

// Of an agent whose reactor went round `age` ago: 200, or 503 when that is longer than `limit`.
ApiAnswer health_of(std::chrono::milliseconds age, std::chrono::milliseconds limit);

// Called on the connections' threads; implementations hand over to the agent's thread and wait, bounded.
class ApiHandlers {
 public:
  virtual ~ApiHandlers() = default;
  // Must not wait.
  virtual ApiAnswer health() = 0;
  virtual ApiAnswer start(const nlohmann::json& request) = 0;
  virtual ApiAnswer put_change(const nlohmann::json& request) = 0;
  virtual ApiAnswer get_changes() = 0;
  virtual ApiAnswer cancel_change(const std::string& id, Fence fence) = 0;
  virtual ApiAnswer membership() = 0;
  virtual ApiAnswer samples(std::int64_t since) = 0;
  virtual ApiAnswer report(std::int64_t since) = 0;
  // A controller has taken the job: from now on those with a lower fence are refused.
  virtual ApiAnswer put_fence(const nlohmann::json& request) = 0;
  // A lead is lost, or members are (decision R20).
  virtual ApiAnswer put_lead(const nlohmann::json& request) = 0;
  virtual ApiAnswer stop(const nlohmann::json& request) = 0;
  // The ranks of a restartable program are to write what they go on from, and to end.
  virtual ApiAnswer notice(const nlohmann::json& request) = 0;
  // From another agent. Must not wait.
  virtual ApiAnswer batch(const Batch& batch) = 0;
};

class HttpApi {
 public:
  // Listens on address:port at once (throws std::runtime_error), serves from a thread of its own.
  // Port 0: any. With credentials by TLS: the job's controller may command, its workers may send messages,
  // and whoever shows no certificate may ask for health.
  HttpApi(const std::string& address, int port, TokenFile& token, ApiHandlers& handlers,
          const HttpLimits& limits = {}, const std::shared_ptr<tls::Credentials>& credentials = nullptr);
  // By a Unix socket, for the pod's sidecar: the report, and no command.
  HttpApi(const std::string& socket, TokenFile& token, ApiHandlers& handlers, const HttpLimits& limits = {});
  ~HttpApi();
  HttpApi(const HttpApi&) = delete;
  HttpApi& operator=(const HttpApi&) = delete;
  int port() const;  // 0: a Unix socket

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace empi::agent
