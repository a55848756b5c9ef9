#pragma once

// One pass over one job: observe -> decide -> act. Level based: every pass starts from what is there, so a
// missed event, a crash between two writes or a second pass costs nothing. Never sleeps: waiting is the
// caller's part (Pass::requeue_after, or earlier when something happens).

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "operator/build/pods.hpp"
#include "operator/controller/cluster.hpp"
#include "operator/controller/runtime.hpp"

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
};

struct Pass {
  Millis requeue_after{};
  bool gone = false;          // no such job
  bool terminal = false;      // succeeded or failed
  bool failed = false;        // something could not be done: not only look again, but more patiently
  bool timed = false;         // requeue_after is when something falls due
  std::vector<PodView> pods;  // as observed
  JobStatus status;           // as written, or as last read when writing failed

  // Nothing will ever be done again without news of the job. Every other pass is followed by another one,
  // after requeue_after at the latest, whatever news may have been lost.
  bool at_rest() const { return gone || (terminal && pods.empty() && !timed && !failed); }
};

class Controller {
 public:
  using Clock = std::function<Time()>;
  using Log = std::function<void(const std::string& line)>;
  Controller(Cluster& cluster, Runtime& runtime, Clock clock, Log log, ControllerOptions options);

  // Safe from several threads, one at a time per job.
  Pass reconcile(const JobKey& key);

 private:
  // Nothing that is not found out anew after a restart.
  struct Memory {
    std::int64_t fence = 0;        // ours, once the job was taken
    std::string invalid_template;  // the server's message when it refused a pod
    std::int64_t invalid_generation = 0;
    std::string creation_problem;  // why the last pod could not be created, until one was
    std::string command_problem;   // why the lead did not take the last command, until it takes one
    Time last_samples{};
    std::vector<Sample> samples;
    std::optional<Time> last_decision;  // newest one already logged
    std::string last_problem;           // logged once in a while, not at every attempt
    int times = 0;                      // in a row
    Time told{};
    std::optional<ElasticMPIJob> running;  // while its program runs
    std::vector<PodView> pods;             // as seen last
    Time moved{};                          // when they or the status changed last
  };

  Millis next_look(const Observed& observed, const JobStatus& decided, Memory& memory, Time now) const;
  void end_program(Memory& memory);
  Memory& memory_of(const JobKey& key);
  std::int64_t fence_for(const JobStatus& status, Memory& memory) const;
  void ask_newcomers(const ElasticMPIJob& job, std::vector<PodView>& pods);
  Observed observe(const JobRecord& record, const JobKey& key, Memory& memory, Time now);
  bool act(const JobKey& key, const ElasticMPIJob& job, const Action& action, Memory& memory, Pass& pass);
  void log_decisions(const JobKey& key, const JobStatus& status, Memory& memory);
  bool report(const JobKey& key, const std::string& what, const Outcome& outcome, Memory& memory);

  Cluster& cluster_;
  Runtime& runtime_;
  Clock clock_;
  Log log_;
  ControllerOptions options_;
  std::mutex mutex_;  // guards the map; an entry belongs to the thread that reconciles its job
  std::map<JobKey, Memory> memory_;
};

}  // namespace emj
