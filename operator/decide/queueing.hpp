// SPDX-License-Identifier: Apache-2.0
// A job in a queue: its side of the bargain. The queue says how many workers it may have (status.allocation),
// its policy how many it wants (the wish), its spec how few it can live with (the floor); it has as many as
// all three allow (rules Q15, Q16, Q21 to Q23).
//
//   Queued     no allocation; pods of an earlier run go. A promise may stand.    -> Pending, by a grant
//   Pending,   as without a queue, with as many workers as were granted          -> Running
//   Starting   what is not there in time is given back; too few: all is          -> Queued
//   Running    fewer granted: it yields. More: it grows. What it does not want, or could not use, it gives
//              back, by lowering its allocation itself.
#pragma once
#include "operator/api/job.hpp"

namespace emj {

bool in_queue(const JobSpec& spec);
// What the queue lets it have now; 0 while it waits, and without a queue.
int allocated_workers(const JobStatus& status);

// Most workers that the job wants now.
int queue_wish(const JobSpec& spec, const PolicyState& state);

}  // namespace emj
