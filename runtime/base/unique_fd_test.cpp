// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/unique_fd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace empi {
namespace {

bool is_open(int fd) { return fcntl(fd, F_GETFD) != -1; }
UniqueFd opened() { return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TEST(UniqueFd, ClosesWhatItOwns) {
  int number = -1;
  {
    const UniqueFd fd = opened();
    number = fd.get();
    EXPECT_TRUE(fd);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFd, HasOneOwner) {
  UniqueFd first = opened();
  const int number = first.get();
  UniqueFd second(std::move(first));
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): what is promised of it
  EXPECT_EQ(second.get(), number);
  first = opened();
  const int replaced = first.get();
  first = std::move(second);
  EXPECT_FALSE(is_open(replaced));
  EXPECT_TRUE(is_open(number));
  first.reset();
  EXPECT_FALSE(is_open(number));
  EXPECT_FALSE(first);
}

TEST(UniqueFd, WhatItGivesAwayStaysOpen) {
  UniqueFd fd = opened();
  const int number = fd.release();
  EXPECT_FALSE(fd);
  EXPECT_TRUE(is_open(number));
  EXPECT_EQ(close(number), 0);
}

TEST(UniqueFd, IsKeptWhenItIsMovedToItself) {
  UniqueFd fd = opened();
  UniqueFd& same = fd;
  fd = std::move(same);
  EXPECT_TRUE(is_open(fd.get()));
}

}  // namespace
}  // namespace empi
