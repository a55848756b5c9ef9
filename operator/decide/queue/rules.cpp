// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/rules.hpp"

namespace emj::queue {
namespace {

Objective objective_of(QueueObjective objective) {
  switch (objective) {
    case QueueObjective::Fair:
      return Objective::Fair;
    case QueueObjective::Throughput:
      return Objective::Throughput;
    case QueueObjective::Turnaround:
      return Objective::Turnaround;
    case QueueObjective::Makespan:
      return Objective::Makespan;
    case QueueObjective::Workload:
      return Objective::Workload;
  }
  return Objective::Fair;
}

Backfill backfill_of(BackfillMode mode) {
  switch (mode) {
    case BackfillMode::Easy:
      return Backfill::Easy;
    case BackfillMode::Conservative:
      return Backfill::Conservative;
    case BackfillMode::None:
      return Backfill::None;
  }
  return Backfill::Easy;
}

Hold hold_of(HoldMode mode) {
  switch (mode) {
    case HoldMode::None:
      return Hold::None;
    case HoldMode::Start:
      return Hold::Start;
    case HoldMode::All:
      return Hold::All;
  }
  return Hold::None;
}

}  // namespace

Rules rules_of(const QueueSpec& spec) {
  Rules rules;
  rules.order.max_wait = spec.order.max_wait;
  const FairShareSpec& fair = spec.order.fair_share;
  rules.order.fair_share.by_namespace = fair.mode == FairShareMode::Namespace;
  rules.order.fair_share.penalty = fair.penalty;
  rules.order.fair_share.half_life = Seconds(3600) * fair.half_life_hours;
  for (const NamespaceShare& share : fair.shares)
    rules.order.fair_share.weights[share.namespace_name] = share.weight;
  rules.backfill = backfill_of(spec.backfill);
  rules.objective = objective_of(spec.objective);
  rules.growth = {static_cast<double>(spec.growth.time_value_percent),
                  static_cast<double>(spec.growth.min_efficiency_percent),
                  static_cast<double>(spec.growth.min_step_percent),
                  static_cast<double>(spec.growth.cost_factor_percent), spec.growth.cooldown};
  rules.moves = {static_cast<double>(spec.moves.min_ratio_percent), spec.moves.rest};
  rules.hold = hold_of(spec.hold);
  return rules;
}

}  // namespace emj::queue
