// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/http_server.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>

#include "runtime/base/tls.hpp"

namespace empi {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int kBacklog = 1024;
constexpr auto kRoom = 1s;  // for an old connection to end in favour of a new one
// What a client still sends is read for this long after a refusal, or it would lose the answer.
constexpr auto kLinger = 200ms;
constexpr std::size_t kLingerBytes = std::size_t{1} << 20;

bool wait_for(int fd, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd ready{fd, events, 0};
    const int n = poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
    if (n > 0) return true;
    if ((n < 0 && errno != EINTR) || left <= 0) return false;
  }
}

// httplib compresses for whoever takes it, by Brotli at its highest level: milliseconds of a rank's processor
// for answers that are small (but for the operator's metrics) and go a short way.
void answer_plainly(httplib::Request& request) { request.headers.erase("Accept-Encoding"); }

std::size_t most_connections(std::size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY) return wanted;
  return std::min<std::size_t>(wanted, std::max<std::size_t>(limit.rlim_cur / 2, 1));
}

}  // namespace

// The bytes of one connection, within the limits of the request that is being read.
class HttpServer::Connection final : public httplib::Stream {
 public:
  Connection(int fd, const HttpLimits& limits) : fd_(fd), limits_(limits) {}

  // False: nobody of our job is there. The deadline holds for garbage and silence as well.
  bool shake_hands(tls::Credentials& credentials) {
    session_.emplace(credentials.now(), fd_, tls::Session::Side::Server);
    return session_->shake_hands(Clock::now() + limits_.handshake);
  }
  std::optional<tls::Identity> peer() const { return session_ ? session_->peer() : std::nullopt; }

  // False: no further request comes.
  bool next_request(std::chrono::milliseconds patience) {
    if (!has_bytes() && !wait_for(fd_, POLLIN, Clock::now() + patience)) return false;
    read_until_ = Clock::now() + limits_.request;
    write_until_ = {};
    allowed_ = limits_.head;
    return true;
  }
  void allow(std::size_t bytes) { allowed_ += bytes; }
  void linger() const {
    ::shutdown(fd_, SHUT_WR);
    std::array<char, 16384> scrap;
    const auto until = Clock::now() + kLinger;
    for (std::size_t bytes = 0; bytes < kLingerBytes && wait_for(fd_, POLLIN, until);) {
      const ssize_t n = recv(fd_, scrap.data(), scrap.size(), MSG_DONTWAIT);
      if (n <= 0) break;
      bytes += static_cast<std::size_t>(n);
    }
  }

  bool is_readable() const override { return has_bytes() || wait_for(fd_, POLLIN, read_until_); }
  bool is_writable() const override { return wait_for(fd_, POLLOUT, Clock::now() + limits_.request); }
  ssize_t read(char* to, std::size_t size) override {
    if (at_ == end_) {
      if (!session_ && !wait_for(fd_, POLLIN, read_until_)) return -1;
      const ssize_t n = session_ ? session_->read(buffer_.data(), buffer_.size(), read_until_)
                                 : recv(fd_, buffer_.data(), buffer_.size(), 0);
      if (n <= 0) return n;
      at_ = 0;
      end_ = static_cast<std::size_t>(n);
    }
    const std::size_t n = std::min({size, end_ - at_, allowed_});
    if (n == 0) return -1;  // longer than it may be
    // A byte at a time is as slow as it was: it is over, too.
    if (Clock::now() > read_until_) return -1;
    std::memcpy(to, buffer_.data() + at_, n);
    at_ += n;
    allowed_ -= n;
    return static_cast<ssize_t>(n);
  }
  ssize_t write(const char* from, std::size_t size) override {
    if (write_until_ == Clock::time_point{}) write_until_ = Clock::now() + limits_.request;
    if (session_) return session_->write(from, size, write_until_);
    for (;;) {
      const ssize_t n = ::send(fd_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0) return n;
      if (errno == EINTR) continue;
      if ((errno != EAGAIN && errno != EWOULDBLOCK) || !wait_for(fd_, POLLOUT, write_until_)) return -1;
    }
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return fd_; }

  bool trusted = false;  // has shown a good token; guarded by the mutex of Connections
  bool evicted = false;  // likewise
  bool refused = false;  // the present request

 private:
  bool has_bytes() const { return at_ < end_ || (session_ && session_->has_bytes()); }

  const int fd_;
  const HttpLimits& limits_;
  std::optional<tls::Session> session_;
  Clock::time_point read_until_, write_until_{};
  std::size_t allowed_ = 0;  // bytes that may still be read
  std::array<char, 16384> buffer_{};
  std::size_t at_ = 0, end_ = 0;
};

// Those that are open, oldest first, and the threads that serve them.
class HttpServer::Connections {
 public:
  explicit Connections(std::size_t most) : most_(most) {}

