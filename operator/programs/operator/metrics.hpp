// SPDX-License-Identifier: Apache-2.0
// What the operator tells Prometheus about itself. The metrics' one home, as runtime/protocol/metrics.hpp is
// for those of the pods.
#pragma once
#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "operator/api/job.hpp"
#include "operator/controller/cluster.hpp"
#include "operator/controller/scheduler.hpp"
#include "operator/kube/client.hpp"
#include "operator/kube/work_queue.hpp"
#include "runtime/base/exposition.hpp"
#include "runtime/protocol/metrics.hpp"

namespace emj::manager {

namespace metrics {
using empi::metrics::Metric;
using empi::metrics::Type;
inline constexpr Metric kReconciles{"empi_operator_reconciles_total", Type::Counter, "",
                                    "Passes over a job, by result (ok, retry, gone, broken: a defect)."};
inline constexpr Metric kReconcileDuration{"empi_operator_reconcile_duration_seconds", Type::Histogram,
                                           "seconds", "How long a pass over a job takes."};
inline constexpr Metric kReaction{"empi_operator_reaction_seconds", Type::Histogram, "seconds",
                                  "From reading the bytes of a watch event to the first request to the API "
                                  "server that a pass sends because of it."};
inline constexpr Metric kWait{
    "empi_operator_wait_seconds", Type::Histogram, "seconds",
    "Where time goes between an event and what is done about it: news and look (a job "
    "in its lane of the work queue), barrier (until the caches show what was deleted), "
    "limiter (requests per second and under way), api (the API server), agent (a job's agents)."};
inline constexpr Metric kQueue{"empi_operator_queue_jobs", Type::Gauge, "",
                               "Jobs by place in the work queue: ready, delayed, in_hand, failing."};
inline constexpr Metric kLongestPass{"empi_operator_longest_pass_seconds", Type::Gauge, "seconds",
                                     "How long the oldest pass that is under way has taken so far."};
inline constexpr Metric kWatchAge{"empi_operator_watch_age_seconds", Type::Gauge, "seconds",
                                  "Since the API server was last heard of on a watch."};
inline constexpr Metric kWatchFailures{"empi_operator_watch_failures_total", Type::Counter, "",
                                       "Watches and lists that failed and were tried again."};
inline constexpr Metric kRequests{
    "empi_operator_api_requests_total", Type::Counter, "",
    "Requests to the API server by verb, resource and HTTP status (0: no answer)."};
inline constexpr Metric kJobs{"empi_operator_jobs", Type::Gauge, "", "Jobs by state."};
inline constexpr Metric kImpaired{"empi_operator_impaired_jobs", Type::Gauge, "",
                                  "Jobs that are not as they were asked to be and have not ended, by "
                                  "status.reason: the gravest condition that holds."};
inline constexpr Metric kWorkers{"empi_operator_workers", Type::Gauge, "",
                                 "Workers of all jobs: desired, ready, joined."};
inline constexpr Metric kResizes{"empi_operator_resizes_total", Type::Counter, "",
                                 "Changes of size that have ended, by result."};
inline constexpr Metric kResizePhase{
    "empi_operator_resize_phase_seconds", Type::Histogram, "seconds",
    "Committed changes by phase: pods (created until ready), join (sent until "
    "committed), pause (as the application saw it)."};
inline constexpr Metric kDecisions{"empi_operator_decisions_total", Type::Counter, "",
                                   "Decisions of the autoscaler by policy, action and reason (one word "
                                   "of DecisionCause)."};
inline constexpr Metric kLeader{"empi_operator_leader", Type::Gauge, "", "1 while this process leads."};
inline constexpr Metric kQueueJobs{"empi_queue_jobs", Type::Gauge, "",
                                   "Jobs of an ElasticQueue by state: running, queued."};
inline constexpr Metric kQueueWait{
    "empi_queue_wait_seconds", Type::Histogram, "seconds",
    "How long jobs have waited in an ElasticQueue when they were given workers."};
inline constexpr Metric kCapacity{"empi_capacity_cores", Type::Gauge, "",
                                  "CPUs of a pool of an ElasticQueue by state: held, promised, free, "
                                  "unplaceable (free in pieces that are too small); foreign is beside them."};
inline constexpr Metric kResources{
    "empi_capacity_resources", Type::Gauge, "",
    "Memory and devices of a pool of an ElasticQueue that counts them, by resource (memory and huge pages in "
    "bytes, else a number) and state, as empi_capacity_cores."};
inline constexpr Metric kSchedulerPass{
    "empi_scheduler_pass_seconds", Type::Histogram, "seconds",
    "How long it takes to plan for all ElasticQueues, without the writes of "
    "their statuses."};
inline constexpr Metric kBrokenPlans{"empi_scheduler_broken_total", Type::Counter, "",
                                     "Plans for ElasticQueues that were broken off, by a defect."};
inline constexpr Metric kGrants{
    "empi_scheduler_grants_total", Type::Counter, "",
    "What an ElasticQueue has given and taken, by reason: start, backfill, promise, "
    "withdraw, yield, giveback, grow, move, migrate (to another pool), leave (a pool that has become too "
    "small)."};
inline constexpr Metric kCost{
    "empi_cost_total", Type::Counter, "",
    "What the workers of a namespace's jobs in an ElasticQueue have cost, in the unit "
    "of its prices; in CPU hours where no pool of it has one."};
inline constexpr Metric kEventsLost{
    "empi_operator_events_lost_total", Type::Counter, "",
    "Kubernetes Events that could not be written or were over an object's budget."};
}  // namespace metrics

// Counts of a fixed set of bounds; the last bucket has none.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  void observe(double value);
  const std::vector<double>& bounds() const { return bounds_; }
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0;
};

