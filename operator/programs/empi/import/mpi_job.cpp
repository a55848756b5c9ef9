// SPDX-License-Identifier: Apache-2.0
// MPIJob, kubeflow.org/v2beta1.

#include "operator/programs/empi/import/foreign_job.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::cli::foreign {

namespace {

constexpr const char* kSpec = "spec";

// Anything but Open MPI would start, and then not find its launcher.
void check_implementation(const json& spec, Report& report) {
  const json& name = member(spec, "mpiImplementation");
  if (name.is_null() || name == "OpenMPI") return;
  report.refuse(
      "spec.mpiImplementation",
      "is " + empi::json_text::safe_text(name) + ": ranks are started through PMIx, for Open MPI 5.0 only",
      "build the image with Open MPI 5.0");
}

void read_scheduling(const json& policy, ForeignJob& job, Report& report) {
  const std::string path = "spec.runPolicy.schedulingPolicy";
  refuse_others(policy, {"minAvailable", "queue", "minResources", "priorityClass", "scheduleTimeoutSeconds"},
                path, report);
  if (const json& queue = member(policy, "queue");
      queue.is_string() && !queue.get_ref<const std::string&>().empty())
    report.refuse(path + ".queue",
                  "names a queue of another scheduler, which knows nothing of this kind of job",
                  "remove it: a job starts as soon as its pods find room");
  for (const char* name : {"minAvailable", "minResources", "scheduleTimeoutSeconds"})
    if (!member(policy, name).is_null())
      report.change(path + "." + name,
                    "dropped: there is no gang; a job waits for its pods for spec.resize.joinTimeoutSeconds");
  if (member(policy, "priorityClass").is_string()) {
    job.priority_class = policy["priorityClass"];
    report.change(path + ".priorityClass", "is spec.scheduling.priorityClassName");
  }
}

void read_run_policy(const json& policy, ForeignJob& job, Report& report) {
  const std::string path = "spec.runPolicy";
  refuse_others(policy,
                {"cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit",
                 "schedulingPolicy", "suspend", "managedBy"},
                path, report);
  for (const char* name :
       {"cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"})
    if (!member(policy, name).is_null()) job.run_policy[name] = policy[name];
  const json& restarts = member(policy, "backoffLimit");
  if (restarts.is_null())
    report.change(
        path, "without backoffLimit mpirun was started up to 6 times more; here once, unless it is given");
  else if (restarts != 0)
    report.change(path + ".backoffLimit", "counts starts of the whole job from its beginning, with new pods");
  job.suspend = flag_of(policy, "suspend", path, report).value_or(false);
  if (job.suspend) report.change(path + ".suspend", "is spec.suspend");
  const json& manager = member(policy, "managedBy");
  if (!manager.is_null() && manager != "kubeflow.org/mpi-operator")
    report.refuse(path + ".managedBy", "gives the job to " + empi::json_text::safe_text(manager),
                  "remove it: jobs of this kind are not sent to other clusters");
  read_scheduling(member(policy, "schedulingPolicy"), job, report);
}

void say_what_the_launcher_loses(const json& launcher, const std::string& path, Report& report) {
  report.change(
      path,
      "dropped: there is no launcher; the agents of the workers start the ranks, and rank 0 is in one "
      "of the workers");
  const json& spec = member(member(launcher, "template"), "spec");
  if (!member(spec, "initContainers").is_null())
    report.change(path + ".template.spec.initContainers",
                  "dropped with it: what ranks need belongs to the worker");
  if (!member(spec, "volumes").is_null())
    report.change(path + ".template.spec.volumes",
                  "dropped with it: no rank has seen them; give the worker those that the program needs");
}

}  // namespace

ForeignJob read_mpi_job(const json& object, Report& report) {
  ForeignJob job;
  job.metadata = metadata_of(object, report);
  const json& spec = member(object, "spec");
  if (!spec.is_object()) {
    report.refuse(kSpec, "is missing");
    return job;
  }
  refuse_others(spec,
                {"slotsPerWorker", "runLauncherAsWorker", "runPolicy", "mpiReplicaSpecs", "sshAuthMountPath",
                 "launcherCreationPolicy", "waitForWorkers", "mpiImplementation"},
                kSpec, report);
  job.slots = count_of(spec, "slotsPerWorker", kSpec, report).value_or(1);
  check_implementation(spec, report);
  for (const char* name : {"sshAuthMountPath", "launcherCreationPolicy", "waitForWorkers"})
    if (!member(spec, name).is_null())
      report.change(std::string("spec.") + name, "dropped: neither ssh nor a launcher");
  read_run_policy(member(spec, "runPolicy"), job, report);

  const std::string path = "spec.mpiReplicaSpecs";
  const json& replicas = member(spec, "mpiReplicaSpecs");
  refuse_others(replicas, {"Launcher", "Worker"}, path, report);
  const json& launcher = member(replicas, "Launcher");
  const json& worker = member(replicas, "Worker");
  if (!launcher.is_object()) {
    report.refuse(path + ".Launcher", "is missing: what runs is in its command");
    return job;
  }
  const bool takes_part = flag_of(spec, "runLauncherAsWorker", kSpec, report).value_or(false);
  if (!worker.is_object() && !takes_part) {
    report.refuse(path + ".Worker", "is missing: there is nowhere to run");
    return job;
  }
  const std::string kind = worker.is_object() ? ".Worker" : ".Launcher";
  job.pod = member(worker.is_object() ? worker : launcher, "template");
  job.pod_path = path + kind + ".template";
  job.workers = worker.is_object() ? count_of(worker, "replicas", path + ".Worker", report).value_or(1) : 0;
  if (takes_part) {
    ++job.workers;
    report.change("spec.runLauncherAsWorker", "one worker more, as the launcher was one");
  }
  const json& restart = member(worker, "restartPolicy");
  if (!restart.is_null() && restart != "Never")
    report.change(path + ".Worker.restartPolicy",
                  "is Never: a lost worker fails the job, runPolicy.backoffLimit starts "
                  "it again");
  read_launcher(member(launcher, "template"), path + ".Launcher.template", job, report);
  say_what_the_launcher_loses(launcher, path + ".Launcher", report);
  return job;
}

}  // namespace emj::cli::foreign
