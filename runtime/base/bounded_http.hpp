// SPDX-License-Identifier: Apache-2.0
// HTTP to a peer that is not trusted: agents are the tenant's processes. An exchange ends within a time from
// its first byte to its last, however slowly they come, and several can have one end together; an answer has
// a size. Nothing is decompressed.
#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace empi {

namespace tls {
class Credentials;
class Ticket;
}  // namespace tls

struct HttpBounds {
  std::chrono::milliseconds connect{1000};
  std::chrono::milliseconds whole{5000};     // request and answer
  std::size_t bytes = std::size_t{4} << 20;  // of the answer, head and body
};

struct HttpAnswer {
  int status = 0;  // 0: none that could be read to its end
  std::string body;
  std::string problem;  // why there is none
};

// One connection, kept open between requests. Not for use by two threads at once.
class BoundedHttp {
 public:
  // host:port, an IPv6 host in brackets; or the path of a Unix socket. With credentials: by TLS, to a worker
  // of their job and nobody else.
  BoundedHttp(const std::string& address, HttpBounds bounds,
              std::shared_ptr<tls::Credentials> credentials = nullptr);
  ~BoundedHttp();

  HttpAnswer ask(const std::string& method, const std::string& target, const std::string& bearer,
                 const std::string& json_body = {});
  // What is asked from now on is over then at the latest, however many requests it is.
  void end_by(std::chrono::steady_clock::time_point end) { end_ = end; }

 private:
  class Client;
  const HttpBounds bounds_;
  const bool local_;
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::time_point::max();
  const std::unique_ptr<tls::Ticket> ticket_;
  const std::unique_ptr<Client> client_;
};

}  // namespace empi
