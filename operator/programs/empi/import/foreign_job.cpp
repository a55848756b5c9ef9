// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/import/foreign_job.hpp"

#include <algorithm>

#include "runtime/base/json_text.hpp"

namespace emj::cli::foreign {

const json& member(const json& object, const char* name) {
  static const json none;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

std::optional<int> count_of(const json& object, const char* name, const std::string& path, Report& report) {
  constexpr std::int64_t most = 1'000'000;
  const json& value = member(object, name);
  if (value.is_null()) return std::nullopt;
  if (value.is_number_integer() && value.get<std::int64_t>() >= 1 && value.get<std::int64_t>() <= most)
    return value.get<int>();
  report.refuse(path + "." + name,
                "is " + empi::json_text::safe_text(value) + ", expected a number of 1 and more");
  return std::nullopt;
}

std::optional<bool> flag_of(const json& object, const char* name, const std::string& path, Report& report) {
  const json& value = member(object, name);
  if (value.is_null()) return std::nullopt;
  if (value.is_boolean()) return value.get<bool>();
  report.refuse(path + "." + name, "is " + empi::json_text::safe_text(value) + ", expected true or false");
  return std::nullopt;
}

std::vector<std::string> texts_of(const json& object, const char* name, const std::string& path,
                                  Report& report) {
  std::vector<std::string> texts;
  const json& list = member(object, name);
  if (list.is_null()) return texts;
  const bool good =
      list.is_array() && std::ranges::all_of(list, [](const json& item) { return item.is_string(); });
  if (good) return list.get<std::vector<std::string>>();
  report.refuse(path + "." + name, "is no list of texts", "put numbers in quotes");
  return texts;
}

void refuse_others(const json& object, std::initializer_list<const char*> known, const std::string& path,
                   Report& report) {
  if (!object.is_object()) return;
  for (const auto& [name, value] : object.items())
    if (!value.is_null() && std::ranges::find(known, name) == known.end())
      report.refuse(std::string(path).append(".").append(name), "is not known here, and would get lost",
                    "remove it if nothing depends on it");
}

json metadata_of(const json& job, Report& report) {
  const json& given = member(job, "metadata");
  json metadata = json::object();
  for (const char* name : {"name", "namespace"})
    if (member(given, name).is_string()) metadata[name] = given[name];
  for (const char* name : {"labels", "annotations"}) {
    const json& texts = member(given, name);
    if (!texts.is_object()) continue;
    for (const auto& [key, value] : texts.items()) {
      const bool others = key.find("kubeflow.org/") != std::string::npos ||
                          key.find("kueue.x-k8s.io/") != std::string::npos ||
                          key.find("kubectl.kubernetes.io/") != std::string::npos;
      if (others)
        report.change(std::string("metadata.") + name, key + " is dropped: it speaks to another program");
      else
        metadata[name][key] = value;
    }
  }
  return metadata;
}

void read_launcher(const json& pod, const std::string& path, ForeignJob& job, Report& report) {
  const json& containers = member(member(pod, "spec"), "containers");
  if (!containers.is_array() || containers.empty() || !containers[0].is_object())
    return report.refuse(path + ".spec.containers", "is missing: what the launcher runs is not known");
  if (containers.size() > 1)
    return report.refuse(path + ".spec.containers", "are several: which of them runs mpirun is not known");
  const json& container = containers[0];
  job.launch_path = path + ".spec.containers[0]";
  job.launch = texts_of(container, "command", job.launch_path, report);
  const auto args = texts_of(container, "args", job.launch_path, report);
  job.launch.insert(job.launch.end(), args.begin(), args.end());
  if (member(container, "env").is_array()) job.launch_environment = container["env"];
  if (member(container, "workingDir").is_string()) job.launch_directory = container["workingDir"];
}

}  // namespace emj::cli::foreign
