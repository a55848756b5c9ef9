// SPDX-License-Identifier: Apache-2.0
// Who decides what jobs in queues may have: a thin loop around queue::schedule(). It parses no job: each pass
// over a job hands it in as just written, with its living pods (saw()), and the scheduler answers by a grant
// for the job's next pass. All state is in the statuses of jobs and queues; what is here is a cache of them
// (rules Q8, Q25):
//
//  - A grant is the next version of a job's status.allocation. It counts from when it is given out, is never
//    taken back or replaced, and is forgotten when the job is seen with it, or with another version. One that
//    was never written never happened.
//  - Nobody is asked for a promise before it stands in the job's status (rule Q26).
//  - Nothing is planned before every job of the first list was seen: a ledger with a gap would give out what
//    is in use.
//
//   Controller controller(cluster, runtime, clock, log, options, &scheduler);
//   scheduler.expect(first_list_of_jobs);
//   std::jthread thread([&](std::stop_token stop) { scheduler.run(stop); });   // or turn() in a loop of
//   one's own
#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "operator/controller/capacity.hpp"
#include "operator/controller/grants.hpp"
#include "operator/controller/queue_cluster.hpp"
#include "operator/controller/unplaceable.hpp"
#include "operator/decide/decide.hpp"
#include "operator/decide/queue/job_demand.hpp"
#include "operator/decide/queue/learned.hpp"
#include "operator/decide/queue/state.hpp"

namespace emj {

// One plan for one queue, for whoever counts.
struct PlanReport {
  const std::string& queue;
  const QueueStatus& status;
  const queue::QueueState& state;
  const queue::Plan& plan;
  Time now;
};

// All queues that there are.
struct PassReport {
  std::map<std::string, bool> planned;         // by name: whether for it, or it cannot be read or taken
  std::chrono::steady_clock::duration took{};  // but for the writes of their statuses
};

struct SchedulerOptions {
  Millis gather{100};    // a plan is made so long after the first news: news come in flocks
  Millis steady{30000};  // and this long after the last one without any
  // Of a queue's status, and where its capacity or its head has changed: each start changes that.
  Millis between_status{10000}, between_urgent{5000};
  // Where nothing has changed but how much was used and how long things took: whoever comes after this
  // scheduler goes on from the time of the last write.
  Millis between_use{300'000};
  // A fence of a queue above ours that has not moved for so long is nobody's, as that of a job.
  Millis overtaken{60000};
  queue::Resources sidecar{};  // of each worker, beside its container
  // By the scheduler's thread: of each plan, when all queues are done, and of a plan that a defect of this
  // program has broken off.
  std::function<void(const PlanReport&)> planned{};
  std::function<void(const PassReport&)> pass{};
  std::function<void()> broken{};
};

class Scheduler {
 public:
  using Clock = std::function<Time()>;
  using Log = std::function<void(const std::string& line)>;
  Scheduler(QueueCluster& cluster, Clock clock, Log log, SchedulerOptions options = {});

  // --- from passes over jobs and from watches; any thread, none of them waits for a plan -------------------

  // Of the job with this uid.
  std::optional<QueueGrant> grant_of(const std::string& uid) const { return grants_.of(uid); }
  // Of the queue with this name, where there is one that can be read.
  std::optional<QueueSpec> queue(const std::string& name) const { return cluster_.spec_of(name); }
  // The job with its status as just written, and its living pods. Jobs without a queue may be handed in as
  // well.
  void saw(const ElasticMPIJob& job, const std::vector<PodView>& pods);
  void gone(const JobKey& key);
  // Nothing is known of it but what was known before; the others need not wait for it.
  void unreadable(const JobKey& key);
  // Jobs of the first list, whatever their queue: none is planned for before each was seen or is gone.
  void expect(const std::vector<JobKey>& jobs);
  // A queue, a node, a foreign pod or a quota has changed.
  void news();

  // --- the thread -----------------------------------------------------------------------------------------

  // Plans if that is due. When to be called again, without news in between. No exception leaves it: what a
  // defect has broken off is told, and tried again as anything else.
  Time turn();
  // turn() until told to stop.
  void run(const std::stop_token& stop);

