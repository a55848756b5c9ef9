// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/queue_view.hpp"

#include <algorithm>
#include <map>

#include "operator/programs/empi/view.hpp"
#include "runtime/base/text.hpp"

namespace emj::cli {

namespace {

using empi::amount_text;
using empi::format;

std::string cpus(std::int64_t milli) { return amount_text(static_cast<double>(milli) / 1000); }

std::string waited_text(Time since, Time now) {
  return duration_text(std::chrono::duration<double>(now - since).count());
}

std::string sizes_of(const ElasticMPIJob& job) {
  const AllocationStatus& allocation = *job.status.allocation;
  std::string text = format("%d workers", job.status.joined_replicas);
  if (allocation.workers != job.status.joined_replicas) text += format(" -> %d", allocation.workers);
  const WorkerSpec& worker = job.spec.worker;
  if (is_malleable(job.spec.runtime)) text += format(" (%d to %d)", worker.min_replicas, worker.max_replicas);
  return text;
}

std::string name_of(const ElasticMPIJob& job, bool namespaces) {
  return namespaces ? job.metadata.namespace_name + "/" + job.metadata.name : job.metadata.name;
}

std::string running_line(const ElasticMPIJob& job, Time now, bool namespaces) {
  std::string text =
      "  " + name_of(job, namespaces) + "  " + to_string(job.status.state) + "  " + sizes_of(job);
  if (job.status.start_time) text += "  " + waited_text(*job.status.start_time, now);
  const std::string& reason = job.status.allocation->reason;
  return reason.empty() ? text : text + "  " + reason;
}

// The queue's words are newer than the job's: those are written when the kind of reason changes.
std::string waiting_line(const ElasticMPIJob& job, const QueueStatus& queue, Time now, bool namespaces) {
  const WaitStatus wait = job.status.queue.value_or(WaitStatus{});
  std::string reason = wait.reason;
  std::optional<Time> start = wait.expected_start;
  for (const WaitingJob& head : queue.head) {
    if (head.name != job.metadata.name || head.namespace_name != job.metadata.namespace_name) continue;
    reason = head.reason;
    start = head.expected_start;
  }
  std::string text = "  " + name_of(job, namespaces) + "  " + to_string(job.status.state);
  if (job.status.queue) text += "  waits " + waited_text(wait.since, now);
  if (!reason.empty()) text += "  " + reason;
  if (start) text += "; about " + clock_text(*start, now);
  return text;
}

bool has_workers(const ElasticMPIJob& job) {
  return job.status.allocation && job.status.allocation->workers > 0;
}

std::size_t place_in(const QueueStatus& queue, const ElasticMPIJob& job) {
  const auto place = std::ranges::find_if(queue.head, [&](const WaitingJob& waiting) {
    return waiting.name == job.metadata.name && waiting.namespace_name == job.metadata.namespace_name;
  });
  return static_cast<std::size_t>(place - queue.head.begin());
}

// "; memory 12 of 16 GiB, nvidia.com/gpu 2 of 4" of the pools that count them.
std::string resources_text(const QueueStatus& status) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> amounts;  // held, of which capacity
  for (const PoolStatus& pool : status.pools)
    for (const ResourceStatus& resource : pool.resources) {
      amounts[resource.resource].first += resource.held;
      amounts[resource.resource].second += resource.capacity;
    }
  std::string text;
  for (const auto& [name, amount] : amounts) {
    const auto& [held, capacity] = amount;
    constexpr double kGibi = 1 << 30;
    text += (text.empty() ? "; " : ", ") + name;
    if (name == "memory" || name.starts_with("hugepages-"))
      text += " " + amount_text(static_cast<double>(held) / kGibi) + " of " +
              amount_text(static_cast<double>(capacity) / kGibi) + " GiB";
    else
      text += format(" %lld of %lld", static_cast<long long>(held), static_cast<long long>(capacity));
  }
  return text;
}

}  // namespace

std::string queue_line(const ElasticQueue& queue) {
  std::int64_t capacity = 0, held = 0, promised = 0;
  for (const PoolStatus& pool : queue.status.pools) {
    capacity += pool.capacity_milli_cpu;
    held += pool.held_milli_cpu;
    promised += pool.promised_milli_cpu;
  }
  std::string text =
      "queue " + queue.metadata.name + "  " + cpus(held) + " of " + cpus(capacity) + " CPUs held";
  if (promised > 0) text += ", " + cpus(promised) + " promised";
  text += resources_text(queue.status);
  const int running = queue.status.running, queued = queue.status.queued;
  return text + format("; %d job%s, %d wait%s", running, running == 1 ? " runs" : "s run", queued,
                       queued == 1 ? "s" : "");
}

std::vector<std::string> queue_lines(const ElasticQueue& queue, const std::vector<ElasticMPIJob>& jobs,
                                     Time now, bool namespaces) {
  std::vector<const ElasticMPIJob*> waiting;
  std::vector<std::string> lines{queue_line(queue)};
  for (const ElasticMPIJob& job : jobs) {
    if (job.spec.scheduling.queue_name != queue.metadata.name || is_terminal(job.status.state)) continue;
    if (has_workers(job))
      lines.push_back(running_line(job, now, namespaces));
    else
      waiting.push_back(&job);
  }
  std::ranges::stable_sort(waiting, {},
                           [&](const ElasticMPIJob* job) { return place_in(queue.status, *job); });
  for (const ElasticMPIJob* job : waiting) lines.push_back(waiting_line(*job, queue.status, now, namespaces));
  return lines;
}

}  // namespace emj::cli
