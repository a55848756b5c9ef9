// SPDX-License-Identifier: Apache-2.0
// One job of this machine: its spec and status, kept in its state folder, its token, and what its user asks
// for by commands and edits of its manifest. Safe from any thread.
#pragma once
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "operator/agents/agent_client.hpp"
#include "operator/api/result.hpp"
#include "operator/controller/cluster.hpp"
#include "operator/local/control.hpp"
#include "operator/local/event_loop.hpp"
#include "operator/local/isolation.hpp"
#include "operator/local/state_folder.hpp"
#include "runtime/base/certificates.hpp"

namespace emj::local {

struct LocalJobOptions {
  std::string run;                        // id of the `empi run` that it belongs to
  Isolation isolation = Isolation::None;  // of its pods
  std::string manifest;                   // path, watched for edits
  std::function<Result<ElasticMPIJob>(const std::string& text)>
      load;                       // manifest text -> job, overrides applied
  std::string output_folder;      // absolute; pods log there, applications find it in EMPI_OUTPUT_DIR
  std::string working_directory;  // of ranks whose template names none
  bool mutual_tls = true;         // between its pods and us
  std::string checkpoint;         // file that the first start goes on from; empty: the newest there is
  // Called on any thread: a line about the job that is worth showing, and that there is something to do.
  std::function<void(bool warning, const std::string& line)> on_event;
  std::function<void()> on_change;
  std::function<Reply(const Command& command)> on_run_command;  // to the run, on the loop's thread
};

class LocalJob {
 public:
  // `lock` is that of the folder. Opens the control socket; throws std::runtime_error when it cannot.
  LocalJob(ElasticMPIJob job, const StateFolder& folder, UniqueFd lock, EventLoop& loop,
           LocalJobOptions options);
  ~LocalJob();  // nobody reaches it any more; its state stays to be looked at
  LocalJob(const LocalJob&) = delete;
  LocalJob& operator=(const LocalJob&) = delete;

  const LocalJobOptions& options() const { return options_; }
  const std::string& token() const { return token_; }
  // Ours, as the controller of its pods; null: they speak plain HTTP.
  const JobCredentials& credentials() const { return credentials_; }
  // The folder with the certificate of a pod, made now; empty: none.
  std::string certificate_folder(const std::string& pod, int worker);
  std::string token_file() const { return folder_.file("token"); }
  JobRecord record() const;

  Outcome write_status(const JobStatus& status);
  Outcome write_scale(int replicas);
  void clear_resume();
  void request_cancel();
  // A new empty file for the last words of a pod; it goes with the job.
  std::string termination_file(const std::string& pod);
  // Writes a line to events.log and hands it on.
  void note(bool warning, const std::string& reason, const std::string& message);
  void look_at_manifest();  // takes over an edit

 private:
  void apply_manifest();
  Reply handle(const Command& command);
  Reply scale(int replicas);
  // With mutex_ held. Where it cannot be written down nothing changes.
  Outcome replace_spec(JobSpec spec);

  StateFolder folder_;
  UniqueFd lock_;
  EventLoop& loop_;
  LocalJobOptions options_;
  std::string token_;
  std::unique_ptr<empi::tls::Authority> authority_;  // of this job, while it runs
  JobCredentials credentials_;
  EventLoop::Id commands_ = 0;

  mutable std::mutex mutex_;
  ElasticMPIJob job_;
  JobSpec manifest_spec_;  // as the manifest last said
  std::string manifest_stamp_;
  bool cancel_requested_ = false;
  bool resume_autoscaling_ = false;
  std::vector<std::string> termination_files_;
};

}  // namespace emj::local
