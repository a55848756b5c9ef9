// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/cluster/steering.hpp"

#include <nlohmann/json.hpp>

#include "operator/api/condition_types.hpp"
#include "operator/kube/kube_cluster.hpp"
#include "runtime/base/text.hpp"

namespace emj::cli::cluster {

namespace {

using empi::format;
namespace resources = kube::resources;

ElasticMPIJob job_that_goes_on(ClusterAccess& access, const std::string& name, const char* otherwise) {
  ElasticMPIJob job = access.job(name);
  if (is_terminal(job.status.state))
    throw Refusal("job " + name + " has ended (" + to_string(job.status.state) + "): " + otherwise);
  return job;
}

bool is_true(const JobStatus& status, const char* type) {
  const Condition* condition = find_condition(status, type);
  return condition && condition->status == "True";
}

void annotate(ClusterAccess& access, const std::string& name, const char* annotation) {
  const nlohmann::json patch = {{"metadata", {{"annotations", {{annotation, "true"}}}}}};
  const auto done = access.client().merge_patch(resources::kElasticMpiJobs, access.key(name), patch);
  if (!done) throw access.refusal(done.error());
}

}  // namespace

std::string scale(ClusterAccess& access, const std::string& name, int replicas) {
  const ElasticMPIJob job = job_that_goes_on(access, name, "its size cannot change");
  const WorkerSpec& worker = job.spec.worker;
  if (replicas < worker.min_replicas || replicas > worker.max_replicas)
    throw Refusal(
        "job " + name +
        format(" may have %d to %d workers, not %d", worker.min_replicas, worker.max_replicas, replicas) +
        "; change spec.worker.minReplicas or maxReplicas first");
  if (job.spec.runtime.mode == RuntimeMode::Rigid && job.status.state != JobState::Suspended)
    throw Refusal("job " + name + " is rigid (spec.runtime.mode): set spec.suspend to true, then its size");
  const auto done =
      access.client().merge_patch(resources::kElasticMpiJobs, access.key(name),
                                  {{"spec", {{"replicas", replicas}}}}, {.subresource = "scale"});
  if (!done) throw access.refusal(done.error());
  std::string text = format("%d workers are asked for, it has %d", replicas, job.status.joined_replicas);
  if (const int size = feasible_size(job.spec, replicas); size != replicas)
    text += format("; it will have %d, by its allowedReplicas", size);
  if (job.status.state == JobState::Suspended) text += "; that counts once spec.suspend is false";
  if (job.spec.autoscaling.mode == AutoscalingMode::Auto)
    text += "; autoscaling rests until: kubectl empi resume " + name;
  return "job " + name + ": " + text;
}

std::string resume(ClusterAccess& access, const std::string& name) {
  const ElasticMPIJob job = job_that_goes_on(access, name, "there is nothing to resume");
  if (job.spec.autoscaling.mode != AutoscalingMode::Auto)
    throw Refusal("job " + name + " has spec.autoscaling.mode " + to_string(job.spec.autoscaling.mode) +
                  ": only Auto is paused by a size set by hand, and resumed");
  annotate(access, name, manager::kAnnotationResume);
  return "job " + name + ": " +
         (is_true(job.status, condition::kAutoscalingPaused) ? "autoscaling goes on"
                                                             : "autoscaling was not paused");
}

std::string cancel(ClusterAccess& access, const std::string& name) {
  job_that_goes_on(access, name, "there is nothing to cancel");
  annotate(access, name, manager::kAnnotationCancel);
  return "job " + name + ": is being ended";
}

}  // namespace emj::cli::cluster
