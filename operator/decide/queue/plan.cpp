// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/plan.hpp"

#include <algorithm>
#include <cassert>

#include "operator/decide/queue/backfill.hpp"
#include "operator/decide/queue/donors.hpp"
#include "operator/decide/queue/growth.hpp"
#include "operator/decide/queue/moves.hpp"
#include "operator/decide/queue/order.hpp"
#include "operator/decide/queue/pools.hpp"
#include "operator/decide/queue/promise.hpp"
#include "operator/decide/queue/urgent.hpp"

namespace emj::queue {
namespace {

// Steps 3 to 8.
void serve_waiting(Draft& draft, const std::vector<int>& order) {
  serve_urgent(draft);
  withdraw_promises(draft, order);
  Admission admission = admit(draft.state, draft.ledgers, draft.quotas, order, draft.now);
  grant_promises(draft, admission.admitted);
  draft.plan.reservations = std::move(admission.reservations);
  draft.plan.waiting = std::move(admission.waiting);
  draft.plan.barred = std::move(admission.barred);
  ask_donors(draft);
}

// For what others have. Neither what a quota bars nor what can never be placed is a reason to leave all sizes
// as they are.
bool somebody_waits(const Draft& draft) {
  const auto waits = [&](int i) {
    return others_make_room_for(draft.state, draft.job(i)) &&
           std::ranges::find(draft.plan.barred, i, &Barred::job) == draft.plan.barred.end();
  };
  return std::ranges::any_of(draft.plan.waiting, waits) || !draft.unmet.empty() ||
         std::any_of(draft.ledgers.begin(), draft.ledgers.end(),
                     [](const Ledger& ledger) { return any_positive(ledger.promised); });
}

}  // namespace

Plan schedule(const QueueState& state, Time now) {
  assert(in_order(state.jobs));
  Draft draft(state, now);
  std::vector<int> order = waiting_order(state, now);
  if (state.rules.hold == Hold::All) {
    draft.plan.waiting = std::move(order);
    return std::move(draft.plan);
  }
  leave_small_pools(draft);
  give_back(draft);
  if (state.rules.hold == Hold::None) {
    serve_waiting(draft, order);
  } else {
    draft.plan.waiting = std::move(order);
  }
  grow(draft);
  if (!somebody_waits(draft)) {
    move_workers(draft);
    migrate(draft);
  }
  return std::move(draft.plan);
}

}  // namespace emj::queue
