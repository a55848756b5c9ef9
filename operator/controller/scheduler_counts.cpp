// SPDX-License-Identifier: Apache-2.0
// What a pass over one queue counts before it plans: the demands of its jobs, and what is not theirs to have.
#include <algorithm>

#include "operator/controller/scheduler.hpp"
#include "operator/decide/queue/ledger.hpp"
#include "operator/decide/queue/pools.hpp"
#include "operator/decide/queue/quota.hpp"
#include "runtime/base/joined.hpp"

namespace emj {
namespace {

// What was given out counts as if the job had it already. Pods in another pool than that are to leave it.
void count_given(queue::Demand& demand, const AllocationStatus& given, const QueueSpec& spec) {
  const auto pool = std::ranges::find(spec.pools, given.pool, &PoolSpec::name);
  const int place = pool == spec.pools.end() ? -1 : static_cast<int>(pool - spec.pools.begin());
  const int before = demand.allocation.pool;
  if (before >= 0 && before != place && demand.held > 0) {
    demand.left.push_back({before, demand.held});
    demand.held = 0;
  }
  demand.allocation = {
      .workers = given.workers, .promised = given.promised, .pool = place, .time = given.time};
  demand.held = std::max(demand.held, given.workers);
}

// Those that count its pods, as places in the list.
std::vector<int> quotas_of(const std::vector<NamespaceQuota>& quotas, const ElasticMPIJob& job) {
  std::vector<int> counting;
  for (int i = 0; i < static_cast<int>(quotas.size()); ++i)
    if (counts_pods(quotas[i], job.metadata.namespace_name, job.spec.scheduling.priority_class_name))
      counting.push_back(i);
  return counting;
}

// For people, after words that `spec` does not take jobs of this namespace.
std::string who_else_admits(const std::vector<QueueRecord>& records, const QueueSpec& spec,
                            const JobKey& job) {
  if (admits(spec, job.namespace_name)) return "";
  std::vector<std::string> names;
  for (const QueueRecord& record : records)
    if (record.unreadable.empty() && admits(record.queue.spec, job.namespace_name))
      names.push_back(record.queue.metadata.name);
  return names.empty() ? ", nor does any other: its name is to be added to spec.namespaces of one"
                       : "; these do: " + empi::joined(names) + " (spec.scheduling.queueName)";
}

}  // namespace

// It is not taken from those that run, or are promised something.
void Scheduler::hide_unplaceable(Round& round) {
  queue::QueueState& state = round.state;
  const auto ledgers = queue::make_ledgers(state);
  for (std::size_t p = 0; p < round.rooms.size(); ++p) {
    const queue::Resources hidden =
        queue::smaller(unplaceable_.of(round.record.queue.metadata.name, state.pools[p].name, round.now),
                       queue::positive(queue::to_come(ledgers[p]) - ledgers[p].promised));
    state.pools[p].unplaceable = round.rooms[p].unplaceable = hidden;
  }
}

// What jobs of other queues were given, or are promised, and have not made use of yet.
void Scheduler::count_others_in_quotas(Round& round) {
  for (const auto& [key, known] : jobs_) {
    const SeenJob& seen = known.seen;
    if (seen->job.spec.scheduling.queue_name == round.record.queue.metadata.name) continue;
    const auto given = outstanding_.find(key);
    const auto& allocation =
        given == outstanding_.end() ? seen->job.status.allocation : std::optional(given->second.allocation);
    if (!allocation) continue;
    queue::Demand other;
    other.worker = seen->needs->taken() + options_.sidecar;
    other.quotas = quotas_of(round.quotas, seen->job);
    queue::take(round.state.quotas, other,
                std::max(0, std::max(allocation->workers, allocation->promised) - seen->pods.here));
  }
}

// Each pod counts once: with its job, if that has a say in this queue, else here. Whoever may make pods may
// write any label into them: those of other namespaces than the queue's take nothing from it. Those of a job
// that is there and was never seen, since it cannot be read, are not on their way out.
void Scheduler::count_departing(Round& round) {
  const ElasticQueue& queue = round.record.queue;
  const std::vector<PoolSpec>& pools = queue.spec.pools;
  for (const WorkerPods& pods : round.workers) {
    if (pods.queue != queue.metadata.name || round.jobs.contains(pods.job)) continue;
    if (!admits(queue.spec, pods.namespace_name)) continue;
    const auto pool = std::ranges::find(pools, pods.pool, &PoolSpec::name);
    if (pool == pools.end()) continue;
    const bool unseen = std::ranges::none_of(
        jobs_, [&](const auto& entry) { return entry.second.seen->job.metadata.uid == pods.job; });
    round.state.departing.push_back({static_cast<int>(pool - pools.begin()), pods.requests,
                                     unseen && cluster_.is_in_queue(pods.job, pods.queue)});
  }
}

void Scheduler::add_demand(Round& round, const JobKey& key, Known& known) {
  const QueueSpec& spec = round.record.queue.spec;
  const SeenJob& seen = known.seen;
  const JobStatus& status = seen->job.status;
  const queue::Objective objective = round.state.rules.objective;
  if (!known.curve || known.objective != objective) {
    known.curve = queue::curve_of(seen->job, objective);
    known.objective = objective;
  }
  auto asked =
      queue::demand_of(seen->job, *seen->needs, known.curve, seen->pods, spec, options_.sidecar, round.now);
  if (std::holds_alternative<queue::NoWish>(asked)) return;
  const auto given = outstanding_.find(key);
  if (const auto* refused = std::get_if<queue::Refused>(&asked)) {
    if (given == outstanding_.end())
      return tell(seen, refused->cause, refused->reason + who_else_admits(round.records, spec, key));
    // What it was given before counts: it may have been taken by now.
    ElasticMPIJob job = seen->job;
    job.status.allocation = given->second.allocation;
    asked = queue::demand_of(job, *seen->needs, known.curve, seen->pods, spec, options_.sidecar, round.now);
  }
  auto* demand = std::get_if<queue::Demand>(&asked);
  if (!demand) return;
  lessons_.teach(*demand, seen->job, seen->model_key, taken_.at(round.record.queue.metadata.name).status,
                 round.state.rules.objective, round.now);
  if (given != outstanding_.end()) {
    count_given(*demand, given->second.allocation, spec);
    demand->written = false;
    demand->resizing = true;
  } else if (status.queue && status.queue->retry_after && round.now < *status.queue->retry_after) {
    // It keeps its place, and is passed over meanwhile.
    demand->frozen_until = std::max(demand->frozen_until, *status.queue->retry_after);
    if (demand->queued()) demand->written = false;
    wake(*status.queue->retry_after);
  }
  queue::keep_to_goals(*demand, round.state.pools, round.now);
  demand->quotas = quotas_of(round.quotas, seen->job);
  demand->unmade = std::max(0, demand->allocation.workers - seen->pods.here);
  // What runs in a pool that the queue has no more keeps what it has, and is nobody's affair.
  if (!demand->queued() && demand->allocation.pool < 0) return;
  demand->free_only = unplaceable_.twice(key, round.record.queue.metadata.name, round.state.pools);
  round.jobs[demand->uid] = seen;
  round.state.jobs.push_back(std::move(*demand));
}

}  // namespace emj
