// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/connection.hpp"

#include <fcntl.h>
#include <httplib.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>

#include "runtime/base/host_port.hpp"

namespace emj::kube {

namespace {

// A write to a connection that the server has cut must be an error, not the end of the process.
void ignore_sigpipe() {
  static const bool done = [] {
    struct sigaction action{};
    if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
    return true;
  }();
  (void)done;
}

// httplib maps a name to a numeric address only.
std::string numeric_address(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return host;
  char text[NI_MAXHOST] = "";
  getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  freeaddrinfo(found);
  return text;
}

// A peer that vanished without a word is noticed after half a minute, in a quiet watch as well.
void keep_probing(int socket) {
  const auto set = [socket](int level, int option, int value) {
    setsockopt(socket, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30000);
}

}  // namespace

ServerAddress parse_server(const std::string& url, const std::string& origin) {
  const auto fail = [&](const std::string& why) -> ServerAddress {
    throw ConfigError(origin + ": server: is '" + url + "': " + why + ", expected https://HOST:PORT");
  };
  ServerAddress address;
  std::string rest;
  if (url.starts_with("https://")) {
    rest = url.substr(8);
  } else if (url.starts_with("http://")) {
    address.tls = false;
    address.port = 80;
    rest = url.substr(7);
  } else {
    return fail("no https://");
  }
  const auto slash = rest.find('/');
  if (slash != std::string::npos) {
    address.prefix = rest.substr(slash);
    while (address.prefix.ends_with('/')) address.prefix.pop_back();
    rest.erase(slash);
  }
  if (rest.find_first_of("@?# ") != std::string::npos) return fail("a character that does not belong there");
  std::string port;
  if (rest.starts_with('[')) {
    const auto end = rest.find(']');
    if (end == std::string::npos) return fail("no ]");
    address.host = rest.substr(1, end - 1);
    rest.erase(0, end + 1);
    if (!rest.empty() && rest[0] != ':') return fail("text after ]");
    if (!rest.empty()) port = rest.substr(1);
    if (!rest.empty() && port.empty()) return fail("no port after the colon");
  } else {
    const auto colon = rest.find(':');
    address.host = rest.substr(0, colon);
    if (colon != std::string::npos) port = rest.substr(colon + 1);
    if (colon != std::string::npos && port.empty()) return fail("no port after the colon");
  }
  if (address.host.empty()) return fail("no host");
  if (!port.empty()) {
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (error != std::errc() || end != port.data() + port.size() || address.port < 1 || address.port > 65535)
      return fail("'" + port + "' is no port");
  }
  return address;
}

Connection::Connection(const ServerAddress& address, std::shared_ptr<const TlsMaterial> tls,
                       const std::string& tls_server_name, bool insecure_skip_verify)
    : address_(address), tls_(std::move(tls)) {
  ignore_sigpipe();
  if (address_.tls) {
    // The name in the handshake is httplib's host; where to connect is said apart from it.
    const std::string name = tls_server_name.empty() ? address_.host : tls_server_name;
    auto client = std::make_unique<httplib::SSLClient>(name, address_.port);
    if (!client->is_valid()) throw ConfigError("OpenSSL gives no TLS context");
    client->enable_server_certificate_verification(false);  // set_up_tls() does it, in the handshake
    set_up_tls(client->ssl_context(), *tls_, name, insecure_skip_verify, &tls_problem_);
    if (name != address_.host) {
      client->set_hostname_addr_map({{name, numeric_address(address_.host)}});
      host_header_ = empi::HostPort{address_.host, address_.port}.text();
    }
    http_ = std::move(client);
  } else {
    http_ = std::make_unique<httplib::ClientImpl>(address_.host, address_.port);
  }
  http_->set_keep_alive(true);
  http_->set_tcp_nodelay(true);
  http_->set_url_encode(false);
  http_->set_socket_options([this](int socket) { adopt(socket); });
}

Connection::~Connection() {
  http_.reset();
  if (socket_ >= 0) close(socket_);
}

void Connection::adopt(int socket) {
  keep_probing(socket);
  std::lock_guard lock(mutex_);
  if (socket_ >= 0) close(socket_);
  socket_ = fcntl(socket, F_DUPFD_CLOEXEC, 0);
  socket_made_ = true;
}

void Connection::interrupt() {
  std::lock_guard lock(mutex_);
  interrupted_ = true;
  if (socket_ >= 0) shutdown(socket_, SHUT_RDWR);
}

HttpOutcome Connection::send(const HttpRequest& asked, const std::function<void()>& on_head,
                             const std::function<bool(const char*, std::size_t)>& on_data) {
  HttpOutcome outcome;
  {
    std::lock_guard lock(mutex_);
    if (interrupted_) {
      outcome.interrupted = true;
      outcome.problem = "stopped";
      return outcome;
    }
    socket_made_ = false;
  }
  const auto stopping = [this] {
    std::lock_guard lock(mutex_);
    return interrupted_;
  };
  tls_problem_.clear();
  http_->set_connection_timeout(asked.connect_timeout);
  http_->set_read_timeout(asked.answer_timeout);
  http_->set_write_timeout(asked.answer_timeout);

  httplib::Request request;
  request.method = asked.method;
  request.path = address_.prefix + asked.target;
  request.body = asked.body;
  for (const auto& [name, value] : asked.headers) request.headers.emplace(name, value);
  if (!asked.content_type.empty()) request.headers.emplace("Content-Type", asked.content_type);
  if (!host_header_.empty()) request.headers.emplace("Host", host_header_);
  // Compression costs the server more than it saves on a cluster's network, and delays a watch.
  request.headers.emplace("Accept-Encoding", "identity");

  bool ended_by_receiver = false;
  request.response_handler = [&](const httplib::Response& response) {
    outcome.status = response.status;
    outcome.retry_after = response.get_header_value("Retry-After");
    if (on_head && response.status == 200) on_head();
    return !stopping();
  };
  request.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
    if (stopping()) return false;
    if (on_data && outcome.status == 200) {
      ended_by_receiver = !on_data(data, size);
      return !ended_by_receiver;
    }
    if (outcome.body.size() + size > max_body) {
      outcome.problem = "the answer is larger than " + std::to_string(max_body >> 20) + " MiB";
      return false;
    }
    outcome.body.append(data, size);
    return true;
  };

  httplib::Response response;
  auto error = httplib::Error::Success;
  const bool sent = http_->send(request, response, error);
  if (outcome.status == 0 && sent) outcome.status = response.status;  // 204 has no body, so no handler call
  outcome.complete = sent || ended_by_receiver;
  outcome.interrupted = stopping();
  switch (error) {
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
    case httplib::Error::SSLConnection:
    case httplib::Error::SSLLoadingCerts:
    case httplib::Error::ProxyConnection:
      break;
    default:
      outcome.connected = true;
  }
  if (!outcome.complete && outcome.problem.empty()) {
    std::lock_guard lock(mutex_);
    outcome.problem = !tls_problem_.empty() ? tls_problem_ : httplib::to_string(error);
    if (!outcome.connected && !socket_made_) outcome.problem = "the host name cannot be resolved";
  }
  return outcome;
}

}  // namespace emj::kube
