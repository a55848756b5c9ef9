// SPDX-License-Identifier: Apache-2.0
// One job of an `empi run` from its manifest to its summary.json: where its output goes, what is shown and
// kept of it.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/controller/controller.hpp"
#include "operator/local/local_cluster.hpp"
#include "operator/programs/empi/manifest.hpp"
#include "operator/programs/empi/recorder.hpp"
#include "operator/programs/empi/view.hpp"

namespace emj::cli {

// In the job's state folder while it runs: what is measured of the last window, for whoever looks from
// elsewhere.
inline constexpr const char* kFiguresFile = "efficiency.json";

class RunningJob {
 public:
  using Clock = local::EventLoop::Clock;

  // Takes the job's state folder and its output folder. Throws std::runtime_error when one of them cannot be
  // had.
  RunningJob(ElasticMPIJob job, JobSource source);

  // Clears both of what an earlier run left there. Once, when nothing stands against the job, nor against
  // those that begin with it: who is refused has lost nothing. Throws std::runtime_error.
  void begin();

  JobKey key() const { return key_of(job_); }
  const std::string& name() const { return job_.metadata.name; }
  const ElasticMPIJob& job() const { return job_; }
  const std::string& output() const { return source_.output; }

  // After begin(), where it starts later: who asks for it is answered on the loop's thread, as long as what
  // is returned lives, which is to end before the loop does and before start().
  // `run`: the id of the run that it belongs to. An end without a start leaves no state.
  std::shared_ptr<void> listen(local::EventLoop& loop, const std::string& run,
                               std::function<local::Reply(const local::Command&)> answer) const;

  // Once: from then on the cluster has it, and its lock.
  void start(local::LocalCluster& cluster, local::LocalJobOptions options);

  void look(Time now, const ReconcileResult& pass, const std::vector<empi::WindowSample>& windows);
  // What of its results cannot be written, when that is news; else "".
  std::string take_trouble();
  std::vector<std::string> view(Time now);
  std::string line(Time now);  // "" before its program runs

  // What goes on until it ends, or has had its time for that.
  enum class End { NotYet, Over, Stuck };
  End end(Clock::time_point now);
  // Writes summary.json and says how it ended; what could not be written is said and makes a failure of it.
  std::string finish(const std::vector<empi::ChangeRecord>& changes, double cpu_seconds,
                     const std::string& lost_output);
  int exit_code() const;

  Clock::time_point due{};  // when it is to be looked at next; before it has started: when it starts

 private:
  std::string progress(Time now);
  void tell_figures();

  ElasticMPIJob job_;
  JobSource source_;  // with absolute paths
  local::StateFolder folder_;
  local::UniqueFd lock_, output_lock_;
  std::optional<Recorder> recorder_;  // from begin() on
  RemainingTime remaining_;
  ReconcileResult last_;
  std::optional<Clock::time_point> end_seen_;
  std::string trouble_, trouble_said_;
  bool incomplete_ = false;  // its results
};

}  // namespace emj::cli
