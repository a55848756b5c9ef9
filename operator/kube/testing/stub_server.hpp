// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 server in this process for transport faults: the handler decides every byte of the answer and
// when it goes out. It knows nothing of Kubernetes.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "operator/kube/config.hpp"
#include "operator/kube/testing/certificates.hpp"

typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_st SSL;

namespace emj::kube::testing {

struct Request {
  std::string method, path, body;
  std::map<std::string, std::string> query;    // decoded
  std::map<std::string, std::string> headers;  // names in lower case
  int connection = 0;                          // 1, 2, ...: which connection it came on
  std::string client_name;                     // CN of the client certificate
};

// How a handler answers. Everything throws Gone when the connection or the server has ended.
class Exchange {
 public:
  struct Gone {};
  virtual ~Exchange() = default;
  virtual void raw(const std::string& bytes) = 0;
  virtual void hang_up() = 0;   // cut the connection here
  virtual void wait_end() = 0;  // until the client or the server hangs up
  virtual bool stopping() const = 0;

  void reply(int status, const std::string& body, const std::string& extra_headers = {});
  void begin_chunks(int status = 200);
  void chunk(const std::string& bytes);
  void end_chunks() { raw("0\r\n\r\n"); }
};

class StubServer {
 public:
  using Handler = std::function<void(const Request&, Exchange&)>;  // called on the connection's thread
  explicit StubServer(Handler handler);
  // With TLS; client certificates are asked for when `clients` is given, and must then be signed by it.
  StubServer(Handler handler, const Certificate& certificate, const std::string& clients = {});
  ~StubServer();

  std::string url() const;
  int port() const { return port_; }
  Config config() const;  // for a client of this server, without credentials
  std::vector<Request> requests() const;
  // Blocks until so many requests have come, at most 20 s.
  bool wait_requests(std::size_t count) const;

 private:
  struct Peer;
  void start();
  void accept_loop();
  void serve(Peer& peer);

  const Handler handler_;
  SSL_CTX* tls_ = nullptr;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  mutable std::condition_variable condition_;
  std::vector<Request> requests_;
  std::list<std::unique_ptr<Peer>> peers_;
  std::thread acceptor_;
};

}  // namespace emj::kube::testing