 private:
  // A job as its last pass left it.
  struct Seen {
    ElasticMPIJob job;
    queue::LivingPods pods;
    std::shared_ptr<const queue::WorkerNeeds> needs;
    std::string model_key;
  };
  using SeenJob = std::shared_ptr<const Seen>;
  struct Known {
    SeenJob seen;
    std::shared_ptr<const queue::Curve> curve{};  // for this objective; null: not needed yet
    queue::Objective objective{};
  };
  // What was given out and has not been seen in a status yet.
  struct Outstanding {
    AllocationStatus allocation;
    std::string uid;
  };
  struct Release {
    Time since;
    int workers = 0;  // that it is to keep
  };
  // What a pass over one queue works with.
  struct Round {
    Round(const QueueRecord& record_, const std::vector<QueueRecord>& records_,
          const std::vector<NamespaceQuota>& quotas_, const std::vector<WorkerPods>& workers_,
          std::vector<PoolRoom> rooms_, Time now_)
        : record(record_),
          records(records_),
          quotas(quotas_),
          workers(workers_),
          now(now_),
          rooms(std::move(rooms_)) {}

    const QueueRecord& record;
    const std::vector<QueueRecord>& records;  // of all queues
    const std::vector<NamespaceQuota>& quotas;
    const std::vector<WorkerPods>& workers;
    Time now;
    queue::QueueState state;
    std::vector<PoolRoom> rooms;
    std::map<std::string, SeenJob> jobs;  // by uid
  };

  void wake_at(Time time);  // with mutex_ held, as the next
  void seen_first(const JobKey& key, Time now);
  // A queue that this scheduler has taken.
  struct Taken {
    std::string uid;
    QueueStatus status;   // as counted on
    QueueStatus written;  // as last written
    std::optional<Time> written_at;
    std::int64_t newer_fence = 0;  // somebody else's, seen since:
    Time newer_since{};
  };
  void wake(Time time) { wake_ = wake_ ? std::min(*wake_, time) : time; }
  Time plan(Time now);
  template <class Do>
  void unbroken(const std::string& what, const Do& act);
  void take_news(Time now);
  void take(const JobKey& key, const SeenJob& seen, Time now);
  void note_release(const JobKey& key, const Seen& seen, Time now);
  void forget(const JobKey& key);
  void learn(const ElasticMPIJob& before, const ElasticMPIJob& now);
  void plan_queue(Round& round);
  void hide_unplaceable(Round& round);
  void tell_unreadable(const QueueRecord& record);
  Outcome write(const ElasticQueue& read, const QueueStatus& status);
  bool take_queue(const QueueRecord& record, Time now);
  void add_demand(Round& round, const JobKey& key, Known& known);
  void count_others_in_quotas(Round& round);
  void count_departing(Round& round);
  void give(Round& round, const queue::Plan& plan);
  void tell_waiting(Round& round, const queue::Plan& plan);
  void tell(const SeenJob& seen, QueueCause cause, const std::string& reason,
            std::optional<Time> start = std::nullopt);
  void write_status(const Round& round, const queue::Plan& plan);
  void tell_without_queue(const std::vector<QueueRecord>& records);  // by name

  QueueCluster& cluster_;
  Clock clock_;
  Log log_;
  SchedulerOptions options_;
  Grants grants_;

  // By any thread.
  std::mutex mutex_;
  std::condition_variable_any woken_;
  std::map<JobKey, SeenJob> latest_;  // to tell news from repetitions
  std::map<JobKey, SeenJob> inbox_;   // null: gone
  std::set<JobKey> expected_;
  std::optional<Time> due_;

  // The scheduler's thread only.
  std::map<JobKey, SeenJob> news_;  // of the inbox, to be taken
  std::map<JobKey, Known> jobs_;
  std::map<JobKey, Outstanding> outstanding_;
  std::map<JobKey, Release> releasing_;  // of those that let go of workers
  Unplaceable unplaceable_;
  queue::Lessons lessons_;
  std::map<std::string, Taken> taken_;
  std::map<std::string, std::string> troubles_;  // by queue: why it cannot be read, as last told
  std::map<std::string, QueueSpec> specs_;       // by queue: as last read
  std::map<std::string, std::string> defects_;   // by what they broke off, as last told
  std::optional<Time> wake_;
  std::chrono::steady_clock::duration writing_{};  // of the present plans
};

}  // namespace emj
