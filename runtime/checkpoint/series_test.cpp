// SPDX-License-Identifier: Apache-2.0
// Promise: names of checkpoints sort by number, are never taken for those of another program, and never come
// again.
#include "runtime/checkpoint/series.hpp"

#include <gtest/gtest.h>

namespace empi::checkpoint {
namespace {

TEST(Series, NamesAreReadBack) {
  EXPECT_EQ(whole_name("jacobi", 7), "jacobi.000007.h5");
  EXPECT_EQ(whole_number("jacobi", "jacobi.000007.h5"), 7);
  EXPECT_EQ(whole_number("jacobi", "jacobi.12345678.h5"), 12345678);
  EXPECT_EQ(part_number("jacobi", part_name("jacobi", 8, 0x5f0c2a11)), 8);
}

TEST(Series, OtherNamesAreNone) {
  for (const char* name :
       {"jacobi.000007.h5.bak", "jacobi.7.h5", "jacobi.h5", "jacobi2.000007.h5", ".jacobi.000007.h5",
        "jacobi.-00007.h5", "jacobi..h5", "jacobi.000007x.h5", "", "jacobi.99999999999999999999.h5"})
    EXPECT_FALSE(whole_number("jacobi", name)) << name;
  EXPECT_FALSE(part_number("jacobi", "jacobi.000007.h5"));
  EXPECT_FALSE(whole_number("jacobi", "jacobi.fine.000007.h5"))
      << "another program's, whose name begins alike";
}

TEST(Series, TheNewestIsTriedFirst) {
  const std::vector<std::string> names{"jacobi.000009.h5", "jacobi.000010.h5", "jacobi.1000000.h5",
                                       "other.000011.h5", ".jacobi.000012.00000001.part"};
  EXPECT_EQ(newest_first("jacobi", names),
            (std::vector<std::string>{"jacobi.1000000.h5", "jacobi.000010.h5", "jacobi.000009.h5"}));
}

TEST(Series, NumbersNeverComeAgain) {
  EXPECT_EQ(next_number("jacobi", {}), 1);
  EXPECT_EQ(next_number("jacobi", {"jacobi.000003.h5", ".jacobi.000012.00000001.part", "other.000044.h5"}),
            13);
}

}  // namespace
}  // namespace empi::checkpoint
