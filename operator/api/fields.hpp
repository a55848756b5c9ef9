// SPDX-License-Identifier: Apache-2.0
// Every field of an ElasticMPIJob's spec, named once (those of its status: status_fields.hpp);
// operator/api/field_types.hpp says what a visitor offers. Private to operator/api.
#pragma once
#include "operator/api/field_types.hpp"
#include "operator/api/job.hpp"

namespace emj::fields {

EMJ_NAMES(RuntimeMode, 3, {RuntimeMode::Malleable, "Malleable"}, {RuntimeMode::Rigid, "Rigid"},
          {RuntimeMode::Restartable, "Restartable"})
EMJ_NAMES(Probe, 2, {Probe::All, "All"}, {Probe::Root, "Root"})
EMJ_NAMES(OnTimeout, 2, {OnTimeout::Rollback, "Rollback"}, {OnTimeout::Fail, "Fail"})
EMJ_NAMES(AutoscalingMode, 3, {AutoscalingMode::Off, "Off"}, {AutoscalingMode::Recommend, "Recommend"},
          {AutoscalingMode::Auto, "Auto"})
EMJ_NAMES(PolicyName, 9, {PolicyName::Threshold, "threshold"}, {PolicyName::Efficiency, "efficiency"},
          {PolicyName::Tasks, "tasks"}, {PolicyName::Throughput, "throughput"},
          {PolicyName::Deadline, "deadline"}, {PolicyName::Budget, "budget"},
          {PolicyName::Stepping, "stepping"}, {PolicyName::Random, "random"}, {PolicyName::Manual, "manual"})
EMJ_NAMES(CleanPodPolicy, 3, {CleanPodPolicy::Running, "Running"}, {CleanPodPolicy::All, "All"},
          {CleanPodPolicy::None, "None"})
EMJ_NAMES(NetworkPolicyMode, 2, {NetworkPolicyMode::JobOnly, "JobOnly"}, {NetworkPolicyMode::None, "None"})
EMJ_NAMES(LocalEmulation, 2, {LocalEmulation::Packets, "Packets"}, {LocalEmulation::Calls, "Calls"})
EMJ_NAMES(LocalNetwork, 2, {LocalNetwork::Namespaces, "Namespaces"}, {LocalNetwork::Loopback, "Loopback"})
EMJ_NAMES(Preemption, 2, {Preemption::Shrink, "Shrink"}, {Preemption::None, "None"})

template <class V>
void describe(V& v, WorkerSpec& worker) {
  v.field("replicas", worker.replicas);
  v.field("minReplicas", worker.min_replicas);
  v.field("maxReplicas", worker.max_replicas);
  v.field("standby", worker.standby);
  v.pod("template", worker.pod);
}

template <class V>
void describe(V& v, RestartSpec& restart) {
  v.field("signal", restart.signal);
  v.field("file", restart.file);
  v.field("command", restart.command);
  v.field("exitCode", restart.exit_code);
  v.field("graceSeconds", restart.grace);
}

template <class V>
void describe(V& v, ResizeSpec& resize) {
  v.field("stepSize", resize.step);
  v.field("allowedReplicas", resize.allowed_replicas);
  v.field("prepareTimeoutSeconds", resize.prepare_timeout);
  v.field("joinTimeoutSeconds", resize.join_timeout);
  v.field("patienceSeconds", resize.patience);
  v.field("onTimeout", resize.on_timeout);
  v.field("onWorkerLoss", resize.on_worker_loss);
}

template <class V>
void describe(V& v, PolicySpec& policy) {
  v.field("name", policy.name);
  v.object("threshold", [&](V& v) {
    v.field("lowPercent", policy.threshold.low_percent);
    v.field("highPercent", policy.threshold.high_percent);
    v.field("noisePercent", policy.threshold.noise_percent);
  });
  v.object("efficiency", [&](V& v) {
    v.field("minEfficiencyPercent", policy.efficiency.min_efficiency_percent);
    v.field("minBalancePercent", policy.efficiency.min_balance_percent);
    v.field("regretPercent", policy.efficiency.regret_percent);
  });
  v.object("tasks", [&](V& v) {
    v.field("minEfficiencyPercent", policy.tasks.min_efficiency_percent);
    v.field("minReturnPercent", policy.tasks.min_return_percent);
  });
  v.object("throughput", [&](V& v) { v.field("weightPercent", policy.throughput.weight_percent); });
  v.object("deadline", [&](V& v) { v.field("marginPercent", policy.deadline.margin_percent); });
  v.object("stepping", [&](V& v) {
    v.field("step", policy.stepping.step);
    v.field("intervalSeconds", policy.stepping.interval);
  });
  v.object("random", [&](V& v) {
    v.field("seed", policy.random.seed);
    v.field("intervalSeconds", policy.random.interval);
  });
}

template <class V>
void describe(V& v, AutoscalingSpec& autoscaling) {
  v.field("mode", autoscaling.mode);
  v.object("policy", [&](V& v) { describe(v, autoscaling.policy); });
  v.field("scaleUpStabilizationSeconds", autoscaling.scale_up_stabilization);
  v.field("scaleDownStabilizationSeconds", autoscaling.scale_down_stabilization);
  v.field("cooldownSeconds", autoscaling.cooldown);
  v.field("minExpectedGainPercent", autoscaling.min_expected_gain_percent);
  v.field("minIterations", autoscaling.min_iterations);
  v.field("maxErrorPercent", autoscaling.max_error_percent);
  v.field("windowSeconds", autoscaling.window);
  v.field("windows", autoscaling.windows);
}

template <class V>
void describe(V& v, CheckpointSpec& checkpoint) {
  v.field("volumeClaim", checkpoint.volume_claim);
  v.field("path", checkpoint.path);
  v.field("everySeconds", checkpoint.every);
  v.field("keep", checkpoint.keep);
  v.field("mtbfHours", checkpoint.mtbf_hours);
}

template <class V>
void describe(V& v, LocalSpec& local) {
  v.field("slowdownFactor", local.slowdown_factor);
  v.field("networkDelayMicroseconds", local.network_delay_microseconds);
  v.field("networkMegabitsPerSecond", local.network_megabits_per_second);
  v.field("networkEmulation", local.network_emulation);
  v.field("network", local.network);
}

template <class V>
void describe(V& v, ScalabilityPoint& point) {
  v.field("workers", point.workers);
  v.field("speedPercent", point.speed_percent);
}

template <class V>
void describe(V& v, TopologyConstraint& constraint) {
  v.field("key", constraint.key);
}

template <class V>
void describe(V& v, JobSpec& spec) {
  v.field("suspend", spec.suspend);
  v.field("managedBy", spec.managed_by);
  v.field("slotsPerWorker", spec.slots_per_worker);
  v.object("worker", [&](V& v) { describe(v, spec.worker); });
  v.object("runtime", [&](V& v) {
    v.field("implementation", spec.runtime.implementation);
    v.field("mode", spec.runtime.mode);
    v.field("leaverGraceSeconds", spec.runtime.leaver_grace);
    v.field("probe", spec.runtime.probe);
    v.object("restart", spec.runtime.restart);
  });
  v.object("resize", [&](V& v) { describe(v, spec.resize); });
  v.object("autoscaling", [&](V& v) { describe(v, spec.autoscaling); });
  v.object("runPolicy", [&](V& v) {
    v.field("backoffLimit", spec.run_policy.backoff_limit);
    v.field("activeDeadlineSeconds", spec.run_policy.active_deadline);
    v.field("ttlSecondsAfterFinished", spec.run_policy.ttl_after_finished);
    v.field("cleanPodPolicy", spec.run_policy.clean_pods);
  });
  v.object("scheduling", [&](V& v) {
    v.field("queueName", spec.scheduling.queue_name);
    v.field("priorityClassName", spec.scheduling.priority_class_name);
    v.object("constraints", [&](V& v) { v.list("topology", spec.scheduling.topology); });
    v.field("preemption", spec.scheduling.preemption);
    v.field("pools", spec.scheduling.pools);
    v.field("expectedSeconds", spec.scheduling.expected);
    v.field("model", spec.scheduling.model);
    v.list("scalability", spec.scheduling.scalability);
    v.field("deadline", spec.scheduling.deadline);
    v.field("deadlineSeconds", spec.scheduling.deadline_after);
    v.field("budget", spec.scheduling.budget);
  });
  v.object("network", [&](V& v) { v.field("policy", spec.network.policy); });
  v.object("checkpoint", spec.checkpoint);
  v.object("local", spec.local);
}

}  // namespace emj::fields
