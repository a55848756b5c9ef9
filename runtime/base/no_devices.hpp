// SPDX-License-Identifier: Apache-2.0
// While one of these lives, hwloc looks for no devices in this process, unless the environment says what
// hwloc is to do (HWLOC_COMPONENTS, with any value that is not empty). Reading the configuration of each PCI
// device was three quarters of what starting a PMIx server takes, and a third of MPI_Init; where messages go
// by TCP nobody asks which device is near. It sets a variable: it is for when threads do not read them.
#pragma once
#include <cstdlib>

namespace empi {

class NoDevices {
 public:
  explicit NoDevices(bool wanted = true)
      : told_(wanted && !std::getenv(kVariable) && setenv(kVariable, "-linuxio,-pci", 0) == 0) {}
  ~NoDevices() {
    if (told_) unsetenv(kVariable);
  }
  NoDevices(const NoDevices&) = delete;
  NoDevices& operator=(const NoDevices&) = delete;

 private:
  static constexpr char kVariable[] = "HWLOC_COMPONENTS";
  bool told_;
};

}  // namespace empi
