// SPDX-License-Identifier: Apache-2.0
#include "runtime/queue/connection.hpp"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "runtime/base/host_port.hpp"

namespace empi::queue {
namespace {

constexpr std::size_t kReadAtOnce = 64 * 1024;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

}  // namespace

Bytes bytes_of(const std::string& text) {
  const auto* at = reinterpret_cast<const std::byte*>(text.data());
  return {at, at + text.size()};
}

std::string random_key() {
  std::array<unsigned char, 16> noise{};
  if (getrandom(noise.data(), noise.size(), 0) != static_cast<ssize_t>(noise.size())) fail("getrandom");
  std::string key;
  for (const unsigned char byte : noise) {
    key += "0123456789abcdef"[byte >> 4];
    key += "0123456789abcdef"[byte & 15];
  }
  return key;
}

std::string Address::text() const { return HostPort{host, port}.text() + "/" + key; }

Address Address::parse(const std::string& text) {
  const auto slash = text.find('/');
  const HostPort at = HostPort::parse(text.substr(0, slash));
  if (slash == text.npos || at.port == 0)
    throw std::runtime_error("'" + text + "' is no address of a master (host:port/key)");
  return {at.host, at.port, text.substr(slash + 1)};
}

Connection::Connection(UniqueFd fd, std::uint64_t largest) : fd_(std::move(fd)), largest_(largest) {
  const int on = 1;
  setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

Connection Connection::to(const Address& address, double seconds) {
  const std::string what = "cannot connect to the master at " + HostPort{address.host, address.port}.text();
  const SocketAddress name(address.host, address.port);
  UniqueFd fd(socket(name.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) fail(what);
  if (::connect(fd.get(), name.get(), name.length) != 0) {
    if (errno != EINPROGRESS) fail(what);
    pollfd ready{fd.get(), POLLOUT, 0};
    int n = 0;
    do n = poll(&ready, 1, static_cast<int>(seconds * 1e3));
    while (n < 0 && errno == EINTR);
    int error = n == 0 ? ETIMEDOUT : 0;
    socklen_t length = sizeof error;
    if (n > 0) getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) {
      errno = error;
      fail(what);
    }
  }
  return Connection(std::move(fd));
}

void Connection::send(Head head, SharedBytes payload) {
  head.length = payload ? payload->size() : 0;
  out_.push_back({head, std::move(payload), 0});
}

bool Connection::read_some(std::size_t turn) {
  for (std::size_t taken_now = 0; taken_now < turn;) {
    if (taken_ > 0 && (taken_ == in_.size() || taken_ > kReadAtOnce)) {
      in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(taken_));
      taken_ = 0;
    }
    const std::size_t had = in_.size();
    in_.resize(had + kReadAtOnce);
    const ssize_t n = recv(fd_.get(), in_.data() + had, kReadAtOnce, 0);
    const int error = errno;
    in_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n > 0) {
      if (static_cast<std::size_t>(n) < kReadAtOnce) return true;
      taken_now += static_cast<std::size_t>(n);
      continue;
    }
    if (n < 0 && error == EINTR) continue;
    return n < 0 && (error == EAGAIN || error == EWOULDBLOCK);
  }
  return true;
}

bool Connection::write_some() {
  while (!out_.empty()) {
    Outgoing& now = out_.front();
    const std::size_t body = now.payload ? now.payload->size() : 0;
    iovec parts[2];
    int n_parts = 0;
    if (now.sent < sizeof(Head))
      parts[n_parts++] = {reinterpret_cast<std::byte*>(&now.head) + now.sent, sizeof(Head) - now.sent};
    const std::size_t sent_body = now.sent > sizeof(Head) ? now.sent - sizeof(Head) : 0;
    if (sent_body < body)
      parts[n_parts++] = {const_cast<std::byte*>(now.payload->data()) + sent_body, body - sent_body};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = static_cast<std::size_t>(n_parts);
    const ssize_t n = sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    now.sent += static_cast<std::size_t>(n);
    if (now.sent == sizeof(Head) + body) out_.pop_front();
  }
  return true;
}

void Connection::flush() {
  while (write_some() && !out_.empty()) {
    pollfd ready{fd_.get(), POLLOUT, 0};
    poll(&ready, 1, -1);
  }
}

std::optional<Message> Connection::next() {
  if (in_.size() - taken_ < sizeof(Head)) return std::nullopt;
  Message message;
  std::memcpy(&message.head, in_.data() + taken_, sizeof(Head));
  if (message.head.magic != Head{}.magic || message.head.length > largest_)
    throw std::runtime_error("something that is no worker or master of this job speaks on its connection");
  if (in_.size() - taken_ - sizeof(Head) < message.head.length) return std::nullopt;
  const auto body = in_.begin() + static_cast<std::ptrdiff_t>(taken_ + sizeof(Head));
  message.payload.assign(body, body + static_cast<std::ptrdiff_t>(message.head.length));
  taken_ += sizeof(Head) + message.head.length;
  return message;
}

bool Connection::delivered() const {
  int unacknowledged = 0;
  return out_.empty() && ioctl(fd_.get(), SIOCOUTQ, &unacknowledged) == 0 && unacknowledged == 0;
}

short Connection::events() const { return static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT); }

Listener::Listener(const std::string& host) {
  const std::string what = "cannot listen for workers on " + host;
  const SocketAddress name(host, 0);
  fd_ = UniqueFd(socket(name.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  SocketAddress bound = name;
  if (!fd_ || bind(fd_.get(), name.get(), name.length) != 0 || listen(fd_.get(), 1024) != 0 ||
      getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.length) != 0)
    fail(what);
  port_ = port_of(bound.storage);
}

std::optional<Connection> Listener::accept() {
  const int fd = accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  exhausted_ = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
  if (fd < 0) return std::nullopt;
  return Connection(UniqueFd(fd), Connection::kLargestHello);
}

}  // namespace empi::queue
