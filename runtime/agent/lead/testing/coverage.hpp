// SPDX-License-Identifier: Apache-2.0
// What a set of simulated histories has met: cells of the change table, kinds of messages and their fates.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/agent/lead/testing/network.hpp"
#include "runtime/protocol/change.hpp"

namespace empi::agent::histories {

struct Coverage {
  std::set<std::pair<ChangeState, ChangeEvent>> cells;
  MessageCount messages{};
  std::uint64_t histories = 0, changes = 0, faults = 0, failed_jobs = 0;
  std::uint64_t keys = 0, controllers = 0, leads = 0;  // that followed others
  std::uint64_t queues = 0;                            // whose rank was killed
  std::uint64_t votes = 0;                             // that were split by a loss
  std::uint64_t requests = 0;                          // of PMIx, that were answered
  // The sum of a hash of what each history tells: the same where the same seeds had the same courses.
  std::uint64_t digest = 0;
};

// Why the lead never asks the table for this cell; empty when it does, or when the table refuses the event.
std::string_view why_not_met(ChangeState state, ChangeEvent event);

// "hand_over, end: lost": messages of one request, as indices of Message.
std::string in_words(const std::vector<std::size_t>& kinds, Fate fate);
// The table with what was met, and the messages.
std::vector<std::string> describe(const Coverage& coverage);
// What should have been met and was not, and cells that were and should not have been.
std::vector<std::string> gaps(const Coverage& coverage);
double share_of_cells(const Coverage& coverage);  // of those that can be met

}  // namespace empi::agent::histories
