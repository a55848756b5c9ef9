// SPDX-License-Identifier: Apache-2.0
// Simulated histories in bulk: how many a second, how many violate what must hold, and which cells of the
// table and which messages with which fate they have met. Arguments: histories (1000000), first seed (1).
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/agent/lead/testing/history.hpp"
#include "runtime/base/log.hpp"

namespace {

using namespace empi::agent::histories;

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  empi::log::to_stderr("histories", "%v", "off");
  Coverage all;
  std::uint64_t failed = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::vector<std::string> found = run_history(seed, all);
    if (found.empty()) continue;
    if (++failed <= 20)
      for (const std::string& what : count == 1 ? found : std::vector<std::string>{found.front()})
        std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(seed), what.c_str());
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const std::string& line : describe(all)) std::fprintf(stderr, "%s\n", line.c_str());
  std::printf("bench histories.rate %.0f 1/s\n", static_cast<double>(count) / seconds);
  std::printf("bench histories.failed %llu histories\n", static_cast<unsigned long long>(failed));
  std::printf("bench histories.cells %.3f share\n", share_of_cells(all));
  return failed == 0 ? 0 : 1;
}
