// SPDX-License-Identifier: Apache-2.0
// Step 9 of a pass: what is neither held nor promised goes to running jobs and to those that start now, as
// far as it pays.
#pragma once
#include "operator/decide/queue/draft.hpp"

namespace emj::queue {

// A job that starts in this plan starts at the size it reaches here: no change is needed. One that runs grows
// only if it has rested, by a step of minStepPercent, when that saves costFactor times what a change costs,
// and not shortly before its end. Nothing is taken back when a cap falls (rule Q38).
void grow(Draft& draft);

// Rule Q3: the place in its curve up to which a job may grow: what its policy and what is known of it allow,
// while V worker-seconds are worth a second, where its workers are used well enough, and as far as the quotas
// of its namespace let it.
int growth_limit(const Draft& draft, int i, int pool);

// Whether job `i`, which runs, is better off with `workers` than with what it has, changes of `lost` seconds
// paid; says the seconds saved and those left in `grant`.
bool pays(const Draft& draft, int i, int workers, double lost, Grant& grant);

}  // namespace emj::queue
