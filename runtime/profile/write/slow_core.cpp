// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile/write/slow_core.hpp"

namespace empi::profile {

void SlowCore::begin(std::uint64_t cpu, std::uint64_t clock) {
  cpu_ = cpu;
  clock_ = clock;
}

std::uint64_t SlowCore::due(std::uint64_t cpu, std::uint64_t clock) {
  sleep_.owe(factor_ * static_cast<double>(cpu - cpu_) - static_cast<double>(clock - clock_));
  begin(cpu, clock);
  return sleep_.due();
}

}  // namespace empi::profile
