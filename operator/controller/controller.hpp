// SPDX-License-Identifier: Apache-2.0
// One pass over one job: observe -> decide -> act. Level based: every pass starts from what is there, so a
// missed event, a crash between two writes or a second pass costs nothing. Never sleeps: waiting is the
// caller's part (ReconcileResult::requeue_after, or earlier when something happens).
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "operator/controller/cluster.hpp"
#include "operator/controller/runtime.hpp"
#include "operator/controller/scheduler.hpp"
#include "operator/objects/pods.hpp"

namespace emj {

struct ControllerOptions {
  // Put into every command to a job's runtime. 0: one above what the job's status holds when this process
  // first takes the job, raised by that status write (a compare-and-swap), so that an old leader is refused.
  std::int64_t fence = 1;
  BuildOptions build;
  // Look again while a job starts or changes its size: as soon as this after something has happened, then
  // after a tenth of the time that nothing has. A thousand jobs that start at once would be asked for nothing
  // else.
  Millis fast{50};
  Millis steady{1000};  // otherwise, and at the latest
  // A fence above ours that has not moved for so long is nobody's: its holder would not have let us lead.
  Millis overtaken{60000};
  // Of each job that has ended, once that is written, or that was deleted while it ran: its line for accounts
  // (accounting.hpp). From any thread.
  std::function<void(const JobKey& key, const std::string& line)> account{};
};

struct ReconcileResult {
  Millis requeue_after{};
  bool gone = false;          // no such job
  bool terminal = false;      // succeeded or failed
  bool failed = false;        // something could not be done: not only look again, but more patiently
  bool broken = false;        // a defect of this program: as `failed`, and told in condition InternalError
  bool timed = false;         // requeue_after is when something falls due
  bool asking = false;        // nothing was decided: the runtime tells when it has its answer
  std::vector<PodView> pods;  // as observed
  JobStatus status;           // as written, or as last read when writing failed

  // Nothing will ever be done again without news of the job; pods that have ended may stay for their logs.
  // Every other pass is followed by another one, after requeue_after at the latest, whatever news may have
  // been lost.
  bool at_rest() const { return gone || (terminal && !timed && !failed && std::ranges::all_of(pods, over)); }

 private:
  static bool over(const PodView& pod) { return pod.terminating || has_ended(pod); }
};

class Controller {
 public:
  using Clock = std::function<Time()>;
  using Log = std::function<void(const JobKey& job, const std::string& line)>;
  // `scheduler`: of the jobs in queues; without one they wait.
  Controller(Cluster& cluster, Runtime& runtime, Clock clock, Log log, ControllerOptions options,
             Scheduler* scheduler = nullptr);

  // Safe from several threads, one at a time per job. Throws nothing: what a pass throws is a defect, and one
  // job's defect is no other job's affair.
  ReconcileResult reconcile(const JobKey& key);

 private:
  // Nothing that is not found out anew after a restart.
  struct Memory {
    std::string uid;               // of the job that all this is about
    std::int64_t fence = 0;        // ours, once the job was taken
    std::int64_t named_fence = 0;  // by which we have last named a lead
    std::string invalid_template;  // the server's message when it refused a pod
    std::int64_t invalid_generation = 0;
    std::string creation_problem;               // why the last pod could not be created, until one was
    std::optional<Time> creation_denied_since;  // that a rule of the cluster forbids it
    bool namespace_ends = false;                // and none can be made for this reason
    std::string command_problem;   // why the lead did not take the last command, until it takes one
    std::string internal_error;    // why the last pass was broken off, until one ends well
    std::string scale_problem;     // why the last size of the autoscaler was refused
    std::int64_t newer_fence = 0;  // somebody else's, seen since:
    Time newer_since{};
    std::optional<Time> silent_since;      // the lead has not answered since then
    bool lead_was_replaceable = false;     // by the last answer
    std::optional<Time> unmeasured_since;  // its sidecar has not
    Time last_samples{};
    std::vector<Sample> samples;
    std::optional<Time> last_decision;  // newest one already logged
    std::string last_problem;           // logged once in a while, not at every attempt
    int times = 0;                      // in a row
    Time told{};
    std::optional<ElasticMPIJob> running;         // while its program may run
    bool told_to_end = false, accounted = false;  // since the job was deleted
    std::vector<PodView> pods;                    // as seen last
    Time last_change{};                           // when they or the status changed last
  };

  ReconcileResult pass_over(const JobKey& key);
  ReconcileResult broken_off(const JobKey& key, const std::string& what);
  Millis next_look(const Observed& observed, const JobStatus& decided, Memory& memory, Time now) const;
  void end_program(Memory& memory);
  void account(const ElasticMPIJob& job) const;
  Memory& memory_of(const JobKey& key);
  Memory& memory_for(const JobKey& key, const std::string& uid);
  std::int64_t fence_for(const JobStatus& status, Memory& memory) const;
  void overtake(const JobKey& key, const JobStatus& status, Memory& memory, Time now);
  void ask_newcomers(const ElasticMPIJob& job, std::vector<PodView>& pods);
  std::optional<QueueGrant> grant_for(const ElasticMPIJob& job) const;
  std::optional<Observed> observe(const JobRecord& record, const JobKey& key, Memory& memory, Time now);
  Outcome create_pods(const ElasticMPIJob& job, const std::vector<int>& workers);
  bool make_pods(const JobKey& key, const ElasticMPIJob& job, const std::vector<int>& workers, Memory& memory,
                 ReconcileResult& result);
  // What is not done fails the pass, and is reported.
  bool done(const JobKey& key, const std::string& what, const Outcome& outcome, Memory& memory,
            ReconcileResult& result);
  // `run`: the job as it was when this was decided: its agents are spoken to as they were begun, also when
  // the run is to be forgotten.
  bool act(const JobKey& key, const ElasticMPIJob& job, const ElasticMPIJob& run, const Action& action,
           Memory& memory, ReconcileResult& result);
  void log_decisions(const JobKey& key, const JobStatus& status, Memory& memory);
  bool report(const JobKey& key, const std::string& what, const Outcome& outcome, Memory& memory);

  Cluster& cluster_;
  Runtime& runtime_;
  Clock clock_;
  Log log_;
  ControllerOptions options_;
  Scheduler* scheduler_;
  std::mutex mutex_;  // guards the map; an entry belongs to the thread that reconciles its job
  std::map<JobKey, Memory> memory_;
};

}  // namespace emj
