// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/view.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/base/joined.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/text.hpp"

namespace emj::cli {

namespace {

using empi::format;
using empi::seconds_text;

std::string resize_text(const ResizeStatus& resize) {
  return std::to_string(resize.from) + " -> " + std::to_string(resize.to) + " workers, " +
         to_string(resize.phase);
}

}  // namespace

std::string duration_text(double seconds) {
  const long total = std::lround(std::max(0.0, seconds));
  if (total >= 3600) return format("%ld:%02ld:%02ld", total / 3600, total / 60 % 60, total % 60);
  return format("%ld:%02ld", total / 60, total % 60);
}

std::string clock_text(Time time) { return to_string(time).substr(11, 8); }

std::string clock_text(Time time, Time now) {
  const std::string text = to_string(time);
  const bool today = text.substr(0, 10) == to_string(now).substr(0, 10);
  return today ? text.substr(11, 8) : text.substr(0, 10) + " " + text.substr(11, 8);
}

std::string decision_text(const DecisionRecord& decision) {
  std::string text = clock_text(decision.time) + "  " + to_string(decision.action) + "  " + decision.reason;
  if (decision.achieved_seconds && decision.predicted_seconds)
    text += " (predicted " + seconds_text(*decision.predicted_seconds) + ", measured " +
            seconds_text(*decision.achieved_seconds) + ")";
  return text;
}

std::string tasks_text(const TaskStatus& tasks) {
  std::string text = format("phase %lld: %lld of %lld tasks done, %lld queued",
                            static_cast<long long>(tasks.phase), static_cast<long long>(tasks.done),
                            static_cast<long long>(tasks.total), static_cast<long long>(tasks.queued));
  if (tasks.predicted_finish) text += ", done at about " + clock_text(*tasks.predicted_finish);
  return text;
}

std::string emulation_text(const JobSpec& spec) {
  if (!spec.local) return "";
  const LocalSpec& local = *spec.local;
  std::vector<std::string> parts;
  if (local.slowdown_factor > 1)
    parts.push_back(format("ranks %gx slower by sleeping", local.slowdown_factor));
  const std::size_t of_ranks = parts.size();
  if (local.network_delay_microseconds > 0)
    parts.push_back(format("network delay %d us", local.network_delay_microseconds));
  if (local.network_megabits_per_second > 0)
    parts.push_back(format("network limited to %d Mbit/s", local.network_megabits_per_second));
  if (parts.empty()) return "";
  const bool in_calls = parts.size() > of_ranks && local.network_emulation == LocalEmulation::Calls;
  return "emulated: " + empi::joined(parts) + (in_calls ? " (slept in each call of MPI)" : "");
}

void RemainingTime::add(double time_s, double progress) {
  if (!points_.empty() && progress < points_.back().second) points_.clear();  // started anew
  points_.emplace_back(time_s, progress);
  while (points_.size() > 2 && points_.front().first < time_s - 60) points_.pop_front();
}

std::optional<double> RemainingTime::seconds() const {
  if (points_.size() < 2) return std::nullopt;
  const double time = points_.back().first - points_.front().first;
  const double gained = points_.back().second - points_.front().second;
  if (time <= 0 || gained <= 0) return std::nullopt;
  return (1 - points_.back().second) * time / gained;
}

std::string progress_text(const std::string& progress_json, double now_s, RemainingTime& remaining) {
  const auto progress = empi::json_text::try_parse(progress_json);
  if (!progress.is_object()) return "";
  const auto number = [&](const char* key) -> std::optional<double> {
    if (!progress.contains(key) || !progress[key].is_number()) return std::nullopt;
    return progress[key].get<double>();
  };
  // What matters most first: a terminal may be too narrow for all of it.
  std::vector<std::string> parts;
  if (const auto share = number("progress")) {
    parts.push_back(format("%.0f %%", 100 * *share));
    remaining.add(now_s, *share);
  }
  if (const auto left = remaining.seconds()) parts.push_back("about " + duration_text(*left) + " left");
  if (const auto time = number("time_s")) {
    const auto end = number("end_s");
    constexpr double day = 86400;
    if (end && *end >= 3 * day)
      parts.push_back(format("simulated %.1f of %.1f days", *time / day, *end / day));
    else
      parts.push_back("simulated " + duration_text(*time) + (end ? " of " + duration_text(*end) : ""));
  }
  if (progress.contains("phase") && progress["phase"].is_string())
    parts.push_back(progress["phase"].get<std::string>());
  if (const auto cells = number("cells")) parts.push_back(format("%.0f cells", *cells));
  return empi::joined(parts);
}

std::string sizes_text(const JobStatus& status) {
  const int workers = status.joined_replicas;
  std::string text = format("%d worker%s", workers, workers == 1 ? "" : "s");
  if (status.desired_replicas != workers) text += format(" (%d wanted)", status.desired_replicas);
  return text;
}

std::string job_line(const ElasticMPIJob& job, const LiveFigures& figures, double run_seconds) {
  const JobStatus& status = job.status;
  const int workers = status.joined_replicas;
  std::string text = job.metadata.name + "  " + to_string(status.state);
  if (status.state == JobState::Queued && status.queue) return text + "  " + status.queue->reason;
  text += format("  %d worker%s x %d = %d ranks", workers, workers == 1 ? "" : "s", job.spec.slots_per_worker,
                 workers * job.spec.slots_per_worker);
  if (status.ranks && *status.ranks != workers * job.spec.slots_per_worker)
    text += format(", of which %d run", *status.ranks);
  if (!emulation_text(job.spec).empty()) text += " (emulated)";
  if (figures.known) {
    text += format("  efficiency %.0f %% (balance %.0f %%, communication %.0f %%)", 100 * figures.efficiency,
                   100 * figures.load_balance, 100 * figures.communication);
  } else if (status.performance && status.performance->efficiency_percent) {
    text += format("  efficiency %d %%", *status.performance->efficiency_percent);
  } else {
    text += "  efficiency unknown";
  }
  return text + "  " + duration_text(run_seconds);
}

std::vector<std::string> view_lines(const ElasticMPIJob& job, const LiveFigures& figures, double run_seconds,
                                    const std::string& progress) {
  std::vector<std::string> lines{job_line(job, figures, run_seconds)};
  const std::string emulation = emulation_text(job.spec);
  if (!emulation.empty()) lines.push_back("  " + emulation);
  if (job.status.allocation && !job.status.allocation->reason.empty())
    lines.push_back("  in queue " + job.spec.scheduling.queue_name + ": " + job.status.allocation->reason);
  if (job.status.resize) lines.push_back("  resizing " + resize_text(*job.status.resize));
  if (const Condition* pending = find_condition(job.status, condition::kResizePending);
      pending && pending->status == "True")
    lines.push_back("  " + pending->message);
  if (job.status.tasks) lines.push_back("  " + tasks_text(*job.status.tasks));
  if (!job.status.decisions.empty())
    lines.push_back("  last decision " + decision_text(job.status.decisions.back()));
  if (!progress.empty()) lines.push_back("  " + progress);
  return lines;
}

}  // namespace emj::cli
