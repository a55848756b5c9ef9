// SPDX-License-Identifier: Apache-2.0
// Simulated histories in bulk: how many a second, how many violate what must hold, and which cells of the
// table and which messages with which fate they have met. Arguments: histories (1000000), first seed (1).
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/agent/lead/testing/history.hpp"

namespace {

using namespace empi;
using namespace empi::agent::histories;

template <std::size_t... I>
std::vector<std::string> ops(std::index_sequence<I...>) {
  return {std::string(std::variant_alternative_t<I, Message>::kOp)...};
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  Coverage all;
  std::uint64_t failed = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::vector<std::string> found = run_history(seed, all);
    if (found.empty()) continue;
    if (++failed <= 20)
      std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(seed), found.front().c_str());
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::size_t met = 0, possible = 0;
  for (const ChangeState state : kChangeStates)
    for (const ChangeEvent event : kChangeEvents) {
      if (!next_state(state, event) || event == ChangeEvent::Requested) continue;
      ++possible;
      if (all.cells.contains({state, event}))
        ++met;
      else
        std::fprintf(stderr, "not met: %s in %s\n", std::string(to_string(event)).c_str(),
                     std::string(to_string(state)).c_str());
    }
  const auto names = ops(std::make_index_sequence<std::variant_size_v<Message>>{});
  for (std::size_t kind = 0; kind < names.size(); ++kind)
    std::fprintf(stderr, "%-12s arrived %llu, lost %llu, repeated %llu, late %llu\n", names[kind].c_str(),
                 static_cast<unsigned long long>(all.messages[kind][0]),
                 static_cast<unsigned long long>(all.messages[kind][1]),
                 static_cast<unsigned long long>(all.messages[kind][2]),
                 static_cast<unsigned long long>(all.messages[kind][3]));
  std::printf("bench histories.rate %.0f 1/s\n", static_cast<double>(count) / seconds);
  std::printf("bench histories.failed %llu histories\n", static_cast<unsigned long long>(failed));
  std::printf("bench histories.cells %.3f share\n", static_cast<double>(met) / static_cast<double>(possible));
  return failed == 0 ? 0 : 1;
}
