// SPDX-License-Identifier: Apache-2.0
// What is kept of a run: profile.csv and windows.jsonl while it goes on, summary.json at its end.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "operator/agents/convert.hpp"
#include "operator/api/job.hpp"
#include "operator/programs/empi/growing_file.hpp"

namespace emj::cli {

// The newest measured window in words and numbers, for the view.
struct LiveFigures {
  bool known = false;
  int ranks = 0;
  double efficiency = 0, load_balance = 0, communication = 0;
  double work_units_per_second = 0;
};

class Recorder {
 public:
  // Throws std::runtime_error when the folder cannot be written.
  Recorder(std::string folder, ElasticMPIJob job);

  // One look at the job. `held` is the number of ranks that its living pods have room for.
  void look(Time now, const JobStatus& status, int held, const std::vector<empi::WindowSample>& windows);
  // What of the run cannot be written for now, and why; "" when all is.
  const std::string& trouble() const {
    return profile_.trouble().empty() ? windows_.trouble() : profile_.trouble();
  }
  // All decisions seen, also those that status has forgotten. Throws std::runtime_error.
  void write_summary(const JobStatus& status, const std::vector<empi::ChangeRecord>& changes,
                     double cpu_seconds) const;

  double core_seconds() const { return core_seconds_; }
  const LiveFigures& figures() const { return figures_; }
  double run_seconds(const JobStatus& status) const;

 private:
  void append_profile(const empi::WindowSample& window);

  std::string folder_;
  ElasticMPIJob job_;
  GrowingFile profile_, windows_;
  Time started_{};
  Time last_look_{};
  int last_held_ = 0;
  double core_seconds_ = 0;
  double change_rank_seconds_ = 0;      // that changes have kept its ranks from tasks
  std::optional<double> task_seconds_;  // that ranks of a master-worker program have spent in tasks
  std::int64_t last_window_ = -1;
  std::vector<DecisionRecord> decisions_;
  LiveFigures figures_;
};

// The application's own results in the output folder: every *.json written since `started` that holds an
// object, except ours and its progress. Their keys go into summary.json unless we have them.
void merge_application_results(const std::string& folder, Time started, nlohmann::json& summary);

}  // namespace emj::cli
