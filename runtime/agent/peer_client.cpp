// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/peer_client.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace empi::agent {
namespace {

using Clock = tls::Session::Clock;
constexpr std::chrono::seconds kPiece{5};

bool wait_for(int socket, short events) {
  const auto until = Clock::now() + kPiece;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd entry{socket, events, 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

}  // namespace

class PeerClient::Pieces final : public httplib::Stream {
 public:
  Pieces(int socket, tls::Session* session) : socket_(socket), session_(session) {}

  bool is_readable() const override {
    return at_ < end_ || (session_ && session_->has_bytes()) || wait_for(socket_, POLLIN);
  }
  bool is_writable() const override { return wait_for(socket_, POLLOUT); }
  ssize_t read(char* into, std::size_t size) override {
    if (at_ == end_) {  // httplib reads heads byte by byte
      const ssize_t got = fill();
      if (got <= 0) return got;
      at_ = 0;
      end_ = static_cast<std::size_t>(got);
    }
    const std::size_t n = std::min(size, end_ - at_);
    std::memcpy(into, buffer_.data() + at_, n);
    at_ += n;
    return static_cast<ssize_t>(n);
  }
  ssize_t write(const char* from, std::size_t size) override {
    if (session_) return session_->write(from, size, Clock::now() + kPiece);
    if (!wait_for(socket_, POLLOUT)) return -1;
    return retried([&] { return ::send(socket_, from, size, MSG_NOSIGNAL); });
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  int socket() const override { return socket_; }

 private:
  ssize_t fill() {
    if (session_) return session_->read(buffer_.data(), buffer_.size(), Clock::now() + kPiece);
    if (!wait_for(socket_, POLLIN)) return -1;
    return retried([&] { return ::recv(socket_, buffer_.data(), buffer_.size(), 0); });
  }
  template <class Call>
  static ssize_t retried(Call call) {
    for (;;) {
      const ssize_t n = call();
      if (n >= 0 || errno != EINTR) return n;
    }
  }

  const int socket_;
  tls::Session* const session_;
  std::array<char, 4096> buffer_{};
  std::size_t at_ = 0, end_ = 0;
};

bool PeerClient::process_socket(const Socket& socket, std::function<bool(httplib::Stream&)> talk) {
  problem_.clear();
  if (!ready(socket.sock, Clock::now() + kPiece, problem_)) return false;
  Pieces stream(socket.sock, session());
  const bool good = talk(stream);
  if (!good && session()) problem_ = session()->problem();
  return good;
}

}  // namespace empi::agent
