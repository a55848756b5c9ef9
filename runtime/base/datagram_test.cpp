// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/datagram.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>

#include "runtime/base/unique_fd.hpp"

namespace empi {
namespace {

class Datagrams : public ::testing::Test {
 protected:
  UniqueFd one, other;
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    one = UniqueFd(ends[0]);
    other = UniqueFd(ends[1]);
  }
};

TEST_F(Datagrams, ArriveWholeHoweverLong) {
  std::string text;
  for (const std::size_t length : {1, 64 * 1024, 64 * 1024 + 1, 150'000, 2}) {
    const std::string sent(length, 'x');
    ASSERT_EQ(send_datagram(one.get(), sent), 0) << length;
    ASSERT_EQ(receive_datagram(other.get(), text), static_cast<ssize_t>(length));
    EXPECT_EQ(text, sent);
  }
}

TEST_F(Datagrams, ThatCannotBeSentSayWhy) {
  EXPECT_EQ(send_datagram(one.get(), std::string(std::size_t{8} << 20, 'x')), EMSGSIZE);
  int error = 0;
  for (int i = 0; i < 10'000 && error == 0; ++i)
    error = send_datagram(one.get(), std::string(10'000, 'x'), MSG_DONTWAIT);
  EXPECT_EQ(error, EAGAIN) << "nobody reads";
  shutdown(other.get(), SHUT_RD);
  EXPECT_EQ(send_datagram(one.get(), "x"), EPIPE);
}

TEST_F(Datagrams, OfAClosedEndAreNone) {
  std::string text;
  ASSERT_EQ(send_datagram(one.get(), "last"), 0);
  one.reset();
  EXPECT_EQ(receive_datagram(other.get(), text), 4);
  EXPECT_EQ(receive_datagram(other.get(), text), 0);
}

}  // namespace
}  // namespace empi
