// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/growing_file.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <stdexcept>

#include "operator/local/process.hpp"

namespace emj::cli {
namespace {

using testing::HasSubstr;

TEST(GrowingFile, WhatAFullDiskDoesNotTakeIsWrittenLater) {
  const std::string path = testing::TempDir() + "growing-" + local::random_uuid();
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit little{10, limit.rlim_max};
  GrowingFile file(path);
  file.add("first\n");
  file.flush();
  EXPECT_EQ(file.trouble(), "");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  file.add("second\n");
  file.flush();
  EXPECT_THAT(file.trouble(), HasSubstr(path));
  file.add("third\n");
  file.flush();
  EXPECT_THAT(file.trouble(), HasSubstr("kept until it can be written"));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  file.flush();
  EXPECT_EQ(file.trouble(), "");
  EXPECT_EQ(local::read_file(path).value_or(""), "first\nsecond\nthird\n");
  std::filesystem::remove(path);
}

TEST(GrowingFile, AFolderThatIsNotThereIsNamed) {
  try {
    GrowingFile file("/proc/no/profile.csv");
    FAIL() << "it was opened";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/proc/no/profile.csv"));
    EXPECT_THAT(error.what(), HasSubstr("--out"));
  }
}

}  // namespace
}  // namespace emj::cli
