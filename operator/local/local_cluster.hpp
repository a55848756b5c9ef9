// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cluster over one job and the pods of this machine. Used from the controller's thread; commands, manifest
// edits and pod exits arrive on the event loop's thread and wake the controller.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/result.hpp"
#include "operator/controller/cluster.hpp"
#include "operator/local/control.hpp"
#include "operator/local/event_loop.hpp"
#include "operator/local/isolation.hpp"
#include "operator/local/pods.hpp"
#include "operator/local/state_folder.hpp"

namespace emj::local {

struct LocalOptions {
  Isolation isolation = Isolation::None;
  std::string manifest;  // path, watched for edits
  std::function<Result<ElasticMPIJob>(const std::string& text)>
      load;                       // manifest text -> job, overrides applied
  std::string output_folder;      // absolute; pods log there, applications find it in EMPI_OUTPUT_DIR
  std::string working_directory;  // of ranks whose template names none
  // Called on the loop's thread (lines of pods) or any thread (everything else worth a line).
  std::function<void(const std::string& pod, const std::string& line)> on_output;
  std::function<void(bool warning, const std::string& line)> on_event;
};

class LocalCluster : public Cluster {
 public:
  // Makes the network and opens the control socket. Throws std::runtime_error with what is missing.
  LocalCluster(ElasticMPIJob job, const StateFolder& folder, EventLoop& loop, Wakeup& changed,
               LocalOptions options);
  ~LocalCluster() override;  // stops the loop, kills what is left of the pods

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

  void request_cancel();
  void kill_pods() { pods_->kill_all(); }
  JobKey key() const;
  const std::string& token() const { return token_; }
  Isolation isolation() const { return options_.isolation; }
  double cpu_seconds() const { return pods_->cpu_seconds(); }
  // Writes a line to events.log and hands it on.
  void note(bool warning, const std::string& reason, const std::string& message);

 private:
  void make_network();
  PodPlan plan_pod(const nlohmann::json& pod);
  void watch_manifest();
  void apply_manifest();
  Reply handle(const Command& command);
  Reply scale(int replicas);
  void replace_spec(JobSpec spec);  // with mutex_ held

  StateFolder folder_;
  EventLoop& loop_;
  Wakeup& changed_;
  LocalOptions options_;
  std::string token_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Pods> pods_;

  mutable std::mutex mutex_;
  ElasticMPIJob job_;
  JobSpec manifest_spec_;  // as the manifest last said
  std::string manifest_stamp_;
  bool cancel_requested_ = false;
  bool resume_autoscaling_ = false;
  std::vector<std::string> termination_files_;
  std::vector<std::string> ready_;  // uids of pods whose agent has answered
};

}  // namespace emj::local
