// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/agent_link.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace empi::adapt {

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
  const std::string text = encode(report);
  while (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

AgentLink::Received AgentLink::receive(int timeout_ms, RankOrder& order) {
  std::vector<char> buffer(64 * 1024);
  for (;;) {
    pollfd readable{socket_.get(), POLLIN, 0};
    const int ready = poll(&readable, 1, timeout_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Received::Nothing;
    const ssize_t length = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return Received::Closed;
    if (auto decoded = decode_order({buffer.data(), static_cast<std::size_t>(length)})) {
      order = std::move(*decoded);
      return Received::Order;
    }
  }
}

void AgentLink::stop_receiving() {
  if (socket_) shutdown(socket_.get(), SHUT_RD);
}

}  // namespace empi::adapt
