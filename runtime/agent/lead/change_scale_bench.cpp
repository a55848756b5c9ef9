// SPDX-License-Identifier: Apache-2.0
// What a change asks of the lead of a large job: processor time of its own code, the channel and the coding
// of messages, for one grow from half of simulated pods with 64 ranks each. Arguments: numbers of pods
// (100 400).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "runtime/agent/lead/testing/grow.hpp"
#include "runtime/base/log.hpp"

int main(int argc, char** argv) {
  constexpr int kSlots = 64;
  empi::log::to_stderr("change-scale", "%v", "warn");
  std::vector<int> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
  if (sizes.empty()) sizes = {100, 400};
  bool well = true;
  for (const int pods : sizes) {
    const auto growth = empi::agent::histories::grow_from_half(pods, kSlots);
    well = well && growth.committed;
    const double seconds = std::chrono::duration<double>(growth.lead.busy).count();
    std::fprintf(
        stderr, "%d pods: %s; %llu messages heard, %llu said, %.1f MB encoded\n", pods,
        growth.committed ? "committed" : "NOT COMMITTED", static_cast<unsigned long long>(growth.lead.heard),
        static_cast<unsigned long long>(growth.lead.said), static_cast<double>(growth.lead.encoded) * 1e-6);
    std::printf("bench change-scale.%d %.3f s\n", pods, seconds);
  }
  return well ? 0 : 1;
}
