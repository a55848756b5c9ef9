// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/rank_environment.hpp"

#include <chrono>
#include <filesystem>
#include <map>

#include "runtime/agent/lead/lead.hpp"
#include "runtime/agent/mpi_parameters.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::agent {
namespace {

using Variables = std::map<std::string, std::string>;

void load(Variables& variables, const std::vector<std::string>& entries) {
  for (const std::string& entry : entries)
    if (const auto equals = entry.find('='); equals != entry.npos)
      variables[entry.substr(0, equals)] = entry.substr(equals + 1);
}

// The agent's own PMIx connection, and what is no business of a rank.
void strip(Variables& variables) {
  std::erase_if(variables, [](const auto& entry) {
    const std::string& name = entry.first;
    return name.starts_with("PMIX_") && !name.starts_with("PMIX_MCA_");
  });
  for (const char* name : {names::kTokenFile, names::kTlsDir, names::kTerminationLog}) variables.erase(name);
}

void prepend(Variables& variables, const char* name, const std::string& value) {
  std::string& now = variables[name];
  now = now.empty() ? value : value + ":" + now;
}

// Whether the loader searches this folder by itself, after all others. Put before them it would hide what a
// program brings with it.
bool is_of_the_system(const std::filesystem::path& folder) {
  return folder == "/usr/lib" || folder.parent_path() == "/usr/lib";
}

bool is(const Variables& variables, const char* name, const std::string& value) {
  const auto at = variables.find(name);
  return at != variables.end() && at->second == value;
}

bool applies(const MpiParameter& parameter, const Options& options, const RankPlace& place,
             const Variables& v) {
  switch (parameter.of) {
    case MpiParameter::Of::All:
      return true;
    case MpiParameter::Of::OnLoopback:
      return options.interface == "lo";
    case MpiParameter::Of::Crowded:
      return place.crowded;
    case MpiParameter::Of::WithoutUcx:
      return is(v, "OMPI_MCA_pml", "ob1");
    case MpiParameter::Of::Malleable:
      return options.malleable;
  }
  return false;
}

std::string value_of(const MpiParameter& parameter, const Options& options, const RankPlace& place) {
  switch (parameter.value) {
    case MpiParameter::Value::AsIs:
      break;
    case MpiParameter::Value::Interface:
      return options.interface;
    case MpiParameter::Value::ShmFolder:
      return place.shm_folder;
  }
  return parameter.text;
}

void tell_mpi(Variables& v, const Options& options, const RankPlace& place) {
  for (const MpiParameter& parameter : kMpiParameters) {
    if (!applies(parameter, options, place, v)) continue;
    if (parameter.is_default())
      v.try_emplace(parameter.name, value_of(parameter, options, place));
    else
      v[parameter.name] = value_of(parameter, options, place);
  }
  for (const char* name : {names::kMpiMessages, names::kPmixMessages})
    v[name] = std::to_string(kMpiMessagesFd);
}

std::string wait_of(const Options& options) {
  const std::chrono::duration<double> partition(options.partition_seconds);
  const RunningTime wait = longest_wait_of_rank(std::chrono::duration_cast<RunningTime>(partition));
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(wait).count());
}

}  // namespace

std::vector<std::string> rank_environment(const Options& options, const RankPlace& place,
                                          const std::vector<std::string>& inherited,
                                          const std::vector<std::string>& pmix) {
  Variables v;
  load(v, inherited);
  strip(v);
  tell_mpi(v, options, place);
  v[names::kMode] = options.malleable ? "malleable" : "rigid";
  v[names::kRunDir] = options.run_dir;
  v[names::kWindowMillis] = std::to_string(options.window_millis);
  v[names::kWordSeconds] = wait_of(options);
  v[names::kPodName] = options.pod_name;
  v[names::kPodAddress] = options.address;
  v[names::kSocket] = place.socket;
  v[names::kPage] = place.page;
  v[names::kStatus] = place.joining ? "joining" : "new";
  if (!place.library.empty()) {
    const std::filesystem::path folder = std::filesystem::path(place.library).parent_path();
    if (!is_of_the_system(folder)) prepend(v, "LD_LIBRARY_PATH", folder);
    if (!options.malleable) prepend(v, "LD_PRELOAD", place.library);
  }
  load(v, pmix);
  std::vector<std::string> entries;
  for (const auto& [name, value] : v) entries.push_back(std::string(name).append("=").append(value));
  return entries;
}

}  // namespace empi::agent
