// SPDX-License-Identifier: Apache-2.0
// The job's side of going from one pool of its queue to another while it runs (rule Q19): its grant names
// another pool, its members there count as on their way out (Pass::disrupted()), so one change brings all of
// the new pool but the oldest member, who hands the data over, and a second one takes that.
#pragma once
#include "operator/decide/pass.hpp"

namespace emj {

// The allocation, to be changed: whoever reads it tells by its number.
AllocationStatus& next_version(Pass& pass);

// A grant for another pool was taken.
void leave_pool(JobStatus& status, const AllocationStatus& before);
// It does not try on, and nobody has arrived there: the allocation is what it has again. False: it was not on
// its way, or somebody has arrived.
bool stays_in_pool(Pass& pass, const std::string& why);
// Who was left behind has gone.
void arrive_in_pool(Pass& pass);

}  // namespace emj
