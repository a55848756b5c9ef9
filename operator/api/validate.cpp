// SPDX-License-Identifier: Apache-2.0
// What makes a job impossible or unwise. The same rules stand in crds/elasticmpijob.yaml as CEL.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "operator/api/checks.hpp"
#include "operator/api/parse.hpp"
#include "runtime/base/json_text.hpp"

namespace emj {
namespace {

using checking::refuse;
using checking::text;
using checking::Violations;
using checking::warn;

void check_metadata(const Metadata& metadata, Violations& out) {
  if (!checking::is_label(metadata.name, 50))
    refuse(out, "metadata.name", "is \"" + metadata.name + "\"", checking::label_words(50),
           "dots and capitals would break the workers' host names");
}

void check_sizes(const JobSpec& spec, Origin origin, Violations& out) {
  const WorkerSpec& worker = spec.worker;
  if (worker.min_replicas > worker.max_replicas) {
    refuse(out, "spec.worker.minReplicas", "is " + text(worker.min_replicas),
           "at most maxReplicas, " + text(worker.max_replicas));
    return;
  }
  const std::string limits = text(worker.min_replicas) + " to " + text(worker.max_replicas);
  const auto fits = [&](int size) { return size >= worker.min_replicas && size <= worker.max_replicas; };
  if (worker.replicas && !fits(*worker.replicas)) {
    if (origin != Origin::Stored)
      refuse(out, "spec.worker.replicas", "is " + text(*worker.replicas),
             "minReplicas to maxReplicas, " + limits);
    else  // the limits were changed since
      warn(out, "spec.worker.replicas", "is " + text(*worker.replicas) + ", beyond " + limits,
           "the job will run with " + text(feasible_size(spec, *worker.replicas)) + " workers");
  }
  const auto& allowed = spec.resize.allowed_replicas;
  if (!allowed.empty() && std::none_of(allowed.begin(), allowed.end(), fits))
    refuse(out, "spec.resize.allowedReplicas", "has no size that the job may have",
           "at least one within minReplicas to maxReplicas, " + limits);
  else if (worker.replicas && fits(*worker.replicas) && !is_feasible(spec, *worker.replicas))
    warn(out, "spec.worker.replicas",
         "is " + text(*worker.replicas) + ", which allowedReplicas does not have",
         "the job will run with " + text(feasible_size(spec, *worker.replicas)) + " workers");
}

// Workers that nobody could call in.
void check_standby(const JobSpec& spec, Violations& out) {
  if (spec.worker.standby == 0) return;
  const std::string is = "is " + text(spec.worker.standby);
  if (!is_malleable(spec.runtime))
    refuse(out, "spec.worker.standby", is + " while spec.runtime.mode is " + to_string(spec.runtime.mode),
           "0", "nobody ever joins such a program");
  if (!spec.scheduling.queue_name.empty())
    refuse(out, "spec.worker.standby", is + " while spec.scheduling.queueName is given", "0",
           "a queue lends workers that run a program; what waits for one would be nobody's");
}

void check_threshold(const ThresholdParameters& p, const Step& step, Violations& out) {
  const std::string path = "spec.autoscaling.policy.threshold";
  if (p.low_percent >= p.high_percent) {
    refuse(out, path + ".lowPercent", "is " + text(p.low_percent),
           "less than highPercent, " + text(p.high_percent));
    return;
  }
  if (!step.factor2()) return;
  // U (1 - e) >= 4 L (1 + e): one doubling multiplies MTCT by at most 4 (time in MPI per rank growing no
  // faster than the number of ranks), so it cannot carry a job from below L to above U and back.
  const std::int64_t left = std::int64_t{p.high_percent} * (100 - p.noise_percent);
  const std::int64_t right = 4 * std::int64_t{p.low_percent} * (100 + p.noise_percent);
  if (left >= right) return;
  const std::int64_t smallest_high = (right + (100 - p.noise_percent) - 1) / (100 - p.noise_percent);
  refuse(out, path + ".highPercent",
         "is " + text(p.high_percent) + " with lowPercent " + text(p.low_percent) + " and noisePercent " +
             text(p.noise_percent) + ": doubling and halving could alternate for ever",
         "at least " + text(smallest_high) + ", so that U(1-e) >= 4L(1+e)",
         "raise highPercent, lower lowPercent, or set spec.resize.stepSize to a number");
}

void check_autoscaling(const JobSpec& spec, Violations& out) {
  const AutoscalingSpec& autoscaling = spec.autoscaling;
  const PolicySpec& policy = autoscaling.policy;
  if (spec.runtime.mode == RuntimeMode::Rigid && autoscaling.mode != AutoscalingMode::Off)
    refuse(out, "spec.autoscaling.mode",
           std::string("is ") + to_string(autoscaling.mode) + " while spec.runtime.mode is Rigid", "\"Off\"",
           "a rigid program cannot change its size; make it malleable or switch autoscaling off");
  if (policy.name == PolicyName::Threshold) check_threshold(policy.threshold, spec.resize.step, out);
  if (policy.name == PolicyName::Stepping && policy.stepping.step == 0)
    refuse(out, "spec.autoscaling.policy.stepping.step", "is 0", "a number of workers other than 0",
           "use policy manual to stay at one size");
  if (autoscaling.mode == AutoscalingMode::Auto && spec.worker.replicas && policy.name != PolicyName::Manual)
    warn(out, "spec.worker.replicas", "is given while spec.autoscaling.mode is Auto",
         "the job starts with it and autoscaling changes it; applying the manifest again would fight with "
         "that, "
         "so better leave it out");
}

void check_template(const PodTemplate& pod, Violations& out) {
  const std::string path = "spec.worker.template.spec.containers[0]";
  if (pod.command.empty()) refuse(out, path + ".command", "missing", "the program to run on every rank");
  const auto limits = nlohmann::json::json_pointer("/spec/containers/0/resources/limits/cpu");
  if (empi::json_text::parse(pod.document).contains(limits))
    warn(out, path + ".resources.limits.cpu", "throttles ranks that wait in MPI",
         "requests without a limit keep the job fast; throttled Allreduce was measured 78 times slower");
}

constexpr const char* kKueueLabel = "kueue.x-k8s.io/queue-name";

void check_scalability(const std::vector<ScalabilityPoint>& points, Violations& out) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i].workers > points[i - 1].workers) continue;
    refuse(out, "spec.scheduling.scalability",
           text(points[i].workers) + " workers come after " + text(points[i - 1].workers),
           "ascending numbers of workers, each once");
    return;
  }
}

