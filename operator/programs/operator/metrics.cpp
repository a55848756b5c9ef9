// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/operator/metrics.hpp"

#include <algorithm>
#include <ranges>

#include "operator/api/condition_types.hpp"
#include "operator/decide/queue/usage.hpp"

namespace emj::manager {
namespace {

using empi::metrics::Exposition;

Histogram phase_histogram() {
  return Histogram({.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300});
}

double seconds_of(std::int64_t millis) { return static_cast<double>(millis) * 1e-3; }

// What is promised and free already is promised. All but foreign make up the capacity.
std::array<std::pair<const char*, std::int64_t>, 5> by_state(const ResourceStatus& of) {
  const std::int64_t free = of.capacity - of.held - of.unplaceable;
  const std::int64_t promised = std::min(of.promised, std::max<std::int64_t>(0, free));
  return {{{"held", of.held},
           {"promised", promised},
           {"free", free - promised},
           {"unplaceable", of.unplaceable},
           {"foreign", of.foreign}}};
}

}  // namespace

void Histogram::observe(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  ++counts_[static_cast<std::size_t>(bucket)];
  sum_ += value;
}

void OperatorMetrics::reconciled(Result result, double seconds) {
  const std::lock_guard lock(mutex_);
  ++results_[static_cast<std::size_t>(result)];
  duration_.observe(seconds);
}

void OperatorMetrics::reacted(double seconds) {
  const std::lock_guard lock(mutex_);
  reaction_.observe(seconds);
}

void OperatorMetrics::waited(Wait at, std::chrono::steady_clock::duration time) {
  const std::lock_guard lock(mutex_);
  waits_[static_cast<std::size_t>(at)].observe(std::chrono::duration<double>(time).count());
}

void OperatorMetrics::count_resize(const LastResize& resize) {
  ++resizes_[to_string(resize.result)];
  if (resize.result != ResizeResult::Committed) return;
  const auto observe = [&](const char* phase, std::int64_t millis) {
    phases_.try_emplace(phase, phase_histogram()).first->second.observe(seconds_of(millis));
  };
  observe("pods", resize.prepared_millis);
  observe("join", resize.joined_millis);
  observe("pause", resize.paused_millis);
}

void OperatorMetrics::look(const JobKey& key, const JobStatus& status) {
  const std::lock_guard lock(mutex_);
  const bool first = !seen_.contains(key);  // what happened before this process was counted by another
  Seen& seen = seen_[key];
  seen.state = status.state;
  // Whoever waits in a queue is as it was asked to be.
  const Condition* queued = find_condition(status, condition::kQueued);
  const bool waits = queued && queued->status == "True" && queued->reason == status.reason;
  seen.reason = waits ? "" : status.reason;
  seen.desired = status.desired_replicas;
  seen.ready = status.ready_replicas;
  seen.joined = status.joined_replicas;
  // A committed change's pause is final only when it is over.
  if (status.last_resize && !status.resize && seen.last_resize != status.last_resize->completion_time) {
    seen.last_resize = status.last_resize->completion_time;
    if (!first) count_resize(*status.last_resize);
  }
  for (const DecisionRecord& decision : status.decisions) {
    if (seen.last_decision && decision.time <= *seen.last_decision) continue;
    seen.last_decision = decision.time;
    if (!first) ++decisions_[{decision.policy, to_string(decision.action), to_string(decision.cause)}];
  }
}

void OperatorMetrics::forget(const JobKey& key) {
  const std::lock_guard lock(mutex_);
  seen_.erase(key);
}

void OperatorMetrics::planned(const PlanReport& report) {
  using Kind = queue::Grant::Kind;
  const std::lock_guard lock(mutex_);
  Queue& queue = queues_[report.queue];
  queue.running = report.status.running;
  queue.queued = report.status.queued;
  queue.pools = report.status.pools;
  for (const auto& [name, price] : queue.per_hour)
    queue.cost[name] += price * std::max(0.0, seconds_between(queue.counted, report.now)) / 3600;
  queue.counted = report.now;
  queue.per_hour = queue::prices_per_hour(report.state);
  for (const queue::Grant& grant : report.plan.grants) {
    ++queue.grants[static_cast<std::size_t>(grant.kind)];
    if (grant.kind == Kind::Start || grant.kind == Kind::Backfill)
      queue.waits.observe(seconds_between(report.state.jobs[grant.job].since, report.now));
  }
}

void OperatorMetrics::scheduled(const PassReport& pass) {
  const std::lock_guard lock(mutex_);
  pass_.observe(std::chrono::duration<double>(pass.took).count());
  std::erase_if(queues_, [&](const auto& queue) { return !pass.planned.contains(queue.first); });
  for (auto& [name, queue] : queues_) queue.planned = pass.planned.at(name);
}

void OperatorMetrics::scheduler_broken() {
  const std::lock_guard lock(mutex_);
  ++broken_plans_;
}

void OperatorMetrics::write_queues(Exposition& out) const {
  const auto number = [](auto value) { return static_cast<double>(value); };
  auto planned = queues_ | std::views::filter([](const auto& entry) { return entry.second.planned; });
  out.metric(metrics::kQueueJobs);
  for (const auto& [name, queue] : planned) {
    out.sample(queue.running, {{"queue", name}, {"state", "running"}});
    out.sample(queue.queued, {{"queue", name}, {"state", "queued"}});
  }
  out.metric(metrics::kQueueWait);
  for (const auto& [name, queue] : queues_)
    out.histogram(queue.waits.bounds(), queue.waits.counts(), queue.waits.sum(), {{"queue", name}});
  out.metric(metrics::kCapacity);
  for (const auto& [name, queue] : planned)
    for (const PoolStatus& pool : queue.pools) {
      const ResourceStatus cpu{"",
                               pool.capacity_milli_cpu,
                               pool.held_milli_cpu,
                               pool.promised_milli_cpu,
                               pool.foreign_milli_cpu,
                               pool.unplaceable_milli_cpu};
      for (const auto& [state, milli] : by_state(cpu))
        out.sample(number(milli) * 1e-3, {{"queue", name}, {"pool", pool.name}, {"state", state}});
    }
  out.metric(metrics::kResources);
  for (const auto& [name, queue] : planned)
    for (const PoolStatus& pool : queue.pools)
      for (const ResourceStatus& resource : pool.resources)
        for (const auto& [state, amount] : by_state(resource))
          out.sample(
              number(amount),
              {{"queue", name}, {"pool", pool.name}, {"resource", resource.resource}, {"state", state}});
  out.metric(metrics::kSchedulerPass);
  out.histogram(pass_.bounds(), pass_.counts(), pass_.sum());
  out.metric(metrics::kBrokenPlans);
  out.sample(number(broken_plans_));
  out.metric(metrics::kGrants);
  constexpr std::array kReasons{"start",    "backfill", "promise", "withdraw", "yield",
                                "giveback", "grow",     "move",    "migrate",  "leave"};
  for (const auto& [name, queue] : queues_)
    for (std::size_t kind = 0; kind < kReasons.size(); ++kind)
      out.sample(number(queue.grants[kind]), {{"queue", name}, {"reason", kReasons[kind]}});
  out.metric(metrics::kCost);
  for (const auto& [name, queue] : queues_)
    for (const auto& [who, cost] : queue.cost) out.sample(cost, {{"queue", name}, {"namespace", who}});
}

std::string OperatorMetrics::text(const Now& now) const {
  const auto number = [](auto value) { return static_cast<double>(value); };
  const std::lock_guard lock(mutex_);
  Exposition out({});
  out.metric(metrics::kReconciles);
  for (std::size_t i = 0; i < results_.size(); ++i)
    out.sample(number(results_[i]), {{"result", std::array{"ok", "retry", "gone", "broken"}[i]}});
  out.metric(metrics::kReconcileDuration);
  out.histogram(duration_.bounds(), duration_.counts(), duration_.sum());
  out.metric(metrics::kReaction);
  out.histogram(reaction_.bounds(), reaction_.counts(), reaction_.sum());
  out.metric(metrics::kWait);
  constexpr std::array kAt{"news", "look", "barrier", "limiter", "api", "agent"};
  for (std::size_t at = 0; at < kAt.size(); ++at)
    out.histogram(waits_[at].bounds(), waits_[at].counts(), waits_[at].sum(), {{"at", kAt[at]}});
  out.metric(metrics::kQueue);
  out.sample(number(now.queue.ready), {{"place", "ready"}});
  out.sample(number(now.queue.delayed), {{"place", "delayed"}});
  out.sample(number(now.queue.in_hand), {{"place", "in_hand"}});
  out.sample(number(now.queue.failing), {{"place", "failing"}});
  out.metric(metrics::kLongestPass);
  out.sample(now.longest_pass_seconds);
  out.metric(metrics::kWatchAge);
  for (const Watched& watch : now.watches) out.sample(watch.age_seconds, {{"resource", watch.resource}});
  out.metric(metrics::kWatchFailures);
  for (const Watched& watch : now.watches) out.sample(number(watch.failures), {{"resource", watch.resource}});
  out.metric(metrics::kRequests);
  for (const kube::RequestCount& request : now.requests)
    out.sample(
        number(request.count),
        {{"verb", request.verb}, {"resource", request.resource}, {"status", std::to_string(request.status)}});
  out.metric(metrics::kJobs);
  for (const JobState state :
       {JobState::Queued, JobState::Pending, JobState::Starting, JobState::Running, JobState::Resizing,
        JobState::Suspended, JobState::Succeeded, JobState::Failed})
    out.sample(number(std::count_if(seen_.begin(), seen_.end(),
                                    [&](const auto& entry) { return entry.second.state == state; })),
               {{"state", to_string(state)}});
  int desired = 0, ready = 0, joined = 0;
  std::map<std::string, int> impaired;
  for (const auto& [key, seen] : seen_) {
    if (is_terminal(seen.state)) continue;
    if (!seen.reason.empty()) ++impaired[seen.reason];
    desired += seen.desired;
    ready += seen.ready;
    joined += seen.joined;
  }
  out.metric(metrics::kImpaired);
  for (const auto& [reason, jobs] : impaired) out.sample(jobs, {{"reason", reason}});
  out.metric(metrics::kWorkers);
  out.sample(desired, {{"count", "desired"}});
  out.sample(ready, {{"count", "ready"}});
  out.sample(joined, {{"count", "joined"}});
  out.metric(metrics::kResizes);
  for (const auto& [result, count] : resizes_) out.sample(number(count), {{"result", result}});
  out.metric(metrics::kResizePhase);
  for (const auto& [phase, histogram] : phases_)
    out.histogram(histogram.bounds(), histogram.counts(), histogram.sum(), {{"phase", phase}});
  out.metric(metrics::kDecisions);
  for (const auto& [what, count] : decisions_)
    out.sample(number(count), {{"policy", what[0]}, {"action", what[1]}, {"reason", what[2]}});
  if (now.queues) write_queues(out);
  out.metric(metrics::kLeader);
  out.sample(now.leading ? 1 : 0);
  out.metric(metrics::kEventsLost);
  out.sample(number(now.events_lost));
  return out.text();
}

}  // namespace emj::manager
