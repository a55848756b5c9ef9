// SPDX-License-Identifier: Apache-2.0
// Every field of an ElasticMPIJob's status, named once; operator/api/field_types.hpp says what a visitor
// offers. Private to operator/api.
#pragma once
#include "operator/api/fields.hpp"
#include "operator/api/status.hpp"

namespace emj::fields {

EMJ_NAMES(DecisionCause, 13, {DecisionCause::Unknown, "Unknown"}, {DecisionCause::Grow, "Grow"},
          {DecisionCause::Shrink, "Shrink"}, {DecisionCause::BestSize, "BestSize"},
          {DecisionCause::Limit, "Limit"}, {DecisionCause::Imbalance, "Imbalance"},
          {DecisionCause::NoData, "NoData"}, {DecisionCause::Stabilizing, "Stabilizing"},
          {DecisionCause::Cooldown, "Cooldown"}, {DecisionCause::Reversal, "Reversal"},
          {DecisionCause::LittleGain, "LittleGain"}, {DecisionCause::ChangeCost, "ChangeCost"},
          {DecisionCause::Blocked, "Blocked"})
EMJ_NAMES(DecisionAction, 7, {DecisionAction::Unknown, ""}, {DecisionAction::Scale, "Scale"},
          {DecisionAction::Recommend, "Recommend"}, {DecisionAction::Keep, "Keep"},
          {DecisionAction::Rebalance, "Rebalance"}, {DecisionAction::Wait, "Wait"},
          {DecisionAction::Ask, "Ask"})
EMJ_NAMES(ResizeResult, 4, {ResizeResult::Unknown, ""}, {ResizeResult::Committed, "Committed"},
          {ResizeResult::RolledBack, "RolledBack"}, {ResizeResult::Superseded, "Superseded"})
EMJ_NAMES(SearchState, 4, {SearchState::NoReference, "NoReference"}, {SearchState::Increasing, "Increasing"},
          {SearchState::Decreasing, "Decreasing"}, {SearchState::Stable, "Stable"})
EMJ_NAMES(QueueCause, 10, {QueueCause::Unknown, ""}, {QueueCause::Waiting, "Waiting"},
          {QueueCause::Promised, "Promised"}, {QueueCause::NoSuchQueue, "NoSuchQueue"},
          {QueueCause::NotAdmitted, "NotAdmitted"}, {QueueCause::TooLarge, "TooLarge"},
          {QueueCause::Held, "Held"}, {QueueCause::Quota, "Quota"}, {QueueCause::Unplaceable, "Unplaceable"},
          {QueueCause::StartFailed, "StartFailed"})
EMJ_NAMES(ForecastSource, 3, {ForecastSource::Unknown, ""}, {ForecastSource::Progress, "Progress"},
          {ForecastSource::Tasks, "Tasks"})
EMJ_NAMES(JobState, 8, {JobState::Queued, "Queued"}, {JobState::Pending, "Pending"},
          {JobState::Starting, "Starting"}, {JobState::Running, "Running"}, {JobState::Resizing, "Resizing"},
          {JobState::Suspended, "Suspended"}, {JobState::Succeeded, "Succeeded"},
          {JobState::Failed, "Failed"})
EMJ_NAMES(ResizePhase, 11, {ResizePhase::CreatingPods, "CreatingPods"}, {ResizePhase::Requested, "Requested"},
          {ResizePhase::Preparing, "Preparing"}, {ResizePhase::Building, "Building"},
          {ResizePhase::Ready, "Ready"}, {ResizePhase::Window, "Window"},
          {ResizePhase::Cancelling, "Cancelling"}, {ResizePhase::RollingBack, "RollingBack"},
          {ResizePhase::Draining, "Draining"}, {ResizePhase::Stopping, "Stopping"},
          {ResizePhase::Restarting, "Restarting"})

template <class V>
void describe(V& v, Condition& condition) {
  v.field("type", condition.type);
  v.field("status", condition.status);
  v.always("reason", condition.reason);
  v.always("message", condition.message);
  v.field("lastTransitionTime", condition.last_transition_time);
  v.field("observedGeneration", condition.observed_generation);
}

template <class V>
void describe(V& v, StartStatus& start) {
  v.field("workers", start.workers);
  v.field("created", start.created);
  v.field("requested", start.requested);
  v.field("startTime", start.start_time);
  v.field("deadline", start.deadline);
}

template <class V>
void describe(V& v, ResizeStatus& resize) {
  v.field("id", resize.id);
  v.field("from", resize.from);
  v.field("to", resize.to);
  v.field("phase", resize.phase);
  v.field("epoch", resize.epoch);
  v.field("add", resize.add);
  v.field("created", resize.created);
  v.field("remove", resize.remove);
  v.field("startTime", resize.start_time);
  v.field("deadline", resize.deadline);
  v.field("requestedTime", resize.requested_time);
  v.field("readyTime", resize.ready_time);
}

template <class V>
void describe(V& v, AwaitedWorkers& awaited) {
  v.field("workers", awaited.workers);
  v.field("created", awaited.created);
  v.field("deadline", awaited.deadline);
  v.field("readyTime", awaited.ready_time);
}

template <class V>
void describe(V& v, StandbyStatus& standby) {
  v.field("workers", standby.workers);
  v.field("created", standby.created);
  v.field("ready", standby.ready);
  v.field("attempts", standby.attempts);
  v.field("retryAfter", standby.retry_after);
  v.field("reason", standby.reason);
}

template <class V>
void describe(V& v, SuccessionStatus& succession) {
  v.field("fence", succession.fence);
  v.field("leadUID", succession.lead_uid);
  v.field("leadPod", succession.lead_pod);
  v.field("dead", succession.dead);
  v.field("reason", succession.reason);
  v.field("time", succession.time);
}

template <class V>
void describe(V& v, LostNode& node) {
  v.field("name", node.name);
  v.field("until", node.until);
}

template <class V>
void describe(V& v, BlockedTarget& blocked) {
  v.field("target", blocked.target);
  v.field("generation", blocked.generation);
  v.field("reason", blocked.reason);
  v.field("attempts", blocked.attempts);
  v.field("retryAfter", blocked.retry_after);
  v.field("since", blocked.since);
}

template <class V>
void describe(V& v, LastResize& last) {
  v.field("from", last.from);
  v.field("to", last.to);
  v.word("result", last.result);
  v.field("reason", last.reason);
  v.field("preparedMillis", last.prepared_millis);
  v.field("joinedMillis", last.joined_millis);
  v.field("pausedMillis", last.paused_millis);
  v.field("completionTime", last.completion_time);
}

template <class V>
void describe(V& v, RecoveriesStatus& recoveries) {
  v.field("count", recoveries.count);
  v.field("epoch", recoveries.epoch);
  v.field("time", recoveries.time);
  v.field("reason", recoveries.reason);
  v.field("workers", recoveries.workers);
  v.field("repeatedIterations", recoveries.repeated_iterations);
  v.field("lostMillis", recoveries.lost_millis);
}

template <class V>
void describe(V& v, Recommendation& recommendation) {
  v.field("replicas", recommendation.replicas);
  v.field("efficiencyPercent", recommendation.efficiency_percent);
  v.field("reason", recommendation.reason);
  v.field("time", recommendation.time);
}

template <class V>
void describe(V& v, Performance& performance) {
  v.field("efficiencyPercent", performance.efficiency_percent);
  v.field("windowEnd", performance.window_end);
}

template <class V>
void describe(V& v, CheckpointStatus& checkpoint) {
  v.field("number", checkpoint.number);
  v.field("iteration", checkpoint.iteration);
  v.field("bytes", checkpoint.bytes);
  v.field("writtenMillis", checkpoint.written_millis);
  v.field("time", checkpoint.time);
  v.field("restoredFrom", checkpoint.restored_from);
  v.field("restoredIteration", checkpoint.restored_iteration);
}

template <class V>
void describe(V& v, TaskStatus& tasks) {
  v.field("phase", tasks.phase);
  v.field("total", tasks.total);
  v.field("done", tasks.done);
  v.field("queued", tasks.queued);
  v.field("meanSeconds", tasks.mean_seconds);
  v.field("predictedFinish", tasks.predicted_finish);
  v.field("windowEnd", tasks.window_end);
}

template <class V>
void describe(V& v, PoolTerms& terms) {
  v.field("pool", terms.pool);
  v.field("pricePerWorkerHour", terms.price_per_worker_hour);
  v.field("speedPercent", terms.speed_percent);
}

template <class V>
void describe(V& v, AllocationStatus& allocation) {
  v.field("workers", allocation.workers);
  v.field("promised", allocation.promised);
  v.field("pool", allocation.pool);
  v.field("sequence", allocation.sequence);
  v.field("time", allocation.time);
  v.field("reason", allocation.reason);
  v.field("yieldsTo", allocation.yields_to);
  v.field("pricePerWorkerHour", allocation.price_per_worker_hour);
  v.field("speedPercent", allocation.speed_percent);
  v.object("movedFrom", allocation.moved_from);
}

template <class V>
void describe(V& v, WaitStatus& wait) {
  v.field("since", wait.since);
  v.field("expectedStart", wait.expected_start);
  v.field("attempts", wait.attempts);
  v.field("retryAfter", wait.retry_after);
  v.word("cause", wait.cause);
  v.field("reason", wait.reason);
  v.field("deadline", wait.deadline);
}

template <class V>
void describe(V& v, ForecastStatus& forecast) {
  v.field("secondsLeft", forecast.seconds_left);
  v.field("errorPercent", forecast.error_percent);
  v.word("source", forecast.source);
  v.field("time", forecast.time);
  v.field("finish", forecast.finish);
  v.field("workers", forecast.workers);
}

template <class V>
void describe(V& v, CostStatus& cost) {
  v.field("spent", cost.spent);
  v.field("perHour", cost.per_hour);
  v.field("workers", cost.workers);
  v.field("time", cost.time);
}

template <class V>
void describe(V& v, UsageStatus& usage) {
  v.field("since", usage.since);
  v.field("workerSeconds", usage.worker_seconds);
  v.field("workers", usage.workers);
  v.field("time", usage.time);
}

template <class V>
void describe(V& v, DecisionRecord& decision) {
  v.field("time", decision.time);
  v.field("from", decision.from);
  v.field("to", decision.to);
  v.field("policy", decision.policy);
  v.word("action", decision.action);
  v.field("reason", decision.reason);
  v.field("cause", decision.cause);
  v.field("iterationSeconds", decision.iteration_seconds);
  v.field("predictedSeconds", decision.predicted_seconds);
  v.field("achievedSeconds", decision.achieved_seconds);
}

template <class V>
void describe(V& v, SizeChange& change) {
  v.field("time", change.time);
  v.field("from", change.from);
  v.field("to", change.to);
  v.field("costSeconds", change.cost_seconds);
  v.field("workPerIteration", change.work_per_iteration);
  v.field("durationSeconds", change.duration_seconds);
}

template <class V>
void describe(V& v, MeasuredSize& measured) {
  v.field("workers", measured.workers);
  v.field("efficiencyPercent", measured.efficiency_percent);
  v.field("iterationSeconds", measured.iteration_seconds);
  v.field("time", measured.time);
  v.field("computeSeconds", measured.compute_seconds);
  v.field("usefulSeconds", measured.useful_seconds);
  v.field("workPerIteration", measured.work_per_iteration);
  v.field("epoch", measured.epoch);
}

template <class V>
void describe(V& v, PolicyState& state) {
  v.field("upSince", state.up_since);
  v.field("downSince", state.down_since);
  v.field("lastTick", state.last_tick);
  v.field("ticks", state.ticks);
  v.list("changes", state.changes);
  v.list("measured", state.measured);
  v.field("search", state.search);
  v.field("phaseSince", state.phase_since);
  v.field("taskPhase", state.task_phase);
  v.field("acceptedReplicas", state.accepted_replicas);
  v.field("writtenReplicas", state.written_replicas);
  v.field("pausedSpec", state.paused_spec);
  v.field("wish", state.wish);
  v.field("programMin", state.program_min);
  v.field("programMax", state.program_max);
}

template <class V>
void describe(V& v, JobStatus& status) {
  v.field("observedGeneration", status.observed_generation);
  v.field("state", status.state);
  v.field("replicas", status.replicas);
  v.field("selector", status.selector);
  v.field("desiredReplicas", status.desired_replicas);
  v.field("readyReplicas", status.ready_replicas);
  v.field("joinedReplicas", status.joined_replicas);
  v.field("ranks", status.ranks);
  v.field("fence", status.fence);
  v.field("epoch", status.epoch);
  v.field("nextIndex", status.next_index);
  v.field("nextChange", status.next_change);
  v.field("reason", status.reason);
  v.field("leadUID", status.lead_uid);
  v.field("leadPod", status.lead_pod);
  v.object("succession", status.succession);
  v.list("lostNodes", status.lost_nodes);
  v.field("runtimeImage", status.runtime_image);
  v.field("mutualTLS", status.mutual_tls);
  v.field("activeWorkers", status.active_workers);  // for the operator before this one
  v.field("workers", status.active_workers);
  v.object("start", status.start);
  v.object("resize", [&](V& v) {
    v.group("id", status.resize);
    v.object("awaited", status.awaited);
    v.object("blocked", status.blocked);
  });
  v.object("standby", status.standby);
  v.object("lastResize", status.last_resize);
  v.object("recoveries", status.recoveries);
  v.object("recommendation", status.recommendation);
  v.object("performance", status.performance);
  v.object("tasks", status.tasks);
  v.object("checkpoint", status.checkpoint);
  v.object("allocation", status.allocation);
  v.object("queue", status.queue);
  v.object("forecast", status.forecast);
  v.object("cost", status.cost);
  v.object("usage", status.usage);
  v.list("decisions", status.decisions);
  v.object("policyState", [&](V& v) { describe(v, status.policy_state); });
  v.field("restarts", status.restarts);
  v.field("startTime", status.start_time);
  v.field("completionTime", status.completion_time);
  v.list("conditions", status.conditions);
}

}  // namespace emj::fields