void check_restart(const JobSpec& spec, Violations& out) {
  const auto& restart = spec.runtime.restart;
  const bool restartable = spec.runtime.mode == RuntimeMode::Restartable;
  if (restart.has_value() != restartable) {
    if (restartable)
      refuse(out, "spec.runtime.restart", "missing",
             "how the program is told to end: signal, file or command",
             "a restartable program writes what it goes on from when it is told, and ends");
    else
      refuse(out, "spec.runtime.restart",
             std::string("is given while spec.runtime.mode is ") + to_string(spec.runtime.mode),
             "mode Restartable, or no restart");
    return;
  }
  if (!restart) return;
  const int ways = !restart->signal.empty() + !restart->file.empty() + !restart->command.empty();
  if (ways != 1)
    refuse(out, "spec.runtime.restart", ways == 0 ? "names no way" : "names " + text(ways) + " ways",
           "one of signal, file and command", "it says how the program is told to end");
  if (!restart->file.empty() && restart->file.front() != '/')
    refuse(out, "spec.runtime.restart.file", "is \"" + restart->file + "\"", "a path that begins with /",
           "the agent that makes it has another working directory than the program");
}

// Without what it is to keep to a policy would have nothing to do.
void check_goals(const JobSpec& spec, Violations& out) {
  const SchedulingSpec& scheduling = spec.scheduling;
  const std::string path = "spec.scheduling";
  const PolicyName policy = spec.autoscaling.policy.name;
  const bool deadline = scheduling.deadline || scheduling.deadline_after;
  if (scheduling.deadline && scheduling.deadline_after)
    refuse(out, path + ".deadlineSeconds",
           "is " + text(scheduling.deadline_after->count()) + " beside deadline " +
               to_string(*scheduling.deadline),
           "one of the two", "deadlineSeconds count from the creation of the job, deadline is a time");
  if (policy == PolicyName::Deadline && !deadline)
    refuse(out, "spec.autoscaling.policy.name", "is deadline without a deadline",
           "spec.scheduling.deadline (a time such as 2026-01-31T12:00:00Z) or deadlineSeconds beside it",
           "say by when the job should be over, or take another policy");
  if (policy == PolicyName::Budget && !scheduling.budget)
    refuse(out, "spec.autoscaling.policy.name", "is budget without a budget",
           "spec.scheduling.budget beside it: a quantity above 0, in the unit of the pools' prices",
           "say what the job may cost (without a queue in CPU hours), or take another policy");
  const bool decides = spec.autoscaling.mode != AutoscalingMode::Off;
  if (deadline && !(decides && policy == PolicyName::Deadline))
    warn(out, path + (scheduling.deadline ? ".deadline" : ".deadlineSeconds"),
         "is watched, but no size is chosen for it", "policy deadline, with mode Auto, chooses them");
  if (scheduling.budget && !(decides && policy == PolicyName::Budget))
    warn(out, path + ".budget", "is watched, but no size is chosen for it",
         "policy budget, with mode Auto, chooses them");
}