// Safe from any thread.
class OperatorMetrics {
 public:
  enum class Result { Ok, Retry, Gone, Broken };
  void reconciled(Result result, double seconds);
  void reacted(double seconds);
  enum class Wait { News, Look, Barrier, Limiter, Api, Agent };
  void waited(Wait at, std::chrono::steady_clock::duration time);
  // The job's status after a pass: counts what is new in it since the pass before.
  void look(const JobKey& key, const JobStatus& status);
  void forget(const JobKey& key);
  void planned(const PlanReport& report);
  // All queues that there are have been looked at. What is counted of one goes with it, and not before: it
  // may be unreadable or somebody else's for a while.
  void scheduled(const PassReport& pass);
  void scheduler_broken();

  struct Watched {
    std::string resource;
    double age_seconds = 0;
    std::uint64_t failures = 0;
  };
  struct Now {
    kube::WorkQueue::Stats queue;
    std::vector<Watched> watches;
    std::vector<kube::RequestCount> requests;
    bool leading = false;
    bool queues = false;  // there may be some
    double longest_pass_seconds = 0;
    std::uint64_t events_lost = 0;
  };
  std::string text(const Now& now) const;  // Prometheus text format

 private:
  static Histogram wait_histogram() {
    return Histogram({.0001, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10});
  }
  struct Seen {
    JobState state = JobState::Pending;
    std::string reason;
    int desired = 0, ready = 0, joined = 0;
    std::optional<Time> last_resize, last_decision;
  };
  struct Queue {
    bool planned = false;  // at the last pass: else nobody knows how it stands
    int running = 0, queued = 0;
    std::vector<PoolStatus> pools;
    Histogram waits{{1, 5, 15, 60, 300, 900, 3600, 14400, 43200, 86400, 259200}};
    std::array<std::uint64_t, 10> grants{};        // by queue::Grant::Kind
    std::map<std::string, double> cost, per_hour;  // of namespaces: so far, and since `counted`
    Time counted{};
  };
  void count_resize(const LastResize& resize);
  void write_queues(empi::metrics::Exposition& out) const;  // with mutex_ held

  mutable std::mutex mutex_;
  std::map<JobKey, Seen> seen_;
  std::map<std::string, Queue> queues_;
  Histogram pass_{{.0001, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1}};
  std::uint64_t broken_plans_ = 0;
  std::array<std::uint64_t, 4> results_{};
  Histogram duration_{{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}};
  std::vector<Histogram> waits_ = std::vector<Histogram>(6, wait_histogram());  // by Wait
  Histogram reaction_{{.001, .0025, .005, .01, .015, .02, .03, .04, .05, .075, .1, .25, .5, 1, 2.5, 5, 10}};
  std::map<std::string, std::uint64_t> resizes_;
  std::map<std::string, Histogram> phases_;
  std::map<std::array<std::string, 3>, std::uint64_t> decisions_;  // by policy, action, reason
};

}  // namespace emj::manager
