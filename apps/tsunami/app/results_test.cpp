// SPDX-License-Identifier: Apache-2.0
// What a run finds in its folder that an earlier one has left.
#include "apps/tsunami/app/results.hpp"

#include <gtest/gtest.h>

#include "apps/io/test_files.hpp"

namespace tsunami {
namespace {

TEST(Results, NoPictureOfAnEarlierRunStays) {
  const io::test::ScratchFolder folder;
  const auto pictures = {"map.svg",         "wave-0001.png",   "gauge-32412.csv",
                         "gauge-32412.png", "gauge-32412.svg", "resources.png",
                         "resources.svg",   "profiles.png",    "profiles.svg"};
  for (const char* name : pictures) folder.write(name, "x");
  folder.write("drawn-by-hand.svg", "x");
  clear_results(folder.path(""));
  for (const char* name : pictures) EXPECT_FALSE(std::filesystem::exists(folder.path(name))) << name;
  EXPECT_TRUE(std::filesystem::exists(folder.path("drawn-by-hand.svg")));
}

}  // namespace
}  // namespace tsunami
