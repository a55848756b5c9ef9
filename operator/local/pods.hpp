// SPDX-License-Identifier: Apache-2.0
// The pods of all local jobs of this process: each a holder process (pod_holder.hpp) with an agent, a sidecar
// and ranks.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/controller/cluster.hpp"
#include "operator/local/event_loop.hpp"
#include "operator/local/isolation.hpp"
#include "operator/local/network.hpp"

namespace emj::local {

// What is to be started, after the pod object was read.
struct PodPlan {
  JobKey job;
  std::string name;
  std::string uid;
  int index = 0;
  std::string pool;  // of its queue
  Isolation isolation = Isolation::None;
  Network* network = nullptr;  // none: it shares the loopback interface
  LinkLimits limits;
  std::string address;  // IPv4
  int agent_port = 0;
  int sidecar_port = 0;
  std::vector<std::string> agent, sidecar;  // absolute programs and arguments
  std::vector<std::string> environment;     // NAME=VALUE
  std::string working_directory;
  std::string run_dir;
  std::string log_file;          // everything the pod prints; appended to
  std::string termination_file;  // its last words, read at the end
};

struct PodState {
  PodPlan plan;
  bool terminating = false;
  std::optional<int> exit_code;  // the agent has ended
  std::string message;           // its last words then
};

class Pods {
 public:
  using Clock = std::chrono::steady_clock;
  // On the loop's thread `on_line` gets every line a pod prints; `changed` tells of what job a pod has ended.
  Pods(EventLoop& loop, std::function<void(const JobKey& job)> changed,
       std::function<void(const std::string& pod, const std::string& line)> on_line);
  ~Pods();  // kills what is left
  Pods(const Pods&) = delete;
  Pods& operator=(const Pods&) = delete;

  // Returns when the agent's program has been executed. Throws std::runtime_error with the reason.
  // Must always be called on the same thread: pods die with the thread that made them.
  void create(PodPlan plan);
  // SIGTERM, and SIGKILL after `grace`; forgets the pod when it is gone. False: no such pod.
  bool remove(const std::string& uid, std::chrono::milliseconds grace);
  void kill(const JobKey& job);
  void kill_all();
  std::vector<PodState> list(const JobKey& job) const;
  // CPU time of all pods of the job that have ended, seconds.
  double cpu_seconds(const JobKey& job) const;
  // Which log lacks what its pod has printed, and why; empty: none.
  std::string lost_output(const JobKey& job) const;
  // Nothing of the job is asked any more: kills what is left of it.
  void forget(const JobKey& job);

 private:
  struct Pod;
  bool read_output(const std::shared_ptr<Pod>& pod, int fd);
  void keep(const Pod& pod, std::string_view text);  // in its log
  void reap(const std::shared_ptr<Pod>& pod);

  EventLoop& loop_;
  std::function<void(const JobKey&)> changed_;
  std::function<void(const std::string&, const std::string&)> on_line_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Pod>> pods_;  // by uid
  std::map<JobKey, double> cpu_seconds_;
  std::map<JobKey, std::string> lost_output_;  // the first of each
};

}  // namespace emj::local
