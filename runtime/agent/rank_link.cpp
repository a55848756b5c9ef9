// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/rank_link.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "runtime/agent/reactor.hpp"
#include "runtime/base/datagram.hpp"
#include "runtime/base/log.hpp"

namespace empi::agent {

RankLink::RankLink(Reactor& reactor, std::string path, OnReport on_report)
    : reactor_(reactor),
      path_(std::move(path)),
      on_report_(std::move(on_report)),
      listener_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
  unlink(path_.c_str());
  if (!listener_ || bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) ||
      listen(listener_.get(), 256))
    throw std::system_error(errno, std::generic_category(), "cannot listen on '" + path_ + "'");
  reactor_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept_one(); });
}

RankLink::~RankLink() {
  reactor_.unwatch(listener_.get());
  while (!connections_.empty()) drop(connections_.begin()->first);
  unlink(path_.c_str());
}

void RankLink::accept_one() {
  UniqueFd accepted(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!accepted) return;
  const int fd = accepted.get();
  connections_[fd].fd = std::move(accepted);
  reactor_.watch(fd, EPOLLIN | EPOLLRDHUP, [this, fd](std::uint32_t) { receive(fd); });
}

void RankLink::receive(int fd) {
  std::string text;
  for (;;) {
    const ssize_t n = receive_datagram(fd, text);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return drop(fd);
    const auto report = decode_report(text);
    if (!report) {
      log::warn("a rank sent something that is no report: {}", text.substr(0, 200));
      continue;
    }
    if (auto at = connections_.find(fd); at != connections_.end()) {
      at->second.proc = report->proc;
      by_proc_[report->proc] = fd;
    }
    on_report_(*report);
    if (!connections_.contains(fd)) return;
  }
}

void RankLink::drop(int fd) {
  auto at = connections_.find(fd);
  if (at == connections_.end()) return;
  if (at->second.proc)
    if (auto mine = by_proc_.find(*at->second.proc); mine != by_proc_.end() && mine->second == fd)
      by_proc_.erase(mine);
  reactor_.unwatch(fd);
  connections_.erase(at);
}

void RankLink::receive_pending() {
  std::vector<int> fds;
  for (const auto& [fd, connection] : connections_) fds.push_back(fd);
  for (int fd : fds) receive(fd);
}

std::string RankLink::send(const ProcId& proc, const RankOrder& order) {
  auto at = by_proc_.find(proc);
  if (at == by_proc_.end()) return "it is not connected to its agent";
  const std::string text = encode(order);
  const int error = send_datagram(at->second, text, MSG_DONTWAIT);
  if (error == 0) return "";
  return std::generic_category().message(error) + " (" + std::to_string(text.size()) + " bytes)";
}

}  // namespace empi::agent
