// SPDX-License-Identifier: Apache-2.0
// A job of another operator between being read and being written. Private to this folder.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/yaml.hpp"

namespace emj::cli::foreign {

using nlohmann::json;

// What is refused and what changes, each with its line.
class Report {
 public:
  explicit Report(const std::map<std::string, int>& lines) : lines_(lines) {}
  void refuse(const std::string& field, const std::string& why, const std::string& hint = {}) {
    refusals.push_back({field, why, "", hint, line_of(lines_, field)});
  }
  void change(const std::string& field, const std::string& what) {
    changes.push_back({field, what, "", "", line_of(lines_, field)});
  }

  std::vector<Violation> refusals, changes;

 private:
  const std::map<std::string, int>& lines_;
};

struct ForeignJob {
  json metadata = json::object();
  int workers = 1, slots = 1;
  json pod = json::object();  // template of the worker
  std::string pod_path;
  std::vector<std::string> launch;  // command and args of the launcher
  std::string launch_path;
  json launch_environment = json::array();
  std::string launch_directory;
  json run_policy = json::object();
  bool suspend = false;
  std::string priority_class;
};

// Null where `object` is none or has no such member.
const json& member(const json& object, const char* name);
// 1 and more; refused where it is given and is something else.
std::optional<int> count_of(const json& object, const char* name, const std::string& path, Report& report);
std::optional<bool> flag_of(const json& object, const char* name, const std::string& path, Report& report);
std::vector<std::string> texts_of(const json& object, const char* name, const std::string& path,
                                  Report& report);
// Refuses members that are not among `known`: what they ask for would get lost.
void refuse_others(const json& object, std::initializer_list<const char*> known, const std::string& path,
                   Report& report);
// Name, namespace, labels and annotations, without what other programs have written for themselves.
json metadata_of(const json& job, Report& report);
// The first container's command and args, environment and working folder, as a launcher has them.
void read_launcher(const json& pod, const std::string& path, ForeignJob& job, Report& report);

ForeignJob read_mpi_job(const json& job, Report& report);
// `runtime` is null where none is given.
ForeignJob read_train_job(const json& job, const json& runtime, Report& report);

json elastic_job(const ForeignJob& job, Report& report);

}  // namespace emj::cli::foreign
