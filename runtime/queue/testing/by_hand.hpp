// SPDX-License-Identifier: Apache-2.0
// A worker, or a master, that a test plays by hand on its end of a connection. All waits are bounded.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/queue/connection.hpp"
#include "runtime/queue/packing.hpp"

namespace empi::queue::by_hand {

inline constexpr int kPatienceMs = 30'000;

inline bool readable(int fd, int milliseconds) {
  pollfd ready{fd, POLLIN, 0};
  return poll(&ready, 1, milliseconds) > 0;
}

// For a socket that wants options before.
inline void connect_to(const UniqueFd& fd, const Address& address) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<std::uint16_t>(address.port));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0)
    throw std::runtime_error("the master cannot be reached");
}

// The next message of the other side; throws std::runtime_error when none comes.
inline Message receive(Connection& connection) {
  for (;;) {
    if (auto message = connection.next()) return std::move(*message);
    if (!readable(connection.fd(), kPatienceMs)) throw std::runtime_error("no message came");
    if (!connection.read_some()) {
      if (auto message = connection.next()) return std::move(*message);
      throw std::runtime_error("the other side has closed the connection");
    }
  }
}

inline Message receive(Connection& connection, Kind kind) {
  for (;;)
    if (Message message = receive(connection); message.head.kind == kind) return message;
}

inline void say_hello(Connection& connection, const Address& to, const WorkerId& self, Newcomer how,
                      std::uint64_t phase, const std::string& pod = "") {
  Packer hello;
  hello.put(to.key);
  hello.put(self);
  hello.list(std::vector<Range>{});
  if (!pod.empty()) hello.put(pod);
  connection.send({.kind = Kind::Hello, .phase = phase, .first = static_cast<std::int64_t>(how)},
                  hello.take());
  connection.flush();
}

}  // namespace empi::queue::by_hand
