// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/no_devices.hpp"

#include <gtest/gtest.h>

namespace empi {
namespace {

TEST(NoDevices, AreLookedForOnlyWhileItLives) {
  unsetenv("HWLOC_COMPONENTS");
  {
    const NoDevices here;
    EXPECT_STREQ(std::getenv("HWLOC_COMPONENTS"), "-linuxio,-pci");
  }
  EXPECT_EQ(std::getenv("HWLOC_COMPONENTS"), nullptr);
}

TEST(NoDevices, LeavesAloneWhatTheUserSays) {
  setenv("HWLOC_COMPONENTS", "-opencl", 1);
  {
    const NoDevices here;
    EXPECT_STREQ(std::getenv("HWLOC_COMPONENTS"), "-opencl");
  }
  EXPECT_STREQ(std::getenv("HWLOC_COMPONENTS"), "-opencl");
  unsetenv("HWLOC_COMPONENTS");
}

}  // namespace
}  // namespace empi
