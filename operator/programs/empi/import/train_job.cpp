// SPDX-License-Identifier: Apache-2.0
// TrainJob, trainer.kubeflow.org/v1alpha1, with the runtime that it refers to.

#include <algorithm>

#include "operator/programs/empi/import/foreign_job.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::cli::foreign {

namespace {

constexpr const char* kRuntime = "spec.runtimeRef";

// The pod of the job named so in the runtime's JobSet, or null.
const json& pod_of(const json& runtime, const char* name) {
  static const json none;
  const json& jobs = member(member(member(member(runtime, "spec"), "template"), "spec"), "replicatedJobs");
  if (!jobs.is_array()) return none;
  for (const json& job : jobs)
    if (member(job, "name") == name) return member(member(member(job, "template"), "spec"), "template");
  return none;
}

void read_runtime(const json& object, const json& runtime, ForeignJob& job, Report& report) {
  const json& wanted = member(member(member(object, "spec"), "runtimeRef"), "name");
  if (member(member(runtime, "metadata"), "name") != wanted)
    return report.refuse(
        kRuntime, "names the runtime " + empi::json_text::safe_text(wanted) + ", and --runtime gives " +
                      empi::json_text::safe_text(member(member(runtime, "metadata"), "name")));
  const json& policy = member(member(runtime, "spec"), "mlPolicy");
  const json& mpi = member(policy, "mpi");
  if (!mpi.is_object())
    return report.refuse(kRuntime, "names a runtime without spec.mlPolicy.mpi: its ranks are not MPI's");
  const json& implementation = member(mpi, "mpiImplementation");
  const bool given = implementation.is_string() && !implementation.get_ref<const std::string&>().empty();
  if (given && implementation != "OpenMPI")
    report.refuse(kRuntime,
                  "names a runtime of " + empi::json_text::safe_text(implementation) +
                      ": ranks are started through PMIx, for Open MPI 5.0 only",
                  "build the image with Open MPI 5.0");
  job.slots = count_of(mpi, "numProcPerNode", kRuntime, report).value_or(1);
  job.workers = count_of(policy, "numNodes", kRuntime, report).value_or(1);
  if (!member(member(runtime, "spec"), "podGroupPolicy").is_null())
    report.change(kRuntime,
                  "the runtime's podGroupPolicy is dropped: there is no gang; a job waits for its pods for "
                  "spec.resize.joinTimeoutSeconds");
  for (const char* name : {"node", "launcher"}) {
    if (job.pod.empty() && pod_of(runtime, name).is_object()) job.pod = pod_of(runtime, name);
  }
  if (pod_of(runtime, "launcher").is_object())
    read_launcher(pod_of(runtime, "launcher"), kRuntime, job, report);
}

json& container_of(json& pod) {
  json& containers = pod["spec"]["containers"];
  if (!containers.is_array() || containers.empty()) containers = json::array({json::object()});
  return containers[0];
}

void override_by_trainer(const json& trainer, ForeignJob& job, Report& report) {
  const std::string path = "spec.trainer";
  refuse_others(trainer,
                {"image", "command", "args", "env", "numNodes", "resourcesPerNode", "numProcPerNode"}, path,
                report);
  if (const auto nodes = count_of(trainer, "numNodes", path, report)) job.workers = *nodes;
  if (const auto slots = count_of(trainer, "numProcPerNode", path, report)) job.slots = *slots;
  const auto command = texts_of(trainer, "command", path, report);
  const auto args = texts_of(trainer, "args", path, report);
  if (!command.empty() || !args.empty()) {
    job.launch = command;
    job.launch.insert(job.launch.end(), args.begin(), args.end());
    job.launch_path = path;
  }
  json& container = container_of(job.pod);
  if (!container.is_object()) return;
  if (member(trainer, "image").is_string()) container["image"] = trainer["image"];
  if (member(trainer, "resourcesPerNode").is_object()) container["resources"] = trainer["resourcesPerNode"];
  if (!member(trainer, "env").is_array()) return;
  json environment = trainer["env"];
  if (member(container, "env").is_array())
    for (const json& old : container["env"])
      if (std::ranges::none_of(
              environment, [&](const json& other) { return member(other, "name") == member(old, "name"); }))
        environment.push_back(old);
  container["env"] = environment;
}

}  // namespace

ForeignJob read_train_job(const json& object, const json& runtime, Report& report) {
  ForeignJob job;
  job.metadata = metadata_of(object, report);
  job.pod_path = "spec.trainer";
  const json& spec = member(object, "spec");
  if (!spec.is_object()) {
    report.refuse("spec", "is missing");
    return job;
  }
  refuse_others(spec,
                {"runtimeRef", "initializer", "trainer", "suspend", "managedBy", "activeDeadlineSeconds",
                 "labels", "annotations", "podSpecOverrides", "podTemplateOverrides", "runtimePatches"},
                "spec", report);
  if (!member(spec, "initializer").is_null())
    report.refuse("spec.initializer", "fetches data before the job starts, for which there is nothing here",
                  "fetch it into a volume beforehand, or in an init container of the worker");
  for (const char* name : {"podSpecOverrides", "podTemplateOverrides", "runtimePatches"})
    if (!member(spec, name).is_null() && !member(spec, name).empty())
      report.refuse(std::string("spec.") + name, "changes the runtime's pods",
                    "put it into the runtime's file, and remove it here");
  for (const char* name : {"labels", "annotations"})
    if (!member(spec, name).is_null())
      report.change(std::string("spec.") + name, "dropped: they are the JobSet's, of which there is none");
  const json& manager = member(spec, "managedBy");
  if (!manager.is_null() && manager != "trainer.kubeflow.org/trainjob-controller")
    report.refuse("spec.managedBy", "gives the job to " + empi::json_text::safe_text(manager),
                  "remove it: jobs of this kind are not sent to other clusters");
  job.suspend = flag_of(spec, "suspend", "spec", report).value_or(false);
  if (!member(spec, "activeDeadlineSeconds").is_null()) {
    job.run_policy["activeDeadlineSeconds"] = spec["activeDeadlineSeconds"];
    report.change("spec.activeDeadlineSeconds", "is spec.runPolicy.activeDeadlineSeconds");
  }
  if (runtime.is_object()) read_runtime(object, runtime, job, report);
  override_by_trainer(member(spec, "trainer"), job, report);
  if (!runtime.is_object() && !member(member(spec, "trainer"), "image").is_string())
    report.refuse(
        kRuntime, "names a runtime that holds the rest of this job",
        "give it, too: kubectl get clustertrainingruntime NAME -o yaml >runtime.yaml, then --runtime "
        "runtime.yaml");
  report.change(
      "spec",
      "the launcher is dropped: the agents of the workers start the ranks, and rank 0 is in one of the "
      "workers");
  return job;
}

}  // namespace emj::cli::foreign
