// SPDX-License-Identifier: Apache-2.0
// Every field of ElasticQueue, named once; operator/api/field_types.hpp says what a visitor offers. Private
// to operator/api.
#pragma once
#include "operator/api/queue.hpp"
#include "operator/api/status_fields.hpp"

namespace emj::fields {

EMJ_NAMES(PoolCapacity, 2, {PoolCapacity::Quota, "Quota"}, {PoolCapacity::Nodes, "Nodes"})
EMJ_NAMES(FairShareMode, 2, {FairShareMode::Off, "Off"}, {FairShareMode::Namespace, "Namespace"})
EMJ_NAMES(BackfillMode, 3, {BackfillMode::Easy, "easy"}, {BackfillMode::Conservative, "conservative"},
          {BackfillMode::None, "none"})
EMJ_NAMES(QueueObjective, 5, {QueueObjective::Fair, "fair"}, {QueueObjective::Throughput, "throughput"},
          {QueueObjective::Turnaround, "turnaround"}, {QueueObjective::Makespan, "makespan"},
          {QueueObjective::Workload, "workload"})
EMJ_NAMES(HoldMode, 3, {HoldMode::None, "None"}, {HoldMode::Start, "Start"}, {HoldMode::All, "All"})

// --- spec -----------------------------------------------------------------------------------------

template <class V>
void describe(V& v, Amounts& amounts) {
  v.field("cpu", amounts.cpu);
  v.field("memory", amounts.memory);
}

template <class V>
void describe(V& v, Toleration& toleration) {
  v.field("key", toleration.key);
  v.field("operator", toleration.op);
  v.field("value", toleration.value);
  v.field("effect", toleration.effect);
}

template <class V>
void describe(V& v, PoolSpec& pool) {
  v.field("name", pool.name);
  v.field("capacity", pool.capacity);
  v.object("quota", [&](V& v) { describe(v, pool.quota); });
  v.object("headroom", [&](V& v) { describe(v, pool.headroom); });
  v.field("nodeSelector", pool.node_selector);
  v.list("tolerations", pool.tolerations);
  v.field("pricePerCPUHour", pool.price);
  v.field("speedPercent", pool.speed_percent);
  v.field("spot", pool.spot);
  v.field("provisioningSeconds", pool.provisioning);
}

template <class V>
void describe(V& v, QueuePriority& priority) {
  v.field("name", priority.name);
  v.field("value", priority.value);
}

template <class V>
void describe(V& v, NamespaceShare& share) {
  v.field("namespace", share.namespace_name);
  v.field("weight", share.weight);
}

template <class V>
void describe(V& v, OrderSpec& order) {
  v.field("maxWaitSeconds", order.max_wait);
  v.object("fairShare", [&](V& v) {
    FairShareSpec& fair = order.fair_share;
    v.field("mode", fair.mode);
    v.field("halfLifeHours", fair.half_life_hours);
    v.field("penaltySeconds", fair.penalty);
    v.list("shares", fair.shares);
  });
}

template <class V>
void describe(V& v, GrowthSpec& growth) {
  v.field("timeValuePercent", growth.time_value_percent);
  v.field("minEfficiencyPercent", growth.min_efficiency_percent);
  v.field("minStepPercent", growth.min_step_percent);
  v.field("costFactorPercent", growth.cost_factor_percent);
  v.field("cooldownSeconds", growth.cooldown);
}

template <class V>
void describe(V& v, QueueSpec& spec) {
  v.field("namespaces", spec.namespaces);
  v.list("pools", spec.pools);
  v.list("priorities", spec.priorities);
  v.object("order", [&](V& v) { describe(v, spec.order); });
  v.field("backfill", spec.backfill);
  v.field("preemption", spec.preemption);
  v.field("objective", spec.objective);
  v.object("growth", [&](V& v) { describe(v, spec.growth); });
  v.object("moves", [&](V& v) {
    v.field("minRatioPercent", spec.moves.min_ratio_percent);
    v.field("restSeconds", spec.moves.rest);
  });
  v.field("pendingSeconds", spec.pending);
  v.field("hold", spec.hold);
}

// --- status ---------------------------------------------------------------------------------------

template <class V>
void describe(V& v, ResourceStatus& resource) {
  v.field("resource", resource.resource);
  v.field("capacity", resource.capacity);
  v.field("held", resource.held);
  v.field("promised", resource.promised);
  v.field("foreign", resource.foreign);
  v.field("unplaceable", resource.unplaceable);
}

template <class V>
void describe(V& v, PoolStatus& pool) {
  v.field("name", pool.name);
  v.field("nodes", pool.nodes);
  v.field("capacityMilliCPU", pool.capacity_milli_cpu);
  v.field("heldMilliCPU", pool.held_milli_cpu);
  v.field("promisedMilliCPU", pool.promised_milli_cpu);
  v.field("foreignMilliCPU", pool.foreign_milli_cpu);
  v.field("unplaceableMilliCPU", pool.unplaceable_milli_cpu);
  v.list("resources", pool.resources);
}

template <class V>
void describe(V& v, WaitingJob& job) {
  v.field("namespace", job.namespace_name);
  v.field("name", job.name);
  v.field("priority", job.priority);
  v.field("since", job.since);
  v.field("reason", job.reason);
  v.field("expectedStart", job.expected_start);
}

template <class V>
void describe(V& v, NamespaceUsage& usage) {
  v.field("namespace", usage.namespace_name);
  v.field("cpuHours", usage.cpu_hours);
}

template <class V>
void describe(V& v, ClaimRecord& claim) {
  v.field("namespace", claim.namespace_name);
  v.field("overrun", claim.overrun);
  v.field("time", claim.time);
}

template <class V>
void describe(V& v, LearnedPoint& point) {
  v.field("workers", point.workers);
  v.field("iterationSeconds", point.iteration_seconds);
  v.field("computeSeconds", point.compute_seconds);
  v.field("usefulSeconds", point.useful_seconds);
  v.field("workPerIteration", point.work_per_iteration);
  v.field("speedPercent", point.speed_percent);
  v.field("run", point.run);
  v.field("time", point.time);
}

template <class V>
void describe(V& v, LearnedModel& model) {
  v.field("namespace", model.namespace_name);
  v.field("key", model.key);
  v.field("time", model.time);
  v.field("runs", model.runs);
  v.field("workerSeconds", model.worker_seconds);
  v.list("points", model.points);
}

template <class V>
void describe(V& v, QueueStatus& status) {
  v.field("observedGeneration", status.observed_generation);
  v.field("fence", status.fence);
  v.list("pools", status.pools);
  v.field("running", status.running);
  v.field("queued", status.queued);
  v.list("head", status.head);
  v.field("busyPercent", status.busy_percent);
  v.field("releaseSeconds", status.release_seconds);
  v.field("usageTime", status.usage_time);
  v.list("usage", status.usage);
  v.list("claims", status.claims);
  v.list("models", status.models);
  v.list("conditions", status.conditions);
}

}  // namespace emj::fields
