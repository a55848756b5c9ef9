// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/job_demand.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "operator/api/json_member.hpp"
#include "operator/api/requests.hpp"
#include "operator/decide/pass.hpp"
#include "operator/decide/policies/cost.hpp"
#include "operator/decide/queue/requests.hpp"
#include "operator/decide/queueing.hpp"
#include "runtime/base/joined.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/text.hpp"

namespace emj::queue {
namespace {

using nlohmann::json;

bool runs(const JobStatus& status) {
  return status.state == JobState::Running || status.state == JobState::Resizing;
}

int least_size(const JobSpec& spec) { return feasible_size(spec, spec.worker.min_replicas); }
int largest_size(const JobSpec& spec) { return feasible_size(spec, spec.worker.max_replicas); }

// A program that keeps its size, for as long as it runs at least.
bool keeps_its_size(const JobSpec& spec) { return spec.runtime.mode == RuntimeMode::Rigid; }

// It changes its size by a restart, and nobody has seen yet what one costs (rule Q46).
constexpr double kUnseenRestart = 120;
bool restarts_unseen(const ElasticMPIJob& job) {
  return job.spec.runtime.mode == RuntimeMode::Restartable &&
         std::ranges::none_of(job.status.policy_state.changes, [](const SizeChange& change) {
           return change.from > 0 && change.cost_seconds > 0;
         });
}

int rigid_size(const ElasticMPIJob& job) {
  if (!job.status.active_workers.empty()) return job.status.active_workers.size();
  return feasible_size(job.spec, job.spec.worker.replicas.value_or(job.spec.worker.min_replicas));
}

int allocated(const ElasticMPIJob& job) { return allocated_workers(job.status); }

std::vector<int> sizes_of(const ElasticMPIJob& job) {
  std::vector<int> sizes;
  if (keeps_its_size(job.spec)) {
    sizes.push_back(rigid_size(job));
  } else {
    for (int n = job.spec.worker.min_replicas; n <= job.spec.worker.max_replicas; ++n)
      if (is_feasible(job.spec, n)) sizes.push_back(n);
    sizes = thinned(std::move(sizes), {reference_size(job.spec), allocated(job)});
  }
  // What it has although its limits have changed since.
  const int present = allocated(job);
  if (present > 0 && std::ranges::find(sizes, present) == sizes.end())
    sizes.insert(std::ranges::lower_bound(sizes, present), present);
  return sizes;
}

bool goes_by_price(const JobSpec& spec) {
  const PolicyName policy = spec.autoscaling.policy.name;
  return policy == PolicyName::Deadline || policy == PolicyName::Budget;
}

bool stays_as_it_is(const ElasticMPIJob& job, const QueueSpec& queue) {
  return queue.preemption == Preemption::None || job.spec.scheduling.preemption == Preemption::None;
}

// Places of the pools that it names; of all but those of spot nodes where it names none.
std::vector<int> pools_of_job(const ElasticMPIJob& job, const QueueSpec& queue) {
  std::vector<int> places;
  const auto add = [&](const auto& matches) {
    for (std::size_t i = 0; i < queue.pools.size(); ++i)
      if (matches(queue.pools[i])) places.push_back(static_cast<int>(i));
  };
  for (const std::string& name : job.spec.scheduling.pools)
    add([&](const PoolSpec& pool) { return pool.name == name; });
  if (job.spec.scheduling.pools.empty()) add([](const PoolSpec& pool) { return !pool.spot; });
  // As long as nobody knows how long it takes the price is all that there is to go by (rule Q19).
  if (goes_by_price(job.spec))
    std::ranges::stable_sort(places, {}, [&](int place) {
      return amount(queue.pools[place].price) * 100 / queue.pools[place].speed_percent;
    });
  return places;
}

// Why its pods can be on none of a pool's nodes, in words: its template's labels and the pool's, which its
// pods would have as well, ask for other nodes (rule Q24), or for something that no node has.
std::optional<std::string> contradiction(const WorkerNeeds& needs, const PoolSpec& pool) {
  for (const auto& [label, value] : pool.node_selector)
    if (const auto own = needs.node_selector.find(label);
        own != needs.node_selector.end() && own->second != value)
      return "the template's nodeSelector asks for another " + label + " than the nodes of the pools have";
  for (const auto& [device, count] : needs.devices)
    if (pool.capacity == PoolCapacity::Nodes && !known_device(device))
      return "its workers ask for " + device + ", and no node has that (kubectl describe nodes: Allocatable)";
  return std::nullopt;
}

// Why it may run in none of the pools it names, in words; else nothing, and `places` keeps those that it may
// run in.
std::string leave_possible(std::vector<int>& places, const WorkerNeeds& needs, const QueueSpec& queue) {
  std::string why;
  std::erase_if(places, [&](int place) {
    const auto found = contradiction(needs, queue.pools[place]);
    if (found) why = *found;
    return found.has_value();
  });
  return places.empty() ? why : "";
}

// Why the job may use no pool of the queue.
std::string no_pool_text(const std::vector<std::string>& named, const QueueSpec& queue) {
  const std::string there = empi::joined(queue.pools, [](const PoolSpec& pool) { return pool.name; });
  if (named.empty())
    return "the queue has only pools of spot nodes, for jobs that name them: name some of " + there +
           " in spec.scheduling.pools";
  return "spec.scheduling.pools names " + empi::joined(named) + ", and the queue has " + there +
         ": name some of these, or none";
}

int priority_of(const ElasticMPIJob& job, const QueueSpec& queue) {
  for (const QueuePriority& priority : queue.priorities)
    if (priority.name == job.spec.scheduling.priority_class_name) return priority.value;
  return 0;
}

Time last_change(const ElasticMPIJob& job) {
  const auto& changes = job.status.policy_state.changes;
  Time time = changes.empty() ? Time{} : changes.back().time;
  if (job.status.allocation) time = std::max(time, job.status.allocation->time);
  return time;
}

// Its pods are on their way to another number.
bool changes_size(const ElasticMPIJob& job, int living_pods) {
  const JobStatus& status = job.status;
  if (allocated(job) == 0) return false;
  return status.resize || status.awaited || !runs(status) || status.active_workers.size() != allocated(job) ||
         living_pods != allocated(job);
}

int present_size(const ElasticMPIJob& job) {
  if (allocated(job) > 0) return allocated(job);
  return keeps_its_size(job.spec) ? rigid_size(job) : reference_size(job.spec);
}

bool sized_for(const ElasticMPIJob& job, PolicyName policy) {
  const AutoscalingSpec& autoscaling = job.spec.autoscaling;
  return autoscaling.mode == AutoscalingMode::Auto && autoscaling.policy.name == policy &&
         job.status.policy_state.paused_spec.empty();
}

// Of a job that is sized for it. What it came with is in its status: who changes a deadline later, or could
// not have met it, has no claim on others.
void fill_in_deadline(Demand& demand, const ElasticMPIJob& job) {
  const JobStatus& status = job.status;
  const auto deadline = deadline_of(job);
  if (!deadline || !sized_for(job, PolicyName::Deadline)) return;
  const Condition* risk = find_condition(status, condition::kDeadlineAtRisk);
  demand.deadline = deadline;
  demand.margin = job.spec.autoscaling.policy.deadline.margin_percent / 100.0;
  demand.deadline_counts =
      status.queue && status.queue->deadline == deadline && !(risk && risk->status == "True");
}

void fill_in_budget(Demand& demand, const ElasticMPIJob& job, Time now) {
  const auto& budget = job.spec.scheduling.budget;
  if (!budget || !sized_for(job, PolicyName::Budget)) return;
  demand.budget = amount(*budget) - (job.status.cost ? spent_until(*job.status.cost, now) : 0);
}

// Of a job that has not started, or not again.
std::string spent_text(const ElasticMPIJob& job, Time now) {
  return "its budget of " + empi::amount_text(amount(*job.spec.scheduling.budget)) +
         " is spent: earlier runs have cost " + empi::amount_text(spent_until(*job.status.cost, now)) +
         "; raise spec.scheduling.budget";
}

// It is no claim to more than it has.
int kept_by_program(const ElasticMPIJob& job, const Curve& curve) {
  const PolicyState& state = job.status.policy_state;
  if (state.program_max <= 0) return 0;
  const int least = std::min(state.program_min, state.program_max);
  return std::min(allocated(job), curve.size(curve.at_least(least)));
}

double speed_of(const QueueSpec& queue, int place) { return queue.pools[place].speed_percent / 100.0; }

// What it has of which pool. Pods that are told to be in none are in that of the allocation.
void fill_in_pools(Demand& demand, const ElasticMPIJob& job, const LivingPods& pods, const QueueSpec& queue) {
  const auto place_of = [&](const std::string& name) {
    const auto pool = std::ranges::find(queue.pools, name, &PoolSpec::name);
    return pool == queue.pools.end() ? -1 : static_cast<int>(pool - queue.pools.begin());
  };
  demand.pools = pools_of_job(job, queue);
  demand.by_price = goes_by_price(job.spec);
  demand.migrates = !keeps_its_size(job.spec) && !stays_as_it_is(job, queue);
  for (const auto& [name, count] : pods.elsewhere)
    if (const int place = place_of(name); place >= 0) demand.left.push_back({place, count});
  if (const auto& allocation = job.status.allocation)
    demand.allocation = {.workers = allocation->workers,
                         .promised = allocation->promised,
                         .pool = place_of(allocation->pool),
                         .time = allocation->time};
  const bool has_one = demand.allocation.pool >= 0 && (demand.allocation.workers > 0 || demand.lacking() > 0);
  if (has_one)
    demand.speed = speed_of(queue, demand.allocation.pool);
  else if (!demand.pools.empty())
    demand.speed = speed_of(queue, demand.pools.front());
}

Demand fill_in(const ElasticMPIJob& job, const WorkerNeeds& needs, const std::shared_ptr<const Curve>& curve,
               const LivingPods& pods, const QueueSpec& queue, const Resources& sidecar, Time now) {
  const JobStatus& status = job.status;
  Demand demand;
  demand.uid = job.metadata.uid;
  demand.name = job.metadata.name;
  demand.namespace_name = job.metadata.namespace_name;
  demand.worker = needs.taken() + sidecar;
  demand.reference = keeps_its_size(job.spec) ? rigid_size(job) : reference_size(job.spec);
  const SizeRange range = range_of(job, queue);
  demand.floor = range.floor;
  demand.wish = range.wish;
  demand.trusted = std::max(trusted_size(job), demand.floor);
  const int present = present_size(job);
  demand.curve = curve;
  demand.keeps = kept_by_program(job, *curve);
  fill_in_pools(demand, job, pods, queue);
  demand.held = std::max(allocated(job), pods.here);
  demand.resizing = changes_size(job, pods.here) || !demand.left.empty();
  demand.awaits_pods =
      status.resize ? status.resize->phase == ResizePhase::CreatingPods : status.awaited.has_value();
  demand.since = status.queue ? status.queue->since : job.metadata.creation_time.value_or(now);
  demand.started = status.start_time.value_or(last_change(job));
  demand.changed = last_change(job);
  if (status.blocked) demand.frozen_until = status.blocked->retry_after;
  demand.work_left = work_left(job, *demand.curve, said_seconds(job), demand.speed, now);
  demand.lost_seconds =
      change_cost(status.policy_state.changes, present, std::max(1, present / 2)).lost_seconds;
  if (restarts_unseen(job)) demand.lost_seconds = std::max(demand.lost_seconds, kUnseenRestart);
  if (job.spec.autoscaling.policy.name == PolicyName::Throughput)
    demand.weight = job.spec.autoscaling.policy.throughput.weight_percent / 100.0;
  if (!status.policy_state.measured.empty())
    demand.work = status.policy_state.measured.back().work_per_iteration;
  demand.priority = priority_of(job, queue);
  fill_in_deadline(demand, job);
  fill_in_budget(demand, job, now);
  demand.sized = (demand.deadline || demand.budget) && allocated(job) > 0 && status.policy_state.wish;
  return demand;
}

}  // namespace

int LivingPods::all() const {
  int sum = here;
  for (const auto& [pool, count] : elsewhere) sum += count;
  return sum;
}

Resources WorkerNeeds::taken() const {
  Resources all = shape;
  all.devices = counted(devices);
  return all;
}

WorkerNeeds needs_of(const JobSpec& spec) {
  const json pod = empi::json_text::try_parse(spec.worker.pod.document);
  const json& pod_spec = member(pod, "spec");
  const json& containers = member(pod_spec, "containers");
  const json first = containers.is_array() && !containers.empty() ? containers[0] : json();
  // A CPU for each slot, where nothing is said of that: its pod asks for it then, too.
  const bool said = request_of(first, "cpu") || request_of(pod_spec, "cpu");
  const Requests asked =
      requests_of_pod(pod_spec, {said ? 0 : 1000 * std::int64_t{spec.slots_per_worker}, 0});
  WorkerNeeds needs{asked.plain, {}, asked.devices};
  if (const json& selector = member(pod_spec, "nodeSelector"); selector.is_object())
    for (const auto& [label, value] : selector.items())
      if (value.is_string()) needs.node_selector[label] = value.get<std::string>();
  return needs;
}

bool has_prices(const QueueSpec& queue) {
  return std::ranges::any_of(queue.pools, [](const PoolSpec& of) { return amount(of.price) > 0; });
}

std::optional<double> worker_price(const QueueSpec& queue, const std::string& pool, const Resources& worker) {
  const auto found = std::ranges::find(queue.pools, pool, &PoolSpec::name);
  if (found == queue.pools.end() || !has_prices(queue)) return std::nullopt;
  return amount(found->price) * static_cast<double>(worker.milli_cpu) / 1000;
}

std::shared_ptr<const Curve> curve_of(const ElasticMPIJob& job, Objective objective) {
  return curve_over(job, sizes_of(job), present_size(job), objective);
}

SizeRange range_of(const ElasticMPIJob& job, const QueueSpec& queue) {
  if (keeps_its_size(job.spec)) return {rigid_size(job), rigid_size(job)};
  SizeRange range{least_size(job.spec),
                  feasible_size(job.spec, queue_wish(job.spec, job.status.policy_state))};
  if (stays_as_it_is(job, queue) || restarts_unseen(job)) range.floor = std::max(range.floor, allocated(job));
  // What limits have become smaller than is no reason to take more away than they say.
  range.floor = std::min(range.floor, std::max(largest_size(job.spec), 1));
  range.wish = std::max(range.wish, range.floor);
  return range;
}

std::optional<double> said_seconds(const ElasticMPIJob& job) {
  const auto& expected = job.spec.scheduling.expected;
  return expected ? std::optional(static_cast<double>(expected->count())) : std::nullopt;
}

Asked demand_of(const ElasticMPIJob& job, const LivingPods& pods, const QueueSpec& queue,
                const Resources& sidecar, Time now) {
  return demand_of(job, needs_of(job.spec), curve_of(job, rules_of(queue).objective), pods, queue, sidecar,
                   now);
}

Asked demand_of(const ElasticMPIJob& job, const WorkerNeeds& needs, const std::shared_ptr<const Curve>& curve,
                const LivingPods& pods, const QueueSpec& queue, const Resources& sidecar, Time now) {
  const JobStatus& status = job.status;
  const bool ours = !job.spec.managed_by || *job.spec.managed_by == kManagerName;
  const bool over = is_terminal(status.state) || job.metadata.deletion_time || !ours;
  if ((over || status.state == JobState::Suspended || job.spec.suspend) && pods.all() == 0 &&
      allocated(job) == 0)
    return NoWish{};
  // Else that counts, first of all; and what is promised is kept.
  const bool promised = status.allocation && status.allocation->promised > 0;
  const bool has_nothing = allocated(job) == 0 && pods.all() == 0 && !promised;
  if (!admits(queue, job.metadata.namespace_name) && has_nothing)
    return Refused{QueueCause::NotAdmitted,
                   "the queue does not take jobs of namespace " + job.metadata.namespace_name,
                   {}};
  Demand demand = fill_in(job, needs, curve, pods, queue, sidecar, now);
  if (demand.budget && *demand.budget <= 0 && has_nothing)
    return Refused{QueueCause::NotAdmitted, spent_text(job, now), {}};
  if (demand.pools.empty() && has_nothing)
    return Refused{QueueCause::NotAdmitted, no_pool_text(job.spec.scheduling.pools, queue), {}};
  const std::string nowhere = demand.pools.empty() ? "" : leave_possible(demand.pools, needs, queue);
  if (!nowhere.empty() && has_nothing) return Refused{QueueCause::NotAdmitted, nowhere, {}};
  if (over || status.state == JobState::Suspended || job.spec.suspend) {
    demand.written = false;  // what is left of it counts, and that is all
    demand.resizing = true;
  }
  return demand;
}

}  // namespace emj::queue
