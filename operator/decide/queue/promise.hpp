// SPDX-License-Identifier: Apache-2.0
// Step 6 of a pass: who starts now and who is promised workers. What is freed for a promise belongs to it
// until it is met (rule Q1): without that a donor gets back what it has just given, and gives it again.
#pragma once
#include <vector>

#include "operator/decide/queue/backfill.hpp"
#include "operator/decide/queue/draft.hpp"

namespace emj::queue {

// Promises that no pool can keep any more are withdrawn; and when the first of `order` fits nowhere, so are
// the newest promises of the lowest priority below its own, if it fits then.
void withdraw_promises(Draft& draft, const std::vector<int>& order);

// Older promises first, then the newly admitted. What donors still owe to an earlier one does not hold a
// later one back; what is free for it does. Fills Draft::unmet.
void grant_promises(Draft& draft, const std::vector<Admitted>& admitted);

}  // namespace emj::queue