void check_scheduling(const JobSpec& spec, Origin origin, Violations& out) {
  const SchedulingSpec& scheduling = spec.scheduling;
  const std::string path = "spec.scheduling";
  check_scalability(scheduling.scalability, out);
  check_goals(spec, out);
  if (!scheduling.queue_name.empty()) {
    if (!checking::is_label(scheduling.queue_name, 63))
      refuse(out, path + ".queueName", "is \"" + scheduling.queue_name + "\"",
             "the name of an ElasticQueue: " + checking::label_words(63));
    const nlohmann::json pod = empi::json_text::parse(spec.worker.pod.document);
    const auto labels = nlohmann::json::json_pointer("/metadata/labels");
    if (pod.contains(labels) && pod[labels].is_object() && pod[labels].contains(kKueueLabel))
      refuse(
          out, path + ".queueName",
          "is given together with the label " + std::string(kKueueLabel) + " of the template",
          "one of the two",
          "two queues would each wait for the other: let Kueue admit the pods, or an ElasticQueue the job");
    return;
  }
  if (origin == Origin::Queued) return;
  if (spec.autoscaling.policy.name == PolicyName::Throughput)
    refuse(out, "spec.autoscaling.policy.name", "is throughput without a queue",
           "spec.scheduling.queueName beside it, or another policy",
           "it takes what a queue has to spare; policy efficiency sizes a job by itself");
  const bool for_a_queue = !scheduling.pools.empty() || scheduling.expected || !scheduling.model.empty() ||
                           !scheduling.scalability.empty() || scheduling.preemption != Preemption::Shrink;
  if (for_a_queue)
    warn(out, path, "says what only a queue goes by",
         "name one in spec.scheduling.queueName, or leave it out");
}

void check_checkpoint(const JobSpec& spec, Violations& out) {
  if (!spec.checkpoint) return;
  const CheckpointSpec& checkpoint = *spec.checkpoint;
  const bool claim = !checkpoint.volume_claim.empty(), path = !checkpoint.path.empty();
  if (claim == path)
    refuse(out, "spec.checkpoint", claim ? "has volumeClaim and path" : "has neither volumeClaim nor path",
           "one of the two", "all pods write into the same volume");
}

}  // namespace

std::vector<Violation> validate(const ElasticMPIJob& job, Origin origin) {
  Violations out;
  check_metadata(job.metadata, out);
  check_sizes(job.spec, origin, out);
  check_standby(job.spec, out);
  check_autoscaling(job.spec, out);
  check_scheduling(job.spec, origin, out);
  check_restart(job.spec, out);
  check_checkpoint(job.spec, out);
  check_template(job.spec.worker.pod, out);
  return out;
}

std::vector<Violation> validate_update(const ElasticMPIJob& before, const ElasticMPIJob& after) {
  Violations out;
  const auto frozen = [&](bool changed, const char* field, const char* hint) {
    if (changed) refuse(out, field, "was changed", "the value the job was created with", hint);
  };
  const char* const recreate = "delete the job and create it anew";
  frozen(before.spec.managed_by != after.spec.managed_by, "spec.managedBy", recreate);
  frozen(before.spec.slots_per_worker != after.spec.slots_per_worker, "spec.slotsPerWorker", recreate);
  frozen(before.spec.runtime != after.spec.runtime, "spec.runtime", recreate);
  const auto frozen_while_it_runs = [&](bool changed, const char* field) {
    frozen(
        changed && before.status.state != JobState::Suspended, field,
        "set spec.suspend to true first and wait until status.state is Suspended: the job then starts anew");
  };
  frozen_while_it_runs(before.spec.worker.pod != after.spec.worker.pod, "spec.worker.template");
  const SchedulingSpec &then = before.spec.scheduling, &now = after.spec.scheduling;
  frozen_while_it_runs(then.queue_name != now.queue_name, "spec.scheduling.queueName");
  frozen_while_it_runs(then.topology != now.topology, "spec.scheduling.constraints");
  // Ranks of one run write alike.
  frozen_while_it_runs(before.spec.checkpoint != after.spec.checkpoint, "spec.checkpoint");
  frozen(is_terminal(before.status.state) && before.spec.worker.replicas != after.spec.worker.replicas,
         "spec.worker.replicas", "the job has ended");
  return out;
}

std::vector<Violation> validate_for_cluster(const ElasticMPIJob& job) {
  Violations out;
  if (job.spec.local)
    refuse(out, "spec.local", "is for local runs (empi run) only", "a job without it",
           "remove it: a cluster has real nodes and a real network");
  if (job.spec.worker.pod.image.empty())
    refuse(out, "spec.worker.template.spec.containers[0].image", "missing", "a container image");
  return out;
}

std::vector<Violation> validate_start(const ElasticMPIJob& job, Time now) {
  Violations out;
  const auto& deadline = job.spec.scheduling.deadline;
  if (deadline && *deadline <= now)
    refuse(out, "spec.scheduling.deadline",
           "is " + to_string(*deadline) + ", which is over: it is " + second_text(now),
           "a time that is still to come", "or deadlineSeconds, which count from the job's creation");
  return out;
}

bool refuses(const std::vector<Violation>& violations) {
  return std::any_of(violations.begin(), violations.end(), [](const Violation& v) { return !v.warning; });
}

}  // namespace emj
