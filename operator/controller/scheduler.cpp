// SPDX-License-Identifier: Apache-2.0
#include "operator/controller/scheduler.hpp"

#include <algorithm>

#include "operator/controller/queue_books.hpp"
#include "operator/decide/queue/explain.hpp"
#include "operator/decide/queue/plan.hpp"

namespace emj {
namespace {

std::int64_t version_of(const ElasticMPIJob& job) {
  return job.status.allocation ? job.status.allocation->sequence : 0;
}

// Those that hold what their node has given them, and their queue. Of a queue that the job has left they are
// that queue's affair.
queue::LivingPods living(const ElasticMPIJob& job, const std::vector<PodView>& pods) {
  const std::string own = job.status.allocation ? job.status.allocation->pool : "";
  queue::LivingPods count(0);
  for (const PodView& pod : pods) {
    const bool of_another = !pod.queue.empty() && pod.queue != job.spec.scheduling.queue_name;
    if (has_ended(pod) || of_another) continue;
    ++(pod.pool.empty() || pod.pool == own ? count.here : count.elsewhere[pod.pool]);
  }
  return count;
}

bool counts_nodes(const QueueRecord& record) {
  return std::ranges::any_of(record.queue.spec.pools,
                             [](const PoolSpec& pool) { return pool.capacity == PoolCapacity::Nodes; });
}

std::string full_name(const queue::Demand& job) { return job.namespace_name + "/" + job.name; }

}  // namespace

// --- news ------------------------------------------------------------------------------------------

Scheduler::Scheduler(QueueCluster& cluster, Clock clock, Log log, SchedulerOptions options)
    : cluster_(cluster), clock_(std::move(clock)), log_(std::move(log)), options_(std::move(options)) {
  due_ = clock_();
}

void Scheduler::wake_at(Time time) {
  if (due_ && *due_ <= time) return;
  due_ = time;
  woken_.notify_all();
}

// Of those that were expected, this is known now.
void Scheduler::seen_first(const JobKey& key, Time now) {
  if (expected_.erase(key) > 0 && expected_.empty()) wake_at(now);
}

void Scheduler::saw(const ElasticMPIJob& job, const std::vector<PodView>& pods) {
  const JobKey key = key_of(job);
  if (job.spec.scheduling.queue_name.empty()) return gone(key);
  queue::LivingPods count = living(job, pods);
  SeenJob before;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = latest_.find(key); known != latest_.end()) before = known->second;
  }
  const Time now = clock_();
  if (before && before->pods == count && before->job == job) {
    const std::lock_guard lock(mutex_);
    return seen_first(key, now);
  }
  // Reading a template takes longer than all the rest.
  const bool same = before && before->job.spec.worker.pod == job.spec.worker.pod &&
                    before->job.spec.slots_per_worker == job.spec.slots_per_worker;
  auto needs = same ? before->needs : std::make_shared<const queue::WorkerNeeds>(queue::needs_of(job.spec));
  std::string model_key = same && before->job.spec.scheduling.model == job.spec.scheduling.model
                              ? before->model_key
                              : queue::model_key(job.spec);
  const SeenJob seen =
      std::make_shared<const Seen>(Seen{job, std::move(count), std::move(needs), std::move(model_key)});
  const std::lock_guard lock(mutex_);
  seen_first(key, now);
  latest_[key] = seen;
  inbox_[key] = seen;
  wake_at(now + options_.gather);
}

void Scheduler::gone(const JobKey& key) {
  const Time now = clock_();
  const std::lock_guard lock(mutex_);
  seen_first(key, now);
  if (latest_.erase(key) == 0) return;
  inbox_[key] = nullptr;
  wake_at(now + options_.gather);
}

void Scheduler::unreadable(const JobKey& key) {
  const Time now = clock_();
  const std::lock_guard lock(mutex_);
  seen_first(key, now);
}

