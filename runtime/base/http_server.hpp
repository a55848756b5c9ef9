// SPDX-License-Identifier: Apache-2.0
// httplib's server with what a port needs that anybody may reach: a request that shows no good token costs
// its head and nothing else, every request has a deadline and a size, and connections that have shown no
// token make room for new ones. A thread per connection: with httplib's pool, peers that keep theirs would
// starve the others.
#pragma once
#include <httplib.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/certificates.hpp"

namespace empi {

namespace tls {
class Credentials;
}

struct HttpLimits {
  std::size_t head = std::size_t{64} << 10;  // bytes of a request before its body
  std::size_t body = std::size_t{16} << 20;
  std::size_t connections = 1024;  // but no more than half of the descriptors that the process may have
  std::chrono::milliseconds request{10'000};  // from its beginning to its end; as long again for the answer
  std::chrono::milliseconds idle{2'000};      // until the next request of a connection
  std::chrono::milliseconds handshake{5'000};
};

class HttpServer final : public httplib::Server {
 public:
  // `check` sees a request before its body is read; true: go on. If not, it has set the response, and the
  // connection is closed after it. It says by `trusted` whether the token was good.
  using Check = std::function<bool(const httplib::Request&, httplib::Response&, bool& trusted)>;
  HttpServer(const HttpLimits& limits, Check check);
  ~HttpServer() override;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Connections are TLS from now on; whose certificate is not of our job is not served. Before open().
  void secure(std::shared_ptr<tls::Credentials> credentials) { credentials_ = std::move(credentials); }
  // Who has sent the request that this thread serves: of a connection with TLS, and a certificate.
  static std::optional<tls::Identity> peer();

  // Port 0: any. Returns the port, or -1 when it cannot be had. Connections wait from now on.
  int open(const std::string& address, int port);
  // A Unix socket for this user and group, removed at the end; one that is there already is replaced. False:
  // it cannot be had.
  bool open_unix(const std::string& path);

 private:
  class Connections;
  class Connection;
  class Threads;
  bool process_and_close_socket(socket_t fd) override;
  HandlerResponse before_body(const httplib::Request& request, httplib::Response& response);

  const HttpLimits limits_;
  const Check check_;
  const std::unique_ptr<Connections> connections_;
  std::shared_ptr<tls::Credentials> credentials_;
  std::string socket_;
};

}  // namespace empi
