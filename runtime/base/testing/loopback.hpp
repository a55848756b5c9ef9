// SPDX-License-Identifier: Apache-2.0
// A listening socket of a test that speaks to its peer by hand.
#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "runtime/base/unique_fd.hpp"

namespace empi::testing_loopback {

// On a free port of 127.0.0.1, which it tells.
inline UniqueFd listen_on_loopback(int& port) {
  UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(listen(listener.get(), 4), 0);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length);
  port = ntohs(address.sin_port);
  return listener;
}

}  // namespace empi::testing_loopback