void Scheduler::expect(const std::vector<JobKey>& jobs) {
  const std::lock_guard lock(mutex_);
  for (const JobKey& key : jobs)
    if (!latest_.contains(key)) expected_.insert(key);
}

void Scheduler::news() {
  const Time now = clock_();
  const std::lock_guard lock(mutex_);
  wake_at(now + options_.gather);
}

// --- the thread ------------------------------------------------------------------------------------

Time Scheduler::turn() {
  const Time now = clock_();
  {
    const std::lock_guard lock(mutex_);
    if (!expected_.empty()) {
      due_.reset();  // the last one of them is news
      return now + options_.steady;
    }
    if (due_ && now < *due_) return *due_;
    due_.reset();
  }
  Time next = now + options_.steady;
  unbroken("the plan for all queues", [&] { next = plan(now); });
  const std::lock_guard lock(mutex_);
  wake_at(next);
  return *due_;
}

// What one job or one queue is the undoing of costs the others nothing.
template <class Do>
void Scheduler::unbroken(const std::string& what, const Do& act) {
  try {
    act();
    defects_.erase(what);
  } catch (const std::exception& error) {
    if (std::exchange(defects_[what], error.what()) != error.what())
      log_("a defect of the operator has broken off " + what + ": " + error.what());
    if (options_.broken) options_.broken();
  }
}

void Scheduler::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Time next = turn();
    std::unique_lock lock(mutex_);
    if (due_ && *due_ < next) continue;
    // News move due_; a clock that jumps is looked at each `steady` at the latest.
    const Millis wait = std::clamp<Millis>(next - clock_(), Millis(1), options_.steady);
    woken_.wait_for(lock, stop, wait, [&] { return due_ && *due_ < next; });
  }
}

void Scheduler::forget(const JobKey& key) {
  if (const auto known = jobs_.find(key); known != jobs_.end()) {
    grants_.erase(known->second.seen->job.metadata.uid);
    lessons_.forget(known->second.seen->job.metadata.uid);
    jobs_.erase(known);
  }
  outstanding_.erase(key);
  releasing_.erase(key);
  unplaceable_.forget(key);
}

void Scheduler::take_news(Time now) {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [key, seen] : inbox_) news_[key] = std::move(seen);
    inbox_.clear();
  }
  while (!news_.empty()) {
    const auto news = news_.extract(news_.begin());
    unbroken("what there is to know of job " + news.key().namespace_name + "/" + news.key().name,
             [&] { take(news.key(), news.mapped(), now); });
  }
}

// What it has counts first: it is in use, whatever is to be learned of it.
void Scheduler::take(const JobKey& key, const SeenJob& seen, Time now) {
  const auto known = jobs_.find(key);
  SeenJob before = known == jobs_.end() ? nullptr : known->second.seen;
  if (before && seen && before->job.metadata.uid != seen->job.metadata.uid) before = nullptr;
  if (!seen || (!before && known != jobs_.end())) forget(key);
  if (!seen) return;
  jobs_[key] = {seen};
  const auto given = outstanding_.find(key);
  if (given != outstanding_.end() && version_of(seen->job) >= given->second.allocation.sequence)
    outstanding_.erase(given);
  if (before) {
    unplaceable_.note(key, before->job, seen->job, seen->needs->taken() + options_.sidecar, now);
    learn(before->job, seen->job);
  }
  note_release(key, *seen, now);
}

void Scheduler::note_release(const JobKey& key, const Seen& seen, Time now) {
  const auto release = releasing_.find(key);
  const auto& allocation = seen.job.status.allocation;
  if (release == releasing_.end() || outstanding_.contains(key) || !allocation) return;
  const bool called_off = allocation->workers > release->second.workers;
  if (!called_off && seen.pods.all() > allocation->workers) return;
  const auto taken = taken_.find(seen.job.spec.scheduling.queue_name);
  if (!called_off && taken != taken_.end())
    count_release(taken->second.status, seconds_between(release->second.since, now));
  releasing_.erase(release);
}

