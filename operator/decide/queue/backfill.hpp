// SPDX-License-Identifier: Apache-2.0
// Steps 3 to 5 of a pass: who of those that wait is let in. Whether with workers that are free or with such
// as others have to let go of first, promise.hpp says.
#pragma once
#include <vector>

#include "operator/decide/queue/ledger.hpp"
#include "operator/decide/queue/quota.hpp"
#include "operator/decide/queue/reserve.hpp"

namespace emj::queue {

// What can be had of each pool within one release: what is free, what is on its way, what can be taken from
// running jobs, less what is promised and what was let in before.
class Room {
 public:
  Room(const QueueState& state, const std::vector<Ledger>& ledgers);

  // Of it a job that takes only what is free has what is nobody's, now.
  Resources of(int pool, const Demand& job);
  // Without taking anything from anybody.
  const Resources& sure(int pool, const Demand& job) const {
    return free_only_in(job, pool) ? pools_[pool].free : pools_[pool].sure;
  }
  void take(int pool, const Resources& need) {
    pools_[pool].sure -= need;
    pools_[pool].free -= need;
  }

 private:
  struct Pool {
    Resources sure, free;
    bool known = false;  // the surplus, of this priority
    int priority = 0;
    Resources surplus;
  };
  const QueueState& state_;
  std::vector<Pool> pools_;
};

struct Admission {
  std::vector<Admitted> admitted;  // in order
  std::vector<Reservation> reservations;
  std::vector<int> waiting;
  std::vector<Barred> barred;
};

// Whether quotas leave room for its least size in a pool that could ever hold that.
bool quotas_allow(const QueueState& state, const std::vector<Quota>& quotas, const Demand& job);

// Whether a pool that the job may use could ever hold its least size.
bool placeable(const QueueState& state, const Demand& job);
// Whether that is one where others are shrunk for it.
bool others_make_room_for(const QueueState& state, const Demand& job);

// A job that no pool can ever hold, or that `quotas` leave no room for, is passed over, and nobody stands
// back for it. In each pool the first that must wait gets a reservation; others are let in ahead of it when
// they cannot delay it, or nobody where the rules say so or it is overdue.
Admission admit(const QueueState& state, const std::vector<Ledger>& ledgers, std::vector<Quota> quotas,
                const std::vector<int>& order, Time now);

}  // namespace emj::queue
