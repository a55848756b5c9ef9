// SPDX-License-Identifier: Apache-2.0
// While one of these lives, hwloc looks for no devices in this process, unless the environment says what
// hwloc is to do (HWLOC_COMPONENTS, with any value that is not empty). Reading the configuration of each PCI
// device was three quarters of what starting a PMIx server takes, and a third of MPI_Init; where messages go
// by TCP nobody asks which device is near. With Plugins::None it does not load its plugins either, which
// bring libraries of OpenCL, X and others along (unless HWLOC_PLUGINS_PATH says where they are): that holds
// as long as anybody in the process has a topology, so it is for programs whose every use of hwloc is known.
// It sets variables: it is for when threads do not read them.
#pragma once
#include <cstdlib>

namespace empi {

class NoDevices {
 public:
  enum class Plugins : bool { None, AsEver };
  explicit NoDevices(Plugins plugins, bool wanted = true)
      : told_(wanted && tell(kComponents, "-linuxio,-pci")),
        told_plugins_(wanted && plugins == Plugins::None && tell(kPlugins, "/nowhere")) {}
  ~NoDevices() {
    if (told_) unsetenv(kComponents);
    if (told_plugins_) unsetenv(kPlugins);
  }
  NoDevices(const NoDevices&) = delete;
  NoDevices& operator=(const NoDevices&) = delete;

 private:
  static constexpr char kComponents[] = "HWLOC_COMPONENTS", kPlugins[] = "HWLOC_PLUGINS_PATH";
  static bool tell(const char* variable, const char* value) {
    return !std::getenv(variable) && setenv(variable, value, 0) == 0;
  }

  bool told_, told_plugins_;
};

}  // namespace empi
