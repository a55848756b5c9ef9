// SPDX-License-Identifier: Apache-2.0
// What was read as an ElasticMPIJob of one fixed size.

#include <algorithm>
#include <set>

#include "operator/api/job.hpp"
#include "operator/programs/empi/import/foreign_job.hpp"
#include "operator/programs/empi/import/mpirun.hpp"

namespace emj::cli::foreign {

namespace {

bool is_of_ssh(const json& port) {
  const json& number = member(port, "containerPort");
  return number == 22 || number == 2222;
}

class Conversion {
 public:
  Conversion(const ForeignJob& job, Report& report) : from_(job), report_(report) {}

  json job() {
    MpirunCommand command = take_apart(from_.launch);
    if (!command.problem.empty()) {
      report_.refuse(from_.launch_path.empty() ? "spec" : from_.launch_path + ".command", command.problem);
      return {};
    }
    set_sizes(command);
    say_options(command);
    json spec = {
        {"slotsPerWorker", slots_},
        {"runtime", {{"mode", "Rigid"}}},
        {"worker", {{"minReplicas", workers_}, {"maxReplicas", workers_}, {"template", pod(command)}}}};
    if (from_.suspend) spec["suspend"] = true;
    spec["runPolicy"] = from_.run_policy;
    if (command.timeout_seconds && !spec["runPolicy"].contains("activeDeadlineSeconds"))
      spec["runPolicy"]["activeDeadlineSeconds"] = *command.timeout_seconds;
    if (spec["runPolicy"].empty()) spec.erase("runPolicy");
    if (!from_.priority_class.empty()) spec["scheduling"]["priorityClassName"] = from_.priority_class;
    report_.change(
        "spec.runtime.mode",
        "is Rigid, at one size: the program does not know of others yet; docs/malleable.md says what it "
        "takes, then mode Malleable, minReplicas and maxReplicas");
    return {{"apiVersion", kApiVersion}, {"kind", kJobKind}, {"metadata", from_.metadata}, {"spec", spec}};
  }

 private:
  void set_sizes(const MpirunCommand& command) {
    workers_ = from_.workers;
    slots_ = command.ranks_per_node.value_or(from_.slots);
    if (slots_ != from_.slots)
      report_.change(from_.launch_path,
                     "slotsPerWorker is " + std::to_string(slots_) + ", as mpirun is told");
    const int ranks = command.ranks.value_or(workers_ * slots_);
    if (ranks == workers_ * slots_) return;
    const std::string asked = "mpirun -n " + std::to_string(ranks) + " on " + std::to_string(workers_) +
                              " workers of " + std::to_string(slots_) + " slots";
    if (ranks % slots_ == 0 && ranks < workers_ * slots_) {
      workers_ = ranks / slots_;
      report_.change(from_.launch_path,
                     asked + ": " + std::to_string(workers_) + " workers, which are as many ranks");
    } else if (ranks % workers_ == 0) {
      slots_ = ranks / workers_;
      report_.change(from_.launch_path,
                     asked + ": slotsPerWorker is " + std::to_string(slots_) +
                         "; a worker then asks for as many CPUs, unless its template says otherwise");
    } else {
      report_.refuse(from_.launch_path,
                     asked + " leaves places empty, and every worker has slotsPerWorker ranks here",
                     "choose a multiple of " + std::to_string(slots_));
    }
  }

  void say_options(const MpirunCommand& command) {
    for (const std::string& option : command.left_out)
      report_.change(from_.launch_path,
                     "mpirun " + option + ": dropped, nothing starts ranks on other hosts");
    if (command.timeout_seconds)
      report_.change(from_.launch_path, "mpirun --timeout is spec.runPolicy.activeDeadlineSeconds");
    for (const auto& [name, value] : command.variables)
      report_.change(from_.launch_path, "mpirun -x " + name + " is a variable of the worker");
  }

  json pod(const MpirunCommand& command) {
    json pod = from_.pod.is_object() ? from_.pod : json::object();
    drop_nulls(pod);
    json& spec = pod["spec"];
    if (!spec.is_object()) spec = json::object();
    if (member(spec, "restartPolicy").is_string() && spec["restartPolicy"] != "Never")
      report_.change(from_.pod_path + ".spec.restartPolicy", "is Never");
    spec.erase("restartPolicy");
    json& containers = spec["containers"];
    if (!containers.is_array() || containers.size() != 1 || !containers[0].is_object()) {
      report_.refuse(from_.pod_path + ".spec.containers", "are not exactly one",
                     "helpers can be native sidecars in initContainers");
      return pod;
    }
    set_container(containers[0], command);
    return pod;
  }

