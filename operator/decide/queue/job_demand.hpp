// SPDX-License-Identifier: Apache-2.0
// What a queue knows of a job, from the job's spec and status and nothing else: whoever reads the same
// statuses plans the same (rules Q8, Q25).
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "operator/api/queue.hpp"
#include "operator/decide/queue/demand.hpp"

namespace emj::queue {

// Why a job that wants something gets no Demand.
struct Refused {
  QueueCause cause = QueueCause::NotAdmitted;
  std::string reason;
  std::optional<Time> until;  // it is tried again then
};
struct NoWish {};  // over, suspended, or somebody else's

using Asked = std::variant<NoWish, Refused, Demand>;

// What of its pod template counts. Reading that takes longer than all the rest: once for each job that is
// handed in, not at each plan.
struct WorkerNeeds {
  Resources shape;  // of one, by the requests of its container; without any a CPU for each slot, as its pod
                    // then asks for
  std::map<std::string, std::string> node_selector;
  Devices devices{};  // of one, by name: nodes that have them may come later

  Resources taken() const;  // shape, with those that nodes are known to have
};
WorkerNeeds needs_of(const JobSpec& spec);

// Pods of a job that hold what their node has given them, with those that end: in the pool of its allocation
// (and those that are told to be in none), and in others.
struct LivingPods {
  LivingPods(int here_, std::map<std::string, int> elsewhere_ = {})  // NOLINT(google-explicit-constructor)
      : here(here_), elsewhere(std::move(elsewhere_)) {}
  int all() const;
  bool operator==(const LivingPods&) const = default;

  int here;
  std::map<std::string, int> elsewhere;  // by pool
};

// `sidecar`: what a worker takes beside its container (nothing in local
// runs). `needs` and `curve` are those of this very job; demand_of(job, ...) finds them out.
Asked demand_of(const ElasticMPIJob& job, const WorkerNeeds& needs, const std::shared_ptr<const Curve>& curve,
                const LivingPods& pods, const QueueSpec& queue, const Resources& sidecar, Time now);
Asked demand_of(const ElasticMPIJob& job, const LivingPods& pods, const QueueSpec& queue,
                const Resources& sidecar, Time now);

bool has_prices(const QueueSpec& queue);
// Of one worker for an hour; nothing where no pool of the queue has a price.
std::optional<double> worker_price(const QueueSpec& queue, const std::string& pool, const Resources& worker);

// Over the sizes that it may have; the speed is 1 at what it has, else at the reference size.
std::shared_ptr<const Curve> curve_of(const ElasticMPIJob& job, Objective objective);

// Least and most workers (rule Q15). Floor: minReplicas, or what it has where it may not be preempted or is
// rigid. Wish: what its policy asks the queue for; a size that somebody has set; else all that it may have.
struct SizeRange {
  int floor = 1;
  int wish = 1;
};
SizeRange range_of(const ElasticMPIJob& job, const QueueSpec& queue);

// How fast it is at the sizes it may have, by the order of trust (rule Q10): what was measured, from half the
// smallest to twice the largest such size; in `earlier` runs; spec.scheduling.scalability; Amdahl's law with
// 80 % at the reference size. Each continues the one before where that ends. `present`: where the speed is 1.
std::shared_ptr<const Curve> curve_over(const ElasticMPIJob& job, std::vector<int> sizes, int present,
                                        Objective objective, const LearnedModel* earlier = nullptr);
// Growth ends here: the largest of the reference size, twice the largest measured one, and the last point of
// scalability.
int trusted_size(const ElasticMPIJob& job);

// Seconds at speed 1 of `curve` that its present run has computed until `end`, at each size that it has had,
// less what its changes have cost it.
// A run that was begun anew has those since then, unless it goes on from a checkpoint. Of a size that is
// forgotten (policyState.changes are five) what its workers' seconds (status.usage) come to.
double work_done(const ElasticMPIJob& job, const Curve& curve, Time end);

// Seconds at speed 1 of `curve` and of the cores, from status.forecast, at whose size it ran until it last
// changed (of a phase of tasks after the first one: at least work_done()), or as it is `said` to take at the
// reference size on such cores, less work_done(); one that is overrun doubles (rule Q12). `speed`: of the
// cores that it has.
std::optional<double> work_left(const ElasticMPIJob& job, const Curve& curve, std::optional<double> said,
                                double speed, Time now);
// By spec.scheduling.expectedSeconds.
std::optional<double> said_seconds(const ElasticMPIJob& job);

}  // namespace emj::queue
