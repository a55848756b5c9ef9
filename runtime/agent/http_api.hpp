// The agent's HTTP side: token check, routing, JSON and CBOR; what to answer is decided by ApiHandlers.
#pragma once
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/protocol/ids.hpp"

namespace empi::agent {

class TokenFile;

// An answer: 200 with a JSON body, or an error status with {"error": text}.
struct ApiAnswer {
  int status = 200;
  std::string body;  // JSON text
};
ApiAnswer refuse(int status, const std::string& error);

// Called on the connections' threads; implementations hand over to the agent's thread and wait, bounded.
class ApiHandlers {
 public:
  virtual ~ApiHandlers() = default;
  virtual ApiAnswer start(const nlohmann::json& request) = 0;
  virtual ApiAnswer put_change(const nlohmann::json& request) = 0;
  virtual ApiAnswer get_changes() = 0;
  virtual ApiAnswer cancel_change(const std::string& id) = 0;
  virtual ApiAnswer membership() = 0;
  virtual ApiAnswer samples(std::int64_t since) = 0;
  // Of a controller that holds `fence`: from now on those with a lower one are refused. -1: nobody's.
  virtual ApiAnswer report(std::int64_t since, Fence fence) = 0;
  virtual ApiAnswer stop(const nlohmann::json& request) = 0;
  // A batch from another agent: {"from", "to", "session", "sequence", "messages"}. Must not wait.
  virtual ApiAnswer batch(nlohmann::json batch) = 0;
};

class HttpApi {
 public:
  // Listens on address:port at once (throws std::runtime_error), serves from a thread of its own.
  HttpApi(const std::string& address, int port, TokenFile& token, ApiHandlers& handlers);
  ~HttpApi();
  HttpApi(const HttpApi&) = delete;
  HttpApi& operator=(const HttpApi&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace empi::agent