  // Another one has come: false when there is no room, and none can be made, or no thread is to be had.
  bool begin(std::function<void()> serve) {
    std::unique_lock lock(mutex_);
    const auto room = [&] {
      if (threads_.size() >= most_ && evicted_ == 0) evict_oldest();
      return closed_ || threads_.size() < most_;
    };
    if (!changed_.wait_for(lock, kRoom, room) || closed_) return false;
    const auto self = threads_.emplace(threads_.end());
    try {
      *self = std::thread([this, self, serve = std::move(serve)] {
        serve();
        leave(self);
      });
    } catch (const std::system_error&) {
      threads_.erase(self);
      return false;
    }
    return true;
  }
  void add(Connection& connection) {
    const std::lock_guard lock(mutex_);
    open_.push_back(&connection);
    if (closed_) ::shutdown(connection.socket(), SHUT_RD);
    changed_.notify_all();
  }
  void remove(Connection& connection) {
    const std::lock_guard lock(mutex_);
    open_.remove(&connection);
    if (connection.evicted) --evicted_;
  }
  void trust(Connection& connection) {
    const std::lock_guard lock(mutex_);
    connection.trusted = true;
  }
  void close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    for (const Connection* connection : open_)
      ::shutdown(connection->socket(), SHUT_RD);  // answers still go out
    changed_.wait(lock, [&] { return threads_.empty(); });
    std::list<std::thread> ended = std::move(ended_);
    lock.unlock();
    join(ended);
  }

 private:
  // A thread joins those that have ended before it, so that few wait to be joined, and close() the last.
  void leave(std::list<std::thread>::iterator self) {
    std::list<std::thread> before;
    {
      const std::lock_guard lock(mutex_);
      before.swap(ended_);
      ended_.splice(ended_.end(), threads_, self);
      changed_.notify_all();
    }
    join(before);
  }
  static void join(std::list<std::thread>& threads) {
    for (std::thread& thread : threads) thread.join();
  }
  void evict_oldest() {
    const auto oldest = std::ranges::find(open_, false, &Connection::trusted);
    if (oldest == open_.end()) return;
    (*oldest)->evicted = true;
    ++evicted_;
    ::shutdown((*oldest)->socket(), SHUT_RDWR);
  }

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Connection*> open_;
  std::list<std::thread> threads_, ended_;  // that serve; that do so no longer, and are to be joined
  std::size_t evicted_ = 0;
  bool closed_ = false;
};

class HttpServer::Threads final : public httplib::TaskQueue {
 public:
  explicit Threads(Connections& connections) : connections_(connections) {}
  bool enqueue(std::function<void()> serve) override { return connections_.begin(std::move(serve)); }
  void shutdown() override { connections_.close(); }

 private:
  Connections& connections_;
};

namespace {
thread_local void* serving = nullptr;  // the connection of this thread: httplib's handlers are not told
}

HttpServer::HttpServer(const HttpLimits& limits, Check check)
    : limits_(limits),
      check_(std::move(check)),
      connections_(std::make_unique<Connections>(most_connections(limits.connections))) {
  new_task_queue = [this] { return new Threads(*connections_); };
  set_tcp_nodelay(true);
  set_payload_max_length(limits_.body);
  set_socket_options([](int fd) {
    const int yes = 1;  // not SO_REUSEPORT, httplib's default: two programs on one port must not go unnoticed
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    return before_body(request, response);
  });
  set_post_routing_handler([](const httplib::Request&, httplib::Response& response) {
    if (!static_cast<const Connection*>(serving)->refused) return;
    response.headers.erase("Keep-Alive");  // httplib's: it does not know that there is no next request
    response.set_header("Connection", "close");
  });
}

HttpServer::~HttpServer() {
  if (!socket_.empty()) ::unlink(socket_.c_str());
}

int HttpServer::open(const std::string& address, int port) {
  if (port == 0)
    port = bind_to_any_port(address);
  else if (!bind_to_port(address, port))
    return -1;
  if (port > 0)
    ::listen(svr_sock_, kBacklog);  // httplib's own is 5: a pod's start is many connections at once
  return port;
}

bool HttpServer::open_unix(const std::string& path) {
  ::unlink(path.c_str());
  set_address_family(AF_UNIX);
  set_tcp_nodelay(false);
  if (!bind_to_port(path, 80)) return false;
  socket_ = path;
  return ::chmod(path.c_str(), 0660) == 0;
}

std::optional<tls::Identity> HttpServer::peer() {
  return serving ? static_cast<const Connection*>(serving)->peer() : std::nullopt;
}

HttpServer::HandlerResponse HttpServer::before_body(const httplib::Request& request,
                                                    httplib::Response& response) {
  auto& connection = *static_cast<Connection*>(serving);
  bool trusted = false;
  connection.refused = !check_(request, response, trusted);
  if (trusted) connections_->trust(connection);
  if (connection.refused) return HandlerResponse::Handled;
  const std::string length = request.get_header_value("Content-Length");
  std::size_t bytes = 0;
  std::from_chars(length.data(), length.data() + length.size(), bytes);
  if (bytes > limits_.body || request.has_header("Content-Encoding")) {
    response.status = bytes > limits_.body ? 413 : 415;
    connection.refused = true;
    return HandlerResponse::Handled;
  }
  if (trusted) connection.allow(limits_.body);
  return HandlerResponse::Unhandled;
}

bool HttpServer::process_and_close_socket(socket_t fd) {
  Connection connection(fd, limits_);
  connections_->add(connection);
  serving = &connection;
  bool good = !credentials_ || connection.shake_hands(*credentials_);
  for (auto patience = limits_.request; good && connection.next_request(patience); patience = limits_.idle) {
    bool closed = false;
    good = process_request(connection, "", 0, "", 0, false, closed, answer_plainly);
    if (connection.refused) connection.linger();
    if (closed || connection.refused) break;
  }
  serving = nullptr;
  connections_->remove(connection);
  ::shutdown(fd, SHUT_RDWR);
  ::close(fd);
  return good;
}

}  // namespace empi
