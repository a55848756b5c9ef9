// SPDX-License-Identifier: Apache-2.0
// One simulated history of a job: 2 to 6 pods of 1 to 4 ranks, changes, faults, an end; and what must hold.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/agent/lead/testing/coverage.hpp"

namespace empi::agent::histories {

// The violations, in words; none when all is well. The same seed is the same history.
std::vector<std::string> run_history(std::uint64_t seed, Coverage& coverage, bool tell_messages = false);
// Of a loop that goes on without members (R18): leads are lost, stopped and cut off, and others are named.
std::vector<std::string> run_recovery_history(std::uint64_t seed, Coverage& coverage,
                                              bool tell_messages = false);
// Of such a loop, of which ranks are lost while they vote on a change.
std::vector<std::string> run_vote_history(std::uint64_t seed, Coverage& coverage, bool tell_messages = false);
// Of a master-worker program: the rank that keeps its queue is killed.
std::vector<std::string> run_queue_history(std::uint64_t seed, Coverage& coverage,
                                           bool tell_messages = false);

}  // namespace empi::agent::histories
