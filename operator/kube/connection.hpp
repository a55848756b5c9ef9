// SPDX-License-Identifier: Apache-2.0
// One kept-alive HTTP/1.1 connection to the API server: one request at a time, from one thread; interrupt()
// from any. Built on cpp-httplib, whose stop() waits for a connect or a TLS handshake to end: this one cuts
// the socket instead.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "operator/kube/clock.hpp"
#include "operator/kube/tls.hpp"

namespace httplib {
class ClientImpl;
}

namespace emj::kube {

// Taken apart once: "https://[::1]:6443/prefix". Throws ConfigError.
struct ServerAddress {
  bool tls = true;
  std::string host;  // without brackets
  int port = 443;
  std::string prefix;  // "" or "/prefix"
};
ServerAddress parse_server(const std::string& url, const std::string& origin);

struct HttpRequest {
  std::string method;
  std::string target;  // path and query, encoded
  std::string body;
  std::string content_type;
  std::map<std::string, std::string> headers;
  Millis connect_timeout{5000};
  Millis answer_timeout{30000};  // between two reads, and for writing
};

struct HttpOutcome {
  int status = 0;           // 0: no answer
  std::string retry_after;  // the header
  std::string body;         // unless it went to `on_data`
  bool complete = false;    // the answer was read to its proper end
  bool connected = false;   // the server may have seen the request
  bool interrupted = false;
  std::string problem;  // why it is not complete
};

class Connection {
 public:
  Connection(const ServerAddress& address, std::shared_ptr<const TlsMaterial> tls,
             const std::string& tls_server_name, bool insecure_skip_verify);
  ~Connection();

  // The body is collected (at most max_body bytes).
  HttpOutcome send(const HttpRequest& request) { return send(request, {}, {}); }
  // A 200 calls on_head at once, then on_data with the body piece by piece as it comes; on_data may end the
  // request by returning false. The body of another status is collected.
  HttpOutcome send(const HttpRequest& request, const std::function<void()>& on_head,
                   const std::function<bool(const char* data, std::size_t size)>& on_data);
  // Ends the present request and refuses all later ones. Call it again until the request has ended: a socket
  // that is just being made may escape one call.
  void interrupt();

  const std::shared_ptr<const TlsMaterial>& tls() const { return tls_; }

  static constexpr std::size_t max_body = std::size_t{512} << 20;

 private:
  void adopt(int socket);  // called by httplib with every new socket, before it connects

  const ServerAddress address_;
  const std::shared_ptr<const TlsMaterial> tls_;
  std::string host_header_;
  std::string tls_problem_;
  std::unique_ptr<httplib::ClientImpl> http_;
  std::mutex mutex_;
  int socket_ = -1;  // a duplicate of our own, so that a closed and reused number is never hit
  bool interrupted_ = false;
  bool socket_made_ = false;  // since the request began
};

}  // namespace emj::kube