// What the job has measured, and how it has ended.
void Scheduler::learn(const ElasticMPIJob& before, const ElasticMPIJob& now) {
  const auto taken = taken_.find(now.spec.scheduling.queue_name);
  if (taken == taken_.end()) return;
  QueueStatus& status = taken->second.status;
  queue::learn_points(status.models, now);
  if (is_terminal(now.status.state) && !is_terminal(before.status.state))
    queue::learn_end(status, before, now);
}

Time Scheduler::plan(Time now) {
  const auto begin = std::chrono::steady_clock::now();
  writing_ = {};
  take_news(now);
  wake_.reset();
  std::vector<QueueRecord> records = cluster_.queues();
  std::ranges::sort(records, {}, [](const QueueRecord& r) { return r.queue.metadata.name; });
  const auto nodes = cluster_.nodes();
  const auto foreign =  // else much to look at for nothing
      std::ranges::any_of(records, counts_nodes) ? cluster_.foreign() : std::vector<ForeignPod>();
  const std::vector<NamespaceQuota> quotas = cluster_.quotas();
  const std::vector<WorkerPods> workers = cluster_.workers();
  std::set<std::string> counted;  // nodes
  PassReport report;
  for (const QueueRecord& record : records) {
    const std::string& name = record.queue.metadata.name;
    report.planned[name] = false;
    if (!record.unreadable.empty()) {
      // Its jobs still are on its nodes, or were promised them.
      if (const auto known = specs_.find(name); known != specs_.end())
        rooms_of(known->second, nodes, {}, counted, name);
      if (!record.others) tell_unreadable(record);
      continue;
    }
    troubles_.erase(name);
    specs_[name] = record.queue.spec;
    auto rooms = rooms_of(record.queue.spec, nodes, foreign, counted, name);
    if (!take_queue(record, now)) continue;
    report.planned[name] = true;
    Round round(record, records, quotas, workers, std::move(rooms), now);
    unbroken("the plan for queue " + name, [&] { plan_queue(round); });
  }
  tell_without_queue(records);
  const auto deleted = [&](const auto& entry) {
    return std::ranges::none_of(records,
                                [&](const QueueRecord& r) { return r.queue.metadata.name == entry.first; });
  };
  std::erase_if(taken_, deleted);  // nothing is gone on from
  std::erase_if(troubles_, deleted);
  std::erase_if(specs_, deleted);
  report.took = std::chrono::steady_clock::now() - begin - writing_;
  if (options_.pass) options_.pass(report);
  return std::min(now + options_.steady, wake_.value_or(Time::max()));
}

// Its status is no longer as we have written it, so it is taken anew when it can be read again.
void Scheduler::tell_unreadable(const QueueRecord& record) {
  const std::string& name = record.queue.metadata.name;
  taken_.erase(name);
  const Outcome told = cluster_.tell_unreadable(record);
  std::string trouble = record.unreadable;
  if (!told.ok() && told.kind != Outcome::Kind::Conflict) trouble += "; telling so: " + told.message;
  std::string& before = troubles_[name];
  if (trouble != before) log_("queue " + name + " cannot be read, its jobs are left as they are: " + trouble);
  before = std::move(trouble);
}

// The server may take its time, which says nothing of that of a plan.
Outcome Scheduler::write(const ElasticQueue& read, const QueueStatus& status) {
  const auto begin = std::chrono::steady_clock::now();
  Outcome outcome = cluster_.write_queue_status(read, status);
  writing_ += std::chrono::steady_clock::now() - begin;
  return outcome;
}

