// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/cluster/log_lines.hpp"

#include <gtest/gtest.h>

namespace emj::cli {
namespace {

TEST(LogLines, ShowsWholeLinesWithoutTheirTimes) {
  LogLines lines;
  EXPECT_EQ(lines.feed("2026-01-31T12:00:00.1Z one\n2026-01-31T12:0"), "one\n");
  EXPECT_EQ(lines.feed("0:01Z two words\n2026-01-31T12:00:02Z \n2026-01-31T12:00:03Z half"), "two words\n\n");
  EXPECT_EQ(lines.end(), "half\n");
  EXPECT_EQ(lines.last_time(), "2026-01-31T12:00:03Z");
}

TEST(LogLines, ShowsNothingTwiceWhenTheStreamComesAgain) {
  LogLines lines;
  EXPECT_EQ(lines.feed("2026-01-31T12:00:00.1Z a\n2026-01-31T12:00:00.12Z b\n2026-01-31T12:00:00.12Z c\n"),
            "a\nb\nc\n");
  lines.end();
  EXPECT_EQ(lines.feed("2026-01-31T12:00:00.1Z a\n2026-01-31T12:00:00.12Z b\n2026-01-31T12:00:00.12Z c\n"
                       "2026-01-31T12:00:00.12Z d\n2026-01-31T12:00:00.2Z e\n"),
            "d\ne\n");
}

// Standard output and error are two pipes of the container's runtime.
TEST(LogLines, LinesOutOfOrderAreShown) {
  LogLines lines;
  EXPECT_EQ(lines.feed("2026-01-31T12:00:02Z a\n2026-01-31T12:00:01Z b\n"), "a\nb\n");
}

TEST(LogLines, AnotherPodsLogBeginsAnew) {
  LogLines lines;
  lines.feed("2026-01-31T12:00:02Z a\n");
  lines.end();
  lines.another_log();
  EXPECT_EQ(lines.feed("2026-01-31T12:00:01Z of the other\n"), "of the other\n");
}

TEST(LogLines, WhatHasNoTimeIsShownAsItIs) {
  LogLines lines;
  EXPECT_EQ(lines.feed("unable to retrieve container logs\n"), "unable to retrieve container logs\n");
  EXPECT_EQ(lines.feed(std::string(1 << 20, 'x') + "\n").size(), (1u << 20) + 1);
}

}  // namespace
}  // namespace emj::cli