  void set_container(json& container, const MpirunCommand& command) {
    const std::string path = from_.pod_path + ".spec.containers[0]";
    container["name"] = "worker";
    if (container.contains("command") || container.contains("args"))
      report_.change(path + ".command", "is the program itself: no sshd waits for a launcher");
    container["command"] = json::array({command.program.front()});
    container["args"] = std::vector<std::string>(command.program.begin() + 1, command.program.end());
    if (container["args"].empty()) container.erase("args");
    for (const char* probe : {"readinessProbe", "livenessProbe", "startupProbe"})
      if (container.erase(probe) > 0) report_.change(path + "." + probe, "dropped: it asked for sshd");
    drop_ports_of_ssh(container, path);
    set_environment(container, command, path);
    const std::string& directory =
        command.working_directory.empty() ? from_.launch_directory : command.working_directory;
    if (!directory.empty() && member(container, "workingDir") != directory) {
      container["workingDir"] = directory;
      report_.change(path + ".workingDir", "is " + directory + ", where mpirun started the ranks");
    }
    unlimit_processors(container, path);
  }

  void drop_ports_of_ssh(json& container, const std::string& path) {
    if (!member(container, "ports").is_array()) return;
    json kept = json::array();
    for (const json& port : container["ports"])
      if (!is_of_ssh(port)) kept.push_back(port);
    if (kept.size() != container["ports"].size()) report_.change(path + ".ports", "those of ssh are dropped");
    container["ports"] = kept;
    if (kept.empty()) container.erase("ports");
  }

  // The ranks' own, then -x NAME=VALUE, then -x NAME with the launcher's value.
  void set_environment(json& container, const MpirunCommand& command, const std::string& path) {
    json environment = member(container, "env").is_array() ? container["env"] : json::array();
    std::set<std::string> said;
    const auto set = [&](const std::string& name, json entry) {
      const auto same =
          std::ranges::find_if(environment, [&](const json& e) { return member(e, "name") == name; });
      if (same == environment.end())
        environment.push_back(std::move(entry));
      else
        *same = std::move(entry);
      said.insert(name);
    };
    for (const auto& [name, value] : command.variables) set(name, {{"name", name}, {"value", value}});
    for (const std::string& name : command.exported) {
      const auto given = std::ranges::find_if(from_.launch_environment,
                                              [&](const json& e) { return member(e, "name") == name; });
      if (given != from_.launch_environment.end()) set(name, *given);
      report_.change(from_.launch_path,
                     "mpirun -x " + name +
                         (given != from_.launch_environment.end()
                              ? " is a variable of the worker"
                              : " is dropped: the image of the worker sets it, or nobody"));
    }
    if (from_.launch_path != from_.pod_path + ".spec.containers[0]")
      for (const json& entry : from_.launch_environment)
        if (const json& name = member(entry, "name");
            name.is_string() && !said.contains(name.get<std::string>()))
          report_.change(from_.launch_path + ".env",
                         name.get<std::string>() + " is dropped: mpirun kept it to itself");
    const auto is_of_mpirun = [](const json& entry) {
      const json& name = member(entry, "name");
      return name.is_string() && name.get_ref<const std::string&>().starts_with("OMPI_ALLOW_RUN_AS_ROOT");
    };
    json kept = json::array();
    for (const json& entry : environment)
      if (!is_of_mpirun(entry)) kept.push_back(entry);
    if (kept.size() != environment.size()) report_.change(path + ".env", "OMPI_ALLOW_RUN_AS_ROOT is dropped");
    container["env"] = kept;
    if (kept.empty()) container.erase("env");
  }

  // Ranks that wait for each other must not be throttled.
  void unlimit_processors(json& container, const std::string& path) {
    const json limit = member(member(member(container, "resources"), "limits"), "cpu");
    if (limit.is_null()) return;
    json& resources = container["resources"];
    resources["limits"].erase("cpu");
    if (resources["limits"].empty()) resources.erase("limits");
    if (!resources["requests"].is_object()) resources["requests"] = json::object();
    if (!resources["requests"].contains("cpu")) resources["requests"]["cpu"] = limit;
    report_.change(
        path + ".resources.limits.cpu",
        "is a request only: throttled ranks make all others wait (put it back where a quota asks for it)");
  }

  static void drop_nulls(json& value) {
    if (value.is_array())
      for (json& item : value) drop_nulls(item);
    if (!value.is_object()) return;
    for (auto member = value.begin(); member != value.end();) {
      drop_nulls(*member);
      member = member->is_null() ? value.erase(member) : std::next(member);
    }
  }

  const ForeignJob& from_;
  Report& report_;
  int workers_ = 1, slots_ = 1;
};

}  // namespace

json elastic_job(const ForeignJob& job, Report& report) { return Conversion(job, report).job(); }

}  // namespace emj::cli::foreign