// A scheduler before this one may still be writing: after this write it is refused (rule Q27).
bool Scheduler::take_queue(const QueueRecord& record, Time now) {
  const std::string& name = record.queue.metadata.name;
  const std::int64_t fence = record.queue.status.fence;
  if (const auto found = taken_.find(name);
      found != taken_.end() && found->second.uid == record.queue.metadata.uid) {
    Taken& taken = found->second;
    if (fence <= taken.status.fence) return true;
    if (taken.newer_fence != fence) {
      log_("queue " + name + ": another operator has taken it");
      taken.newer_fence = fence;
      taken.newer_since = now;
    }
    if (now - taken.newer_since < options_.overtaken) return false;
  }
  QueueStatus status = record.queue.status;
  ++status.fence;
  const Outcome outcome = write(record.queue, status);
  if (!outcome.ok()) {
    if (outcome.kind != Outcome::Kind::Conflict) log_("queue " + name + ": taking it: " + outcome.message);
    wake(now + options_.gather);
    return false;
  }
  taken_[name] = {record.queue.metadata.uid, status, status, {}};
  return true;
}

void Scheduler::plan_queue(Round& round) {
  const ElasticQueue& queue = round.record.queue;
  QueueStatus& status = taken_.at(queue.metadata.name).status;
  queue::QueueState& state = round.state;
  state.rules = queue::rules_of(queue.spec);
  for (const PoolRoom& room : round.rooms) state.pools.push_back(room.pool);
  for (const NamespaceQuota& quota : round.quotas) state.quotas.push_back(left_of(quota));
  count_others_in_quotas(round);
  unplaceable_.compare(queue.metadata.name, state.pools, round.now);
  for (auto& [key, known] : jobs_)
    if (known.seen->job.spec.scheduling.queue_name == queue.metadata.name) add_demand(round, key, known);
  count_departing(round);
  std::ranges::sort(state.jobs, [](const queue::Demand& a, const queue::Demand& b) {
    return a.since != b.since ? a.since < b.since : a.uid < b.uid;
  });
  hide_unplaceable(round);
  count_use(status, state, round.now);
  for (const NamespaceUsage& usage : status.usage) state.usage[usage.namespace_name] = usage.cpu_hours;
  state.busy = status.busy_percent / 100;
  state.release_seconds = release_seconds(status);
  const queue::Plan plan = queue::schedule(state, round.now);
  give(round, plan);
  tell_waiting(round, plan);
  write_status(round, plan);
  if (options_.planned) options_.planned({queue.metadata.name, status, state, plan, round.now});
  if (plan.wake) wake(*plan.wake);
}

void Scheduler::give(Round& round, const queue::Plan& plan) {
  using Kind = queue::Grant::Kind;
  for (const queue::Grant& grant : plan.grants) {
    const queue::Demand& demand = round.state.jobs[grant.job];
    const SeenJob& seen = round.jobs.at(demand.uid);
    const JobKey key = key_of(seen->job);
    AllocationStatus allocation;
    allocation.workers = grant.allocation.workers;
    allocation.promised = grant.allocation.promised;
    if (grant.allocation.pool >= 0) {
      allocation.pool = round.state.pools[grant.allocation.pool].name;
      const int speed = round.record.queue.spec.pools[grant.allocation.pool].speed_percent;
      if (speed != 100) allocation.speed_percent = speed;
      allocation.price_per_worker_hour =
          queue::worker_price(round.record.queue.spec, allocation.pool, demand.worker);
    }
    allocation.sequence = version_of(seen->job) + 1;
    allocation.time = grant.allocation.time;
    allocation.reason = explain(round.state, grant, round.now);
    if (grant.kind == Kind::Yield && grant.other >= 0)
      allocation.yields_to = full_name(round.state.jobs[grant.other]);
    if (grant.allocation.workers < demand.allocation.workers)
      releasing_.try_emplace(key, Release{round.now, 0}).first->second.workers = grant.allocation.workers;
    log_(key.namespace_name + "/" + key.name + ": Granted: " + allocation.reason);
    grants_.set(demand.uid, {allocation, QueueCause::Unknown, "", {}});
    outstanding_[key] = {std::move(allocation), demand.uid};
    cluster_.look_at(key);
  }
}

}  // namespace emj
