// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/laid_out.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace empi {
namespace {

std::string text(const Segment& segment) {
  return {reinterpret_cast<const char*>(segment.bytes.data()), segment.bytes.size()};
}

TEST(LaidOut, IsAllButTheHolesAndLeavesNoFile) {
  std::string path;
  const LaidOut laid = lay_out_in_memory([&](const std::string& in) -> std::vector<Hole> {
    path = in;
    std::ofstream(in, std::ios::binary) << "head....tail";
    return {{8, 0}, {4, 4}, {0, 0}};  // in no order; of the empty ones one has no place
  });
  EXPECT_EQ(laid.file_bytes, 12u);
  ASSERT_EQ(laid.segments.size(), 2u);
  EXPECT_EQ(text(laid.segments[0]), "head");
  EXPECT_EQ(laid.segments[1].offset, 8u);
  EXPECT_EQ(text(laid.segments[1]), "tail");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(LaidOut, PassesOnWhatTheWriterThrowsAndLeavesNoFile) {
  std::string path;
  EXPECT_THROW(lay_out_in_memory([&](const std::string& in) -> std::vector<Hole> {
                 path = in;
                 throw std::logic_error("no");
               }),
               std::logic_error);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace empi
