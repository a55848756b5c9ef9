// SPDX-License-Identifier: Apache-2.0
// What a manifest says of a job, for a simulation: read as the queue reads it. It takes expectedSeconds at
// the reference size; how it scales is what the queue would believe, by measured sizes in its status,
// spec.scheduling.scalability, or the prior (rule Q10).

#include <algorithm>
#include <cmath>
#include <variant>

#include "operator/api/parse.hpp"
#include "operator/decide/queue/job_demand.hpp"
#include "operator/simulate/workload.hpp"
#include "runtime/base/text.hpp"

namespace emj::simulate {
namespace {

using empi::format;

// Policies whose wish follows from what the queue knows; the others go by what ranks measure.
bool sized_by_queue(const AutoscalingSpec& autoscaling) {
  const PolicyName policy = autoscaling.policy.name;
  return autoscaling.mode != AutoscalingMode::Auto || policy == PolicyName::Throughput ||
         policy == PolicyName::Deadline || policy == PolicyName::Manual;
}

// Which field says what cannot be simulated, or is missing, and what to write; empty: none.
std::string not_simulated(const JobSpec& spec, bool decides) {
  const SchedulingSpec& scheduling = spec.scheduling;
  if (!scheduling.expected)
    return format(
        "spec.scheduling.expectedSeconds: is missing, and a simulation must know how long the job takes "
        "on %d workers: write scheduling: {expectedSeconds: 3600}",
        reference_size(spec));
  if (scheduling.deadline)
    return "spec.scheduling.deadline: a simulation has no calendar: write deadlineSeconds, from the arrival "
           "on";
  if (spec.suspend) return "spec.suspend: the job would not start: set false";
  if (!decides && !sized_by_queue(spec.autoscaling))
    return "spec.autoscaling.policy: " + std::string(to_string(spec.autoscaling.policy.name)) +
           " goes by what ranks measure, and that only --full simulates: add --full, or write policy: {name: "
           "throughput}";
  return "";
}

}  // namespace

empi::Expected<Job, std::string> job_of(const Arrival& arrival, const Workload& workload,
                                        const QueueSpec& queue, queue::Objective objective, bool decides) {
  const JobSpec& spec = arrival.job.spec;
  const std::string problem = not_simulated(spec, decides);
  if (!problem.empty()) return problem;
  Job job;
  job.name = arrival.job.metadata.name;
  job.submit = queue::after(workload.jobs.empty() ? kOrigin : workload.jobs.front().submit, arrival.after);
  auto manifest = std::make_shared<ElasticMPIJob>(arrival.job);
  manifest->status = {};
  manifest->status.policy_state.measured = arrival.job.status.policy_state.measured;
  manifest->metadata.creation_time = job.submit;
  manifest->metadata.uid = "manifest-" + job.name;
  const auto asked = queue::demand_of(*manifest, 0, queue, {}, job.submit);
  if (const auto* refused = std::get_if<queue::Refused>(&asked)) return refused->reason;
  const auto* demand = std::get_if<queue::Demand>(&asked);
  if (!demand) return std::string("spec.managedBy: another operator's job would not start: leave it out");
  job.reference = demand->reference;
  job.floor = demand->floor;
  job.most = demand->wish;
  job.malleable = !demand->rigid();
  job.milli_cpu = demand->worker.milli_cpu;
  job.curve = queue::curve_of(*manifest, objective);
  job.single = queue::curve_over(*manifest, {1}, job.reference, objective)->speed(0);
  job.run_seconds = job.estimate = static_cast<double>(spec.scheduling.expected->count());
  if (spec.scheduling.deadline_after) job.deadline = job.submit + *spec.scheduling.deadline_after;
  if (job.processors(job.reference) > workload.processors)
    return format(
        "asks for %d workers of %g CPUs (worker.replicas, else twice minReplicas), and the machine has %d "
        "processors: give a larger --workers, or ask for less",
        job.reference, job.processors(1), workload.processors);
  job.manifest = std::move(manifest);
  job.asked = std::make_shared<const queue::Demand>(*demand);
  return job;
}

ElasticMPIJob manifest_of(const Job& job) {
  if (job.manifest) return *job.manifest;
  ElasticMPIJob manifest;
  manifest.metadata.name = "job-" + job.name;
  manifest.metadata.namespace_name = "user-" + std::to_string(job.user);
  manifest.metadata.uid = format("%08d", job.number);
  manifest.metadata.creation_time = job.submit;
  JobSpec& spec = manifest.spec;
  spec.worker.min_replicas = job.floor;
  spec.worker.max_replicas = job.most;
  spec.worker.replicas = job.reference;
  spec.worker.pod.command = {"program"};
  spec.worker.pod.document = R"({"spec":{"containers":[{"name":"worker","command":["program"]}]}})";
  spec.scheduling.model = format("%d processors", job.reference);
  spec.scheduling.expected = Seconds(std::max(1L, std::lround(std::ceil(job.estimate))));
  if (!job.malleable) {
    spec.runtime.mode = RuntimeMode::Rigid;
    return manifest;
  }
  spec.autoscaling.mode = AutoscalingMode::Auto;
  spec.autoscaling.policy.name = job.deadline ? PolicyName::Deadline : PolicyName::Throughput;
  if (job.deadline) spec.scheduling.deadline_after = std::chrono::ceil<Seconds>(*job.deadline - job.submit);
  return manifest;
}

void add(Workload& workload, Job job) {
  for (const Job& other : workload.jobs) job.number = std::max(job.number, other.number);
  ++job.number;
  const auto place = std::ranges::upper_bound(workload.jobs, job.submit, {}, &Job::submit);
  workload.jobs.insert(place, std::move(job));
}

}  // namespace emj::simulate
