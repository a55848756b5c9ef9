// SPDX-License-Identifier: Apache-2.0
// What an ElasticQueue says about how its jobs share its pools, as the scheduler reads it, with the defaults
// of its schema.
#pragma once
#include <map>
#include <string>

#include "operator/api/queue.hpp"
#include "operator/api/time.hpp"

namespace emj::queue {

// What growth maximises: the sum over jobs of weight times ln S (rule Q4), S, S over the work left, -left /
// S; or shares by the work that an iteration reports.
enum class Objective { Fair, Throughput, Turnaround, Makespan, Workload };
// How a job may start before another that is ahead of it: when it cannot delay the first that waits, when it
// cannot delay any of the first hundred, or always when there is room.
enum class Backfill { Easy, Conservative, None };
// Start: nothing is started. All: nothing is changed either.
enum class Hold { None, Start, All };

struct FairShare {
  bool by_namespace = false;
  Seconds penalty{14400};              // largest, for who has used twice the share or more
  Seconds half_life{168 * 3600};       // after which what was used counts half
  std::map<std::string, int> weights;  // of namespaces; 100 where nothing is said
};

struct Order {
  // Who has waited longer is first in its priority, and nobody passes it; 0: no bound. That is dear where the
  // queue is long: a day makes the mean turnaround of KTH-SP2 with 20 % malleable jobs 20,444 s instead of
  // 13,323 s, and EASY alone already holds to what it promises the first.
  Seconds max_wait{0};
  FairShare fair_share;
};

struct Growth {
  double time_value_percent = 4;       // V of rule Q3 in workers, per cent of the capacity at full use
  double min_efficiency_percent = 50;  // S(n) m / (n S(m)), m the least feasible size
  double min_step_percent = 10;  // of the present size: smaller steps of running jobs are not worth a change
  double cost_factor_percent = 1000;  // seconds saved over seconds lost
  Seconds cooldown{120};              // a running job grows this long after its last change
};

struct Moves {
  double min_ratio_percent = 150;  // receiver's marginal over the donor's
  Seconds rest{300};
};

struct Rules {
  Order order;
  Backfill backfill = Backfill::Easy;
  Objective objective = Objective::Fair;
  Growth growth;
  Moves moves;
  Hold hold = Hold::None;
};

Rules rules_of(const QueueSpec& spec);

}  // namespace emj::queue
