// SPDX-License-Identifier: Apache-2.0
// Step 10 of a pass: workers go from whom they are worth little to whom they are worth much, when nobody
// waits.
#pragma once
#include "operator/decide/queue/draft.hpp"

namespace emj::queue {

// One pair a pool and pass. Both have rested, the receiver's marginal is minRatioPercent of the donor's, the
// seconds it saves pay for both changes. The donor lets go here; what it frees is handed out by growth, like
// anything that is free. The objective rises by at least (minRatio - 1) times the donor's loss and is
// bounded: there is no cycle (rule Q34).
void move_workers(Draft& draft);

}  // namespace emj::queue
