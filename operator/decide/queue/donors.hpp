// SPDX-License-Identifier: Apache-2.0
// Steps 7 and 11 of a pass: who lets go of workers. Those lose first to whom they are worth least.
#pragma once
#include "operator/decide/queue/draft.hpp"

namespace emj::queue {

// For promises that stand in their jobs' status (Draft::unmet): a promise that was not written yet never
// happened (rule Q26). Nobody goes below its floor, and who is more important than the one that waits keeps
// its reference size.
void ask_donors(Draft& draft);

// When nodes have gone: down to the floors, for nobody.
void give_back(Draft& draft);

}  // namespace emj::queue
