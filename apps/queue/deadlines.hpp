// SPDX-License-Identifier: Apache-2.0
// One program under several deadlines (`./dev demo deadline`): when it was over and how many workers it had,
// as figures 2 and 3 of seed 002.
#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace queue_pictures {

/// The table of a folder that says which of its folders had which deadline: columns run, deadline_s.
inline constexpr const char* kDeadlines = "deadlines.csv";

struct DueRun {
  std::string name, result;
  double deadline = 0, finish = 0;  ///< s after it came
  double worker_seconds = 0;
  double last_workers = 0;  ///< that it ended with
  bool at_risk = false;     ///< it has said so
  double mean_workers() const { return finish > 0 ? worker_seconds / finish : 0; }
  bool met() const { return result == "Succeeded" && finish <= deadline; }
};

/// Runs that have ended, the shortest deadline first. Throws io::FileError.
std::vector<DueRun> read_due(const std::filesystem::path& folder);

nlohmann::json summary_of(const std::vector<DueRun>& runs);

/// deadlines.png, workers.png and summary.json. Throws io::FileError.
void write_due(const std::filesystem::path& folder, const std::vector<DueRun>& runs);

}  // namespace queue_pictures
