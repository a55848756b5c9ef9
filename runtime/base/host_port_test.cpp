// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/host_port.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace empi {
namespace {

TEST(HostPort, IsReadAndWritten) {
  for (const char* text : {"10.0.0.1:7400", "[fd00::1]:7400", "localhost:80"})
    EXPECT_EQ(HostPort::parse(text).text(), text);
  EXPECT_EQ(HostPort::parse("[fd00:89::3]:7400").host, "fd00:89::3");
  EXPECT_EQ(HostPort::parse("[fd00:89::3]:7400").port, 7400);
  EXPECT_EQ(HostPort::parse("nowhere").port, 0);
  EXPECT_EQ(HostPort::parse("10.0.0.1:x").port, 0);
}

TEST(SocketAddress, IsOfEitherFamily) {
  const SocketAddress four("127.0.0.1", 81), six("::1", 82);
  EXPECT_EQ(four.family(), AF_INET);
  EXPECT_EQ(port_of(four.storage), 81);
  EXPECT_EQ(six.family(), AF_INET6);
  EXPECT_EQ(port_of(six.storage), 82);
  EXPECT_THROW(SocketAddress("[::1]", 1), std::runtime_error);
  EXPECT_THROW(SocketAddress("localhost", 1), std::runtime_error);
}

}  // namespace
}  // namespace empi
