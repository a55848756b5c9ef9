// SPDX-License-Identifier: Apache-2.0
// The jobs of an `empi run` that have not begun: those of its manifests whose turn comes later, and those
// that are submitted to it. submit(), call_off(), end() and ending() may be called by any thread, all else by
// that of the run.
#pragma once
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "operator/programs/empi/running_job.hpp"

namespace emj::cli {

class ComingJobs {
 public:
  using Clock = RunningJob::Clock;
  using Jobs = std::list<RunningJob>;

  // `news`: called when there may be something to take; by any thread.
  ComingJobs(local::EventLoop& loop, std::string run, std::function<void()> news);

  // Those of the manifests, each with its time in `due`. Begins all of them, and has those that start later
  // listened to: `answer` is called on the loop's thread. Throws std::runtime_error.
  void begin(Jobs jobs, const std::function<local::Reply(const RunningJob&, const local::Command&)>& answer);

  // Begins the one job and takes it. False where no more are taken: it has lost nothing then. Throws
  // std::runtime_error.
  bool submit(Jobs& job);
  void call_off(const JobKey& job);
  void end();  // whatever has not been taken never starts
  bool ending() const;

  struct Dropped {
    std::string job, why;
  };
  // Moves those whose time has come to the end of `due`. Returns who never will.
  std::vector<Dropped> take_due(Jobs& due);
  // Where nobody is left: ends. False: somebody is, to be taken first.
  bool end_if_none();

  bool empty() const { return jobs_.empty(); }
  Clock::time_point next() const;         // when the next one starts; without one max()
  std::vector<std::string> view() const;  // a line for each

 private:
  std::vector<Dropped> drop_all();

  local::EventLoop& loop_;
  const std::string run_;
  const std::function<void()> news_;

  Jobs jobs_;
  std::map<JobKey, std::shared_ptr<void>> listening_;  // those that are asked for

  mutable std::mutex mutex_;  // of the next three
  Jobs submitted_;
  std::set<JobKey> called_off_;
  bool ending_ = false;
};

// "12 s", as long as it is until `job` starts.
std::string starts_in(const RunningJob& job);

}  // namespace emj::cli
