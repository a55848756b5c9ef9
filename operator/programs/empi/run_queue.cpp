// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/run_queue.hpp"

#include <algorithm>
#include <set>
#include <variant>

#include "operator/controller/capacity.hpp"
#include "operator/decide/queue/job_demand.hpp"
#include "operator/local/process.hpp"
#include "operator/programs/empi/manifest.hpp"
#include "runtime/base/joined.hpp"
#include "runtime/base/text.hpp"

namespace emj::cli {

namespace {

using empi::format;

constexpr char kDefaultName[] = "local";
// On one machine workers come and go within a second or two: jobs need not rest for minutes between changes.
constexpr Seconds kCooldown{10};
constexpr Seconds kRest{30};
// Its idle cores are nobody else's, so that a second is worth as many workers as there are: the 4 % of a
// cluster would leave two of four cores idle.
constexpr int kTimeValuePercent = 100;

Violation problem(std::string field, std::string reason, std::string expected) {
  return {std::move(field), std::move(reason), std::move(expected), "", 0, false};
}

// The names of queues that the jobs say.
std::set<std::string> names_of(const std::vector<ElasticMPIJob>& jobs) {
  std::set<std::string> names;
  for (const ElasticMPIJob& job : jobs)
    if (!job.spec.scheduling.queue_name.empty()) names.insert(job.spec.scheduling.queue_name);
  return names;
}

PoolSpec pool_of(int cpus) {
  PoolSpec pool;
  pool.name = "machine";
  pool.quota.cpu = Quantity{std::to_string(cpus)};
  return pool;
}

Result<ElasticQueue> queue_of_file(const std::string& file) {
  if (const auto text = read_kept_file(file)) return parse_queue_yaml(*text, file);
  return {std::vector{no_kept_file(file, "an ElasticQueue manifest")}, file};
}

std::string cpus_text(std::int64_t milli) {
  return empi::amount_text(static_cast<double>(milli) / 1000) + " CPUs";
}

}  // namespace

bool makes_queue(const QueueOptions& options, std::size_t jobs) {
  return jobs > 1 || !options.file.empty() || options.workers > 0;
}

bool wants_queue(const QueueOptions& options, const std::vector<ElasticMPIJob>& jobs) {
  return makes_queue(options, jobs.size()) || !names_of(jobs).empty();
}

Result<ElasticQueue> queue_of_run(const QueueOptions& options, const std::vector<ElasticMPIJob>& jobs,
                                  int cpus) {
  const std::set<std::string> names = names_of(jobs);
  ElasticQueue queue;
  if (options.file.empty()) {
    if (names.size() > 1)
      return {std::vector{problem("spec.scheduling.queueName",
                                  "the jobs name several queues: " + empi::joined(names),
                                  "one queue for all jobs of a run; give it by --queue FILE")}};
    queue.metadata.name = names.empty() ? kDefaultName : *names.begin();
    queue.spec.pools = {pool_of(options.workers > 0 ? options.workers : cpus)};
    queue.spec.growth.cooldown = kCooldown;
    queue.spec.growth.time_value_percent = kTimeValuePercent;
    queue.spec.moves.rest = kRest;
    return queue;
  }
  auto read = queue_of_file(options.file);
  if (!read) return read;
  queue = read.value();
  for (const std::string& name : names)
    if (name != queue.metadata.name)
      return {std::vector{problem("metadata.name",
                                  "a job names queue '" + name + "', this is '" + queue.metadata.name + "'",
                                  "the queue that all jobs of the run name")},
              options.file};
  if (queue.spec.hold != HoldMode::None)
    return {std::vector{problem("spec.hold",
                                std::string("is ") + (queue.spec.hold == HoldMode::Start ? "Start" : "All"),
                                "None: nothing would start, and a local run reads its queue once")},
            options.file};
  for (std::size_t i = 0; i < queue.spec.pools.size(); ++i) {
    PoolSpec& pool = queue.spec.pools[i];
    const bool by_nodes = pool.capacity == PoolCapacity::Nodes;
    if (i > 0 && by_nodes)
      return {std::vector{problem(format("spec.pools[%zu].capacity", i), "is Nodes",
                                  "Quota: the one machine of a local run is in the first pool")},
              options.file};
    if (i > 0 || (!by_nodes && options.workers == 0)) continue;
    // What it says beside its nodes bounds them here as there.
    const bool bounded = by_nodes && options.workers == 0 && pool.quota.cpu && amount(*pool.quota.cpu) < cpus;
    pool.capacity = PoolCapacity::Quota;
    if (!bounded) pool.quota.cpu = Quantity{std::to_string(options.workers > 0 ? options.workers : cpus)};
  }
  return Result<ElasticQueue>(queue, read.violations(), options.file);
}

Result<ElasticMPIJob> read_for_queue(const std::string& manifest, Overrides& overrides,
                                     const std::optional<ElasticQueue>& queue) {
  auto job = read_manifest(manifest, overrides);
  if (!job) return job;
  const std::string named = job.value().spec.scheduling.queue_name;
  const char* field = "spec.scheduling.queueName";
  if (!queue) {
    if (named.empty()) return job;
    return {std::vector{problem(field, "'" + named + "': this run has no queue",
                                "a run of several manifests, or one with --workers or --queue")},
            manifest};
  }
  const std::string& name = queue->metadata.name;
  if (named.empty()) {
    overrides.fields.push_back("scheduling.queueName=\"" + name + "\"");
    job = read_manifest(manifest, overrides);
    if (!job) return job;
  } else if (named != name) {
    return {std::vector{
                problem(field, "'" + named + "': this run has another queue", "'" + name + "' or nothing")},
            manifest};
  }
  const std::string why = never_starts(job.value(), *queue);
  if (why.empty()) return job;
  return {std::vector{problem("job " + job.value().metadata.name, why, "")}, manifest};
}

std::string never_starts(const ElasticMPIJob& job, const ElasticQueue& queue) {
  const auto asked = queue::demand_of(job, 0, queue.spec, {}, Time{});
  if (const auto* refused = std::get_if<queue::Refused>(&asked))
    return "queue " + queue.metadata.name + ": " + refused->reason;
  const auto* demand = std::get_if<queue::Demand>(&asked);
  if (!demand) return {};  // suspended: it does not want to start
  std::set<std::string> taken;
  const std::vector<PoolRoom> rooms = rooms_of(queue.spec, std::vector<NodeView>{}, {}, taken);
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    const auto& allowed = demand->pools;
    if (!allowed.empty() && std::ranges::find(allowed, static_cast<int>(i)) == allowed.end()) continue;
    if (queue::fits(demand->of(demand->floor), rooms[i].pool.capacity)) return {};
    largest = std::max(largest, rooms[i].pool.capacity.milli_cpu);
  }
  return format(
      "needs at least %d workers of %s, and queue %s has %s: make worker.minReplicas (worker.replicas "
      "of a rigid job) smaller, or give more by --workers",
      demand->floor, cpus_text(demand->worker.milli_cpu).c_str(), queue.metadata.name.c_str(),
      cpus_text(largest).c_str());
}

std::string unlisted_priority(const ElasticMPIJob& job, const ElasticQueue& queue) {
  const std::string& wanted = job.spec.scheduling.priority_class_name;
  if (wanted.empty()) return {};
  std::set<std::string> listed;
  for (const QueuePriority& priority : queue.spec.priorities) listed.insert(priority.name);
  if (listed.contains(wanted)) return {};
  const std::string there = listed.empty() ? "it lists none" : "it lists " + empi::joined(listed);
  return "queue " + queue.metadata.name + " does not list priority class '" + wanted +
         "', so the job has priority 0 in it (" + there + ", in spec.priorities)";
}

}  // namespace emj::cli
