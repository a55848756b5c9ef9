// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/start.hpp"

namespace empi {

std::string_view to_string(ProbeMode mode) { return mode == ProbeMode::Root ? "root" : "all"; }

std::optional<ProbeMode> probe_mode_from(std::string_view text) {
  for (const ProbeMode mode : {ProbeMode::All, ProbeMode::Root})
    if (to_string(mode) == text) return mode;
  return std::nullopt;
}
bool enum_from(std::string_view text, ProbeMode& mode) {
  const auto found = probe_mode_from(text);
  if (found) mode = *found;
  return found.has_value();
}

std::string_view to_string(JobResult result) {
  switch (result) {
    case JobResult::Running:
      return "";
    case JobResult::Succeeded:
      return "succeeded";
    case JobResult::Stopped:
      return "stopped";
    case JobResult::Failed:
      break;
  }
  return "failed";
}

std::optional<JobResult> job_result_from(std::string_view text) {
  for (const JobResult result :
       {JobResult::Running, JobResult::Succeeded, JobResult::Failed, JobResult::Stopped})
    if (to_string(result) == text) return result;
  return std::nullopt;
}

}  // namespace empi
