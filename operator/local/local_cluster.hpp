// SPDX-License-Identifier: Apache-2.0
// Cluster over the jobs of one `empi run` and their pods on this machine. Used from the controller's thread;
// commands, manifest edits and pod exits arrive on the event loop's thread.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/controller/cluster.hpp"
#include "operator/local/event_loop.hpp"
#include "operator/local/local_job.hpp"
#include "operator/local/pods.hpp"

namespace emj::local {

class LocalCluster : public Cluster {
 public:
  // On the loop's thread: `on_output` gets what pods print, `on_pod_end` tells whose pod has ended. `run`
  // names what the jobs share on this machine.
  LocalCluster(const std::string& run, EventLoop& loop, std::function<void(const JobKey& job)> on_pod_end,
               std::function<void(const std::string& pod, const std::string& line)> on_output);
  ~LocalCluster() override;  // stops the loop, kills what is left of the pods

  // The first that wants a network makes it. Throws std::runtime_error with what is missing.
  void add(ElasticMPIJob job, const StateFolder& folder, UniqueFd lock, LocalJobOptions options);
  // Kills what is left of its pods. From now on there is no such job.
  void remove(const JobKey& key);

  std::optional<JobRecord> read_job(const JobKey& key) override;
  Outcome write_status(const ElasticMPIJob& read, const JobStatus& status) override;
  Outcome write_scale(const ElasticMPIJob& read, int replicas) override;
  // A job of this process is read as it was written, and its token is that of its pods.
  Outcome tell_unreadable(const JobRecord&) override { return Outcome::done(); }
  Outcome keep_children(const ElasticMPIJob&) override { return Outcome::done(); }
  Outcome renew_token(const ElasticMPIJob&) override { return Outcome::done(); }
  Outcome clear_resume(const JobKey& key) override;
  std::vector<PodView> list_pods(const JobKey& key) override;
  Outcome create_pod(const ElasticMPIJob& job, const nlohmann::json& pod) override;
  Outcome delete_pod(const JobKey& key, const DeletePod& pod) override;
  Outcome delete_job(const JobKey& key, const std::string& uid) override;  // nothing: it ends with the run
  void record_event(const JobKey& key, const RecordEvent& event) override;

  void request_cancel();  // of all jobs; from any thread
  void kill_pods(const JobKey& key) { pods_.kill(key); }
  void kill_pods() { pods_.kill_all(); }
  std::string token(const JobKey& key) const;
  JobCredentials credentials(const JobKey& key) const;
  double cpu_seconds(const JobKey& key) const { return pods_.cpu_seconds(key); }
  std::string lost_output(const JobKey& key) const { return pods_.lost_output(key); }
  void note(const JobKey& key, bool warning, const std::string& reason, const std::string& message);

 private:
  struct Entry {
    std::shared_ptr<LocalJob> job;
    Network* network = nullptr;  // none: its pods share the loopback interface
    LinkLimits limits;
    std::set<std::string> ready;  // uids of pods whose agent has answered
  };
  void join_network(const ElasticMPIJob& job, LocalJobOptions& options, Entry& entry);
  PodPlan plan_pod(const ElasticMPIJob& job, Entry& entry, const nlohmann::json& pod);
  void watch_manifests();
  std::vector<std::shared_ptr<LocalJob>> jobs() const;
  Entry* find(const JobKey& key);

  const std::string run_;
  EventLoop& loop_;
  std::unique_ptr<Network> network_;
  Pods pods_;

  mutable std::mutex mutex_;  // of the map: the controller's thread alone changes it
  std::map<JobKey, Entry> jobs_;
};

}  // namespace emj::local
