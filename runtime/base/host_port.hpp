// SPDX-License-Identifier: Apache-2.0
// Where somebody listens: host:port, an IPv6 host in brackets.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace empi {

/// As it stands before a port: of IPv6 in brackets.
inline std::string in_brackets(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

struct HostPort {
  std::string host;  // without brackets
  int port = 0;      // 0: none is said

  /// What is after the last colon is the port; one that is no number is 0.
  static HostPort parse(std::string_view text);
  std::string text() const;
};

/// For bind and connect: an address of IPv4 or IPv6 in digits. Throws std::runtime_error for anything else.
struct SocketAddress {
  SocketAddress(const std::string& host, int port);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }

  sockaddr_storage storage{};
  socklen_t length = 0;
};

/// That a socket is bound to.
int port_of(const sockaddr_storage& address);

// Inline: the library of users, which is one archive, has it too.
inline HostPort HostPort::parse(std::string_view text) {
  HostPort at;
  const auto colon = text.rfind(':');
  at.host = text.substr(0, colon);
  if (at.host.size() > 1 && at.host.front() == '[' && at.host.back() == ']')
    at.host = at.host.substr(1, at.host.size() - 2);
  if (colon != std::string_view::npos)
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), at.port);
  return at;
}

inline std::string HostPort::text() const { return in_brackets(host) + ":" + std::to_string(port); }

inline SocketAddress::SocketAddress(const std::string& host, int port) {
  const auto network_port = htons(static_cast<std::uint16_t>(port));
  auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    storage.ss_family = AF_INET;
    v4->sin_port = network_port;
    length = sizeof *v4;
  } else if (inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
    storage.ss_family = AF_INET6;
    v6->sin6_port = network_port;
    length = sizeof *v6;
  } else {
    throw std::runtime_error("'" + host + "' is no address of IPv4 or IPv6");
  }
}

inline int port_of(const sockaddr_storage& address) {
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace empi
