// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/bounded_http.hpp"

#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "runtime/base/host_port.hpp"
#include "runtime/base/tls_client.hpp"

namespace empi {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kLate[] = "no whole answer in time";

// httplib's own stream waits anew for every piece, and takes as many pieces as come.
class BoundedStream : public httplib::Stream {
 public:
  // `session`: null without TLS.
  BoundedStream(int socket, tls::Session* session, Clock::time_point deadline, std::size_t bytes,
                std::string& problem, bool& answered)
      : socket_(socket),
        session_(session),
        deadline_(deadline),
        left_(bytes),
        problem_(problem),
        answered_(answered) {}

  bool is_readable() const override {
    return next_ < end_ || (session_ && session_->has_bytes()) || wait(POLLIN);
  }
  bool is_writable() const override { return wait(POLLOUT); }

  ssize_t read(char* into, std::size_t size) override {
    if (next_ == end_) {
      if (!session_ && !wait(POLLIN)) return -1;
      const ssize_t got = session_
                              ? session_->read(buffer_.data(), buffer_.size(), deadline_)
                              : retried([&] { return recv(socket_, buffer_.data(), buffer_.size(), 0); });
      if (got < 0 && session_) note_failure();
      if (got <= 0) return got;
      answered_ = true;
      next_ = 0;
      end_ = static_cast<std::size_t>(got);
      if (end_ > left_) {
        problem_ = "the answer is larger than allowed";
        next_ = end_;
        return -1;
      }
      left_ -= end_;
    }
    const std::size_t count = std::min(size, end_ - next_);
    std::memcpy(into, buffer_.data() + next_, count);
    next_ += count;
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* from, std::size_t size) override {
    if (session_) {
      const ssize_t sent = session_->write(from, size, deadline_);
      if (sent < 0) note_failure();
      return sent;
    }
    if (!wait(POLLOUT)) return -1;
    return retried([&] { return send(socket_, from, size, MSG_NOSIGNAL); });
  }

  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  int socket() const override { return socket_; }

 private:
  template <class Call>
  static ssize_t retried(Call call) {
    while (true) {
      const ssize_t result = call();
      if (result >= 0 || errno != EINTR) return result;
    }
  }

  void note_failure() {
    problem_ = !session_->problem().empty() ? session_->problem() : Clock::now() >= deadline_ ? kLate : "";
  }

  bool wait(short events) const {
    while (true) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      pollfd entry{socket_, events, 0};
      const int ready = left > 0 ? poll(&entry, 1, static_cast<int>(left)) : 0;
      if (ready > 0) return true;
      if (ready < 0 && errno == EINTR) continue;
      problem_ = kLate;
      return false;
    }
  }

  const int socket_;
  tls::Session* const session_;
  const Clock::time_point deadline_;
  std::size_t left_;
  std::string& problem_;
  bool& answered_;
  std::array<char, 4096> buffer_;
  std::size_t next_ = 0, end_ = 0;
};

bool is_path(const std::string& address) { return address.starts_with('/'); }

// Of a path the port is not used.
HostPort place_of(const std::string& address) {
  return is_path(address) ? HostPort{address, 80} : HostPort::parse(address);
}

}  // namespace

class BoundedHttp::Client : public TlsClient {
 public:
  Client(const std::string& address, const HttpBounds& bounds, std::shared_ptr<tls::Credentials> credentials,
         tls::Ticket& ticket)
      : Client(place_of(address), bounds, std::move(credentials), ticket) {
    if (is_path(address)) set_address_family(AF_UNIX);
  }
  Client(const HostPort& at, const HttpBounds& bounds, std::shared_ptr<tls::Credentials> credentials,
         tls::Ticket& ticket)
      : TlsClient(at.host, at.port, std::move(credentials), ticket), bounds_(bounds) {
    set_keep_alive(true);
    set_tcp_nodelay(true);
    set_decompress(false);
  }

  bool ask(httplib::Request& request, httplib::Response& response, httplib::Error& error,
           Clock::time_point end) {
    deadline_ = std::min(Clock::now() + bounds_.whole, end);
    problem_.clear();
    if (!has_time()) return false;
    const bool kept = socket_.is_open();
    answered_ = false;
    if (send(request, response, error)) return true;
    // The peer may have closed what was kept while the request was on its way: then it has not read it.
    if (!kept || answered_ || !problem_.empty()) return false;
    return has_time() && send(request, response, error);
  }
  const std::string& problem() const { return problem_; }

 private:
  // To connect; else it is too late.
  bool has_time() {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    if (left <= left.zero()) {
      problem_ = kLate;
      return false;
    }
    set_connection_timeout(std::min(bounds_.connect, left));
    return true;
  }

  bool process_socket(const Socket& socket, std::function<bool(httplib::Stream&)> talk) override {
    if (!ready(socket.sock, deadline_, problem_)) return false;
    BoundedStream stream(socket.sock, session(), deadline_, bounds_.bytes, problem_, answered_);
    return talk(stream);
  }

  const HttpBounds bounds_;
  Clock::time_point deadline_;
  std::string problem_;
  bool answered_ = false;  // some of it
};

BoundedHttp::BoundedHttp(const std::string& address, HttpBounds bounds,
                         std::shared_ptr<tls::Credentials> credentials)
    : bounds_(bounds),
      local_(is_path(address)),
      ticket_(std::make_unique<tls::Ticket>()),
      client_(std::make_unique<Client>(address, bounds, std::move(credentials), *ticket_)) {}
BoundedHttp::~BoundedHttp() = default;

HttpAnswer BoundedHttp::ask(const std::string& method, const std::string& target, const std::string& bearer,
                            const std::string& json_body) {
  HttpAnswer answer;
  httplib::Request request;
  request.method = method;
  request.path = target;
  if (!bearer.empty()) request.headers.emplace("Authorization", "Bearer " + bearer);
  // httplib's servers would take Brotli at its highest level: milliseconds of the processor of a rank's node.
  if (local_) request.headers.emplace("Host", "localhost");
  request.headers.emplace("Accept-Encoding", "identity");
  if (!json_body.empty()) request.headers.emplace("Content-Type", "application/json");
  request.body = json_body;
  // Without a receiver httplib reserves what the answer claims to be long.
  request.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
    answer.body.append(data, size);
    return answer.body.size() <= bounds_.bytes;
  };
  httplib::Response response;
  auto error = httplib::Error::Success;
  if (client_->ask(request, response, error, end_))
    answer.status = response.status;
  else
    answer.problem = client_->problem().empty() ? httplib::to_string(error) : client_->problem();
  return answer;
}

}  // namespace empi
