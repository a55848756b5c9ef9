// SPDX-License-Identifier: Apache-2.0
// A machine that several jobs have shared (`empi run A.yaml B.yaml ... --out DIR`): who had how many workers
// when, as a picture coloured by job (as figure 10 of seed 001) and as figures.
#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace queue_pictures {

/// Of one job: the number of workers from each moment on, the last of them when it has ended.
struct SharedJob {
  std::string name, result;
  double start = 0, end = 0;             ///< s since 1970: in the queue, and when it has ended
  std::vector<double> seconds, workers;  ///< since 1970
  int changes = 0;                       ///< that were committed
};

/// The jobs whose folders are in `folder`, in the order in which they came. Throws io::FileError.
std::vector<SharedJob> read_shared(const std::filesystem::path& folder);

/// {"makespan_s", "mean_turnaround_s", "worker_seconds", "jobs": [...]}; times since the first came.
nlohmann::json summary_of(const std::vector<SharedJob>& jobs);

/// profile.png and summary.json. Throws io::FileError.
void write_shared(const std::filesystem::path& folder, const std::vector<SharedJob>& jobs);

}  // namespace queue_pictures
