// SPDX-License-Identifier: Apache-2.0
// One simulated history of a job: 2 to 6 pods of 1 to 4 ranks, changes, faults, an end; and what must hold.
#pragma once
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/agent/lead/testing/network.hpp"

namespace empi::agent::histories {

// What a set of histories has met.
struct Coverage {
  std::set<std::pair<ChangeState, ChangeEvent>> cells;
  MessageCount messages{};
  std::uint64_t histories = 0, changes = 0, committed = 0, faults = 0, failed_jobs = 0;
};

// The violations, in words; none when all is well. The same seed is the same history.
std::vector<std::string> run_history(std::uint64_t seed, Coverage& coverage);

}  // namespace empi::agent::histories
