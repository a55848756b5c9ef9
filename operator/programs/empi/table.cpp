// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/table.hpp"

#include <algorithm>
#include <array>

#include "operator/programs/empi/view.hpp"
#include "runtime/base/text.hpp"

namespace emj::cli {

namespace {

using empi::format;

constexpr int kSparkColumns = 24;
constexpr std::size_t kSizesKept = 4096;  // of a job, while somebody looks
constexpr std::array<const char*, 8> kHeights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

std::size_t width_of(const std::string& text) {  // in characters of UTF-8
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void add(SizeHistory& sizes, Time time, int workers) {
  if (sizes.empty() || sizes.back().workers != workers) sizes.push_back({time, workers});
}

// Of a job that has ended: when it did.
Time last_moment(const ElasticMPIJob& job, Time now) { return job.status.completion_time.value_or(now); }

// "2", "2 (4)" on its way to four, "2 +1" with one in reserve.
std::string workers_text(const JobStatus& status) {
  std::string text = std::to_string(status.joined_replicas);
  if (is_terminal(status.state)) return text;
  if (status.desired_replicas != status.joined_replicas) text += format(" (%d)", status.desired_replicas);
  if (status.standby && status.standby->ready > 0) text += format(" +%d", status.standby->ready);
  return text;
}

// What a reader would ask next.
std::string doing(const JobStatus& status) {
  if (status.resize)
    return format("%d -> %d: %s", status.resize->from, status.resize->to, to_string(status.resize->phase));
  if (status.state == JobState::Queued && status.queue && !status.queue->reason.empty())
    return status.queue->reason;
  if (!status.reason.empty()) return status.reason;
  if (is_terminal(status.state) || status.decisions.empty()) return "";
  const DecisionRecord& last = status.decisions.back();
  return std::string(to_string(last.action)) + ": " + last.reason;
}

}  // namespace

SizeHistory recorded_sizes(const ElasticMPIJob& job, Time now) {
  const JobStatus& status = job.status;
  SizeHistory sizes;
  const auto& changes = status.policy_state.changes;
  if (status.start_time && (changes.empty() || changes.front().from > 0))
    add(sizes, *status.start_time, changes.empty() ? status.joined_replicas : changes.front().from);
  for (const SizeChange& change : changes) add(sizes, change.time, change.to);
  if (!is_terminal(status.state) && status.start_time) add(sizes, now, status.joined_replicas);
  return sizes;
}

std::string sparkline(const SizeHistory& sizes, Time from, Time to, int largest, int columns) {
  std::string text;
  const auto span = std::max<std::int64_t>(1, (to - from).count());
  auto at = sizes.begin();
  int workers = 0;
  for (int column = 1; column <= columns; ++column) {
    const Time end = from + Millis(span * column / columns);
    for (; at != sizes.end() && at->time <= end; ++at) workers = at->workers;
    const int height = std::min(8, (8 * workers + largest - 1) / std::max(1, largest));
    text += height > 0 ? kHeights[static_cast<std::size_t>(height) - 1] : " ";
  }
  return text;
}

void SizesSeen::look(const std::vector<ElasticMPIJob>& jobs, Time now) {
  std::map<std::string, SizeHistory> kept;
  for (const ElasticMPIJob& job : jobs) {
    SizeHistory sizes = of(job, now);
    if (sizes.size() > kSizesKept) sizes.erase(sizes.begin());
    kept.emplace(job.metadata.uid, std::move(sizes));
  }
  by_uid_ = std::move(kept);
}

SizeHistory SizesSeen::of(const ElasticMPIJob& job, Time now) const {
  SizeHistory sizes = recorded_sizes(job, now);
  const auto seen = by_uid_.find(job.metadata.uid);
  if (seen == by_uid_.end() || seen->second.empty()) return sizes;
  // The status knows the moments of changes better, but no further back than it remembers.
  const auto& changes = job.status.policy_state.changes;
  const Time remembered = changes.empty() ? now : changes.front().time;
  SizeHistory all;
  for (const SizeAt& size : seen->second)
    if (size.time < remembered && size.time >= job.status.start_time.value_or(now))
      add(all, size.time, size.workers);
  if (all.empty()) return sizes;
  for (const SizeAt& size : sizes)
    if (size.time >= remembered) add(all, size.time, size.workers);
  return all;
}

std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - width_of(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> job_table(const std::vector<ElasticMPIJob>& jobs, const SizesSeen& seen, Time now,
                                   bool with_namespace) {
  std::vector<std::vector<std::string>> rows{
      {"NAME", "STATE", "WORKERS", "LIMITS", "EFFICIENCY", "TIME", "SIZES", "DOING"}};
  if (with_namespace) rows.front().insert(rows.front().begin(), "NAMESPACE");
  for (const ElasticMPIJob& job : jobs) {
    const JobStatus& status = job.status;
    const WorkerSpec& worker = job.spec.worker;
    const Time end = last_moment(job, now);
    const Time start = status.start_time.value_or(end);
    const auto& performance = status.performance;
    std::vector<std::string> row{
        job.metadata.name,
        to_string(status.state),
        workers_text(status),
        format("%d-%d", worker.min_replicas, worker.max_replicas),
        performance && performance->efficiency_percent ? format("%d %%", *performance->efficiency_percent)
                                                       : "",
        status.start_time ? duration_text(std::chrono::duration<double>(end - start).count()) : "",
        sparkline(seen.of(job, now), start, end, worker.max_replicas, kSparkColumns),
        doing(status)};
    if (with_namespace) row.insert(row.begin(), job.metadata.namespace_name);
    rows.push_back(std::move(row));
  }
  return aligned(rows);
}

}  // namespace emj::cli
