// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/no_devices.hpp"

#include <gtest/gtest.h>

namespace empi {
namespace {

using Plugins = NoDevices::Plugins;

class NoDevicesTest : public ::testing::Test {
 protected:
  void SetUp() override { forget(); }
  void TearDown() override { forget(); }
  static void forget() {
    for (const char* variable : {"HWLOC_COMPONENTS", "HWLOC_PLUGINS_PATH"}) unsetenv(variable);
  }
};

TEST_F(NoDevicesTest, AreLookedForOnlyWhileItLives) {
  {
    const NoDevices here(Plugins::AsEver);
    EXPECT_STREQ(std::getenv("HWLOC_COMPONENTS"), "-linuxio,-pci");
    EXPECT_EQ(std::getenv("HWLOC_PLUGINS_PATH"), nullptr);
  }
  EXPECT_EQ(std::getenv("HWLOC_COMPONENTS"), nullptr);
}

TEST_F(NoDevicesTest, NorAreTheirLibrariesLoadedForIt) {
  {
    const NoDevices here(Plugins::None);
    EXPECT_STREQ(std::getenv("HWLOC_COMPONENTS"), "-linuxio,-pci");
    EXPECT_STREQ(std::getenv("HWLOC_PLUGINS_PATH"), "/nowhere");
  }
  EXPECT_EQ(std::getenv("HWLOC_COMPONENTS"), nullptr);
  EXPECT_EQ(std::getenv("HWLOC_PLUGINS_PATH"), nullptr);
}

TEST_F(NoDevicesTest, LeavesAloneWhatTheUserSays) {
  setenv("HWLOC_COMPONENTS", "linux,stop", 1);
  setenv("HWLOC_PLUGINS_PATH", "/opt/hwloc", 1);
  {
    const NoDevices here(Plugins::None);
    EXPECT_STREQ(std::getenv("HWLOC_COMPONENTS"), "linux,stop");
    EXPECT_STREQ(std::getenv("HWLOC_PLUGINS_PATH"), "/opt/hwloc");
  }
  EXPECT_STREQ(std::getenv("HWLOC_COMPONENTS"), "linux,stop");
  EXPECT_STREQ(std::getenv("HWLOC_PLUGINS_PATH"), "/opt/hwloc");
}

TEST_F(NoDevicesTest, AreLookedForWhereThatIsWanted) {
  const NoDevices here(Plugins::None, false);
  EXPECT_EQ(std::getenv("HWLOC_COMPONENTS"), nullptr);
  EXPECT_EQ(std::getenv("HWLOC_PLUGINS_PATH"), nullptr);
}

}  // namespace
}  // namespace empi
