// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/agent_link.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "runtime/base/datagram.hpp"

namespace empi::rank {

namespace {

// Far below what a socket takes: objects in the way of a commit are listed by name, and there may be many.
constexpr std::size_t kLongestError = 8 * 1024;

}  // namespace

void AgentLink::connect(const std::string& path, ProcId self) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw std::runtime_error("the agent's socket " + path + " has a path of more than " +
                             std::to_string(sizeof address.sun_path - 1) +
                             " bytes: choose a shorter run directory");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  socket_ = UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket_ || ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("cannot connect to the agent's socket " + path + ": " + std::strerror(errno));
  self_ = std::move(self);
}

void AgentLink::send(RankReport report) {
  if (!socket_) return;
  report.proc = self_;
  if (report.error.size() > kLongestError) report.error.resize(kLongestError);
  send_datagram(socket_.get(), encode(report));
}

AgentLink::Received AgentLink::receive(int timeout_ms, RankOrder& order) {
  std::string text;
  for (;;) {
    pollfd readable{socket_.get(), POLLIN, 0};
    const int ready = poll(&readable, 1, timeout_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Received::Nothing;
    const ssize_t length = receive_datagram(socket_.get(), text);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return Received::Closed;
    if (auto decoded = decode_order(text)) {
      order = std::move(*decoded);
      return Received::Order;
    }
  }
}

void AgentLink::stop_receiving() {
  if (socket_) shutdown(socket_.get(), SHUT_RD);
}

}  // namespace empi::rank
