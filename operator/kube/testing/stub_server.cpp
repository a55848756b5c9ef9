// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/testing/stub_server.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace emj::kube::testing {

void Exchange::reply(int status, const std::string& body, const std::string& extra_headers) {
  raw("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n" + extra_headers + "\r\n" + body);
}

void Exchange::begin_chunks(int status) {
  raw("HTTP/1.1 " + std::to_string(status) + " X\r\nTransfer-Encoding: chunked\r\n\r\n");
}

void Exchange::chunk(const std::string& bytes) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  raw(size + bytes + "\r\n");
}

namespace {

std::string decoded(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      plain += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

void read_target(const std::string& target, Request& request) {
  const auto mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark == std::string::npos) return;
  for (std::size_t begin = mark + 1; begin < target.size();) {
    auto end = target.find('&', begin);
    if (end == std::string::npos) end = target.size();
    const std::string part = target.substr(begin, end - begin);
    const auto equals = part.find('=');
    request.query[decoded(part.substr(0, equals))] =
        equals == std::string::npos ? "" : decoded(part.substr(equals + 1));
    begin = end + 1;
  }
}

}  // namespace

struct StubServer::Peer : Exchange {
  Peer(int fd_, int number_, const std::atomic<bool>& stopping)
      : fd(fd_), number(number_), stopping_flag(stopping) {}
  ~Peer() override {
    if (thread.joinable()) thread.join();
    SSL_free(ssl);
    close(fd);
  }

  bool stopping() const override { return stopping_flag; }

  void raw(const std::string& bytes) override {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const int size = static_cast<int>(bytes.size() - sent);
      const auto n = ssl ? SSL_write(ssl, bytes.data() + sent, size)
                         : ::send(fd, bytes.data() + sent, static_cast<std::size_t>(size), MSG_NOSIGNAL);
      if (n <= 0) throw Gone{};
      sent += static_cast<std::size_t>(n);
    }
  }

  void hang_up() override {
    shutdown(fd, SHUT_RDWR);
    throw Gone{};
  }

  void wait_end() override {
    while (!stopping_flag) {
      pollfd wait{fd, POLLIN | POLLRDHUP, 0};
      if (poll(&wait, 1, 20) > 0) throw Gone{};
    }
    throw Gone{};
  }

  // Until at least `size` bytes are there; false at the end of the stream.
  bool fill(std::size_t size) {
    char data[8192];
    while (buffer.size() < size) {
      const auto n = ssl ? SSL_read(ssl, data, sizeof data) : recv(fd, data, sizeof data, 0);
      if (n <= 0) return false;
      buffer.append(data, static_cast<std::size_t>(n));
    }
    return true;
  }

  bool read_request(Request& request) {
    std::size_t end;
    while ((end = buffer.find("\r\n\r\n")) == std::string::npos)
      if (!fill(buffer.size() + 1)) return false;
    std::string head = buffer.substr(0, end + 2);
    buffer.erase(0, end + 4);
    std::size_t line_end = head.find("\r\n");
    const std::string first = head.substr(0, line_end);
    request.method = first.substr(0, first.find(' '));
    const auto target = first.find(' ') + 1;
    read_target(first.substr(target, first.rfind(' ') - target), request);
    for (std::size_t begin = line_end + 2; begin < head.size(); begin = line_end + 2) {
      line_end = head.find("\r\n", begin);
      const std::string line = head.substr(begin, line_end - begin);
      const auto colon = line.find(':');
      std::string name = line.substr(0, colon);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      request.headers[name] = line.substr(std::min(line.size(), colon + 2));
    }
    const auto length = request.headers.find("content-length");
    const std::size_t size = length == request.headers.end() ? 0 : std::stoul(length->second);
    if (!fill(size)) return false;
    request.body = buffer.substr(0, size);
    buffer.erase(0, size);
    request.connection = number;
    return true;
  }

  const int fd;
  const int number;
  const std::atomic<bool>& stopping_flag;
  SSL* ssl = nullptr;
  std::string buffer;
  std::thread thread;
};

StubServer::StubServer(Handler handler) : handler_(std::move(handler)) { start(); }

StubServer::StubServer(Handler handler, const Certificate& certificate, const std::string& clients)
    : handler_(std::move(handler)) {
  tls_ = SSL_CTX_new(TLS_server_method());
  const auto bio = [](const std::string& text) {
    return BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
  };
  BIO* source = bio(certificate.certificate);
  X509* x509 = PEM_read_bio_X509(source, nullptr, nullptr, nullptr);
  BIO_free(source);
  source = bio(certificate.key);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(source, nullptr, nullptr, nullptr);
  BIO_free(source);
  const bool good = SSL_CTX_use_certificate(tls_, x509) == 1 && SSL_CTX_use_PrivateKey(tls_, key) == 1;
  X509_free(x509);
  EVP_PKEY_free(key);
  if (!good) throw std::runtime_error("the server's certificate cannot be used");
  if (!clients.empty()) {
    source = bio(clients);
    X509* authority = PEM_read_bio_X509(source, nullptr, nullptr, nullptr);
    BIO_free(source);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(tls_), authority);
    X509_free(authority);
    SSL_CTX_set_verify(tls_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  start();
}

void StubServer::start() {
  signal(SIGPIPE, SIG_IGN);
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 64) != 0)
    throw std::runtime_error("the stub server cannot listen on 127.0.0.1");
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_loop(); });
}

StubServer::~StubServer() {
  stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (const auto& peer : peers_) shutdown(peer->fd, SHUT_RDWR);
  peers_.clear();
  close(listener_);
  SSL_CTX_free(tls_);
}

std::string StubServer::url() const {
  return (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_);
}

Config StubServer::config() const {
  Config config;
  config.server = url();
  config.origin = "stub server";
  return config;
}

std::vector<Request> StubServer::requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

bool StubServer::wait_requests(std::size_t count) const {
  std::unique_lock lock(mutex_);
  return condition_.wait_for(lock, std::chrono::seconds(20), [&] { return requests_.size() >= count; });
}

void StubServer::accept_loop() {
  for (int number = 1; !stopping_; ++number) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    peers_.push_back(std::make_unique<Peer>(fd, number, stopping_));
    Peer& peer = *peers_.back();
    peer.thread = std::thread([this, &peer] { serve(peer); });
  }
}

void StubServer::serve(Peer& peer) {
  try {
    std::string client_name;
    if (tls_) {
      peer.ssl = SSL_new(tls_);
      SSL_set_fd(peer.ssl, peer.fd);
      if (SSL_accept(peer.ssl) != 1) throw Exchange::Gone{};
      if (X509* client = SSL_get1_peer_certificate(peer.ssl)) {
        char name[100] = "";
        X509_NAME_get_text_by_NID(X509_get_subject_name(client), NID_commonName, name, sizeof name);
        client_name = name;
        X509_free(client);
      }
    }
    for (;;) {
      Request request;
      if (!peer.read_request(request)) break;
      request.client_name = client_name;
      {
        std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      condition_.notify_all();
      handler_(request, peer);
    }
  } catch (const Exchange::Gone&) {  // NOLINT(bugprone-empty-catch): then this is its end, too
  }
  ERR_clear_error();
  shutdown(peer.fd, SHUT_RDWR);
}

}  // namespace emj::kube::testing
