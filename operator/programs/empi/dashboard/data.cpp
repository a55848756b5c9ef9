// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/dashboard/data.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "operator/api/condition_types.hpp"
#include "operator/programs/empi/explain.hpp"
#include "operator/programs/empi/view.hpp"
#include "runtime/protocol/metrics.hpp"

namespace emj::cli::dashboard {

namespace {

using nlohmann::json;

// In this order; Cancelling and RollingBack leave it.
constexpr std::array kPhases = {ResizePhase::CreatingPods, ResizePhase::Requested, ResizePhase::Preparing,
                                ResizePhase::Building,     ResizePhase::Ready,     ResizePhase::Window,
                                ResizePhase::Draining};

std::int64_t millis(Time time) { return time.time_since_epoch().count(); }

json change_of(const JobStatus& status) {
  if (!status.resize) return nullptr;
  const ResizeStatus& resize = *status.resize;
  const Condition* said = find_condition(status, condition::kResizing);
  return {{"from", resize.from},
          {"to", resize.to},
          {"phase", to_string(resize.phase)},
          {"meaning", meaning(resize.phase)},
          {"said", said && said->status == "True" ? said->message : ""},
          {"since", millis(resize.start_time)},
          {"deadline", millis(resize.deadline)}};
}

json last_change_of(const JobStatus& status) {
  if (!status.last_resize) return nullptr;
  const LastResize& last = *status.last_resize;
  return {{"from", last.from},
          {"to", last.to},
          {"result", to_string(last.result)},
          {"reason", last.reason},
          {"preparedMillis", last.prepared_millis},
          {"joinedMillis", last.joined_millis},
          {"pausedMillis", last.paused_millis},
          {"at", millis(last.completion_time)}};
}

json job_data(const ElasticMPIJob& job, const Looked& looked, const SizesSeen& seen, Time now) {
  const JobStatus& status = job.status;
  json data = {{"name", job.metadata.name},
               {"namespace", job.metadata.namespace_name},
               {"uid", job.metadata.uid},
               {"state", to_string(status.state)},
               {"reason", status.reason},
               {"ended", is_terminal(status.state)},
               {"workers", status.joined_replicas},
               {"wanted", status.desired_replicas},
               {"least", job.spec.worker.min_replicas},
               {"most", job.spec.worker.max_replicas},
               {"slots", job.spec.slots_per_worker},
               {"start", status.start_time ? json(millis(*status.start_time)) : json()},
               {"end", millis(status.completion_time.value_or(now))},
               {"efficiency", nullptr},
               {"split", nullptr},
               {"change", change_of(status)},
               {"lastChange", last_change_of(status)},
               {"sizes", json::array()},
               {"decisions", json::array()},
               {"why", why_lines(job, now)}};
  if (status.ranks) data["ranks"] = *status.ranks;
  if (status.performance && status.performance->efficiency_percent)
    data["efficiency"] = *status.performance->efficiency_percent / 100.0;
  const auto split = looked.splits.find(job.metadata.uid);
  if (split != looked.splits.end() && !is_terminal(status.state))
    data["split"] = {{"efficiency", split->second.efficiency},
                     {"loadBalance", split->second.load_balance},
                     {"communication", split->second.communication}};
  for (const SizeAt& size : seen.of(job, now)) data["sizes"].push_back({millis(size.time), size.workers});
  for (const DecisionRecord& decision : status.decisions)
    data["decisions"].push_back({{"at", millis(decision.time)},
                                 {"action", to_string(decision.action)},
                                 {"from", decision.from},
                                 {"to", decision.to},
                                 {"text", decision_text(decision).substr(10)}});
  return data;
}

// The value at the end of an exposition's line, and whether it is a share.
std::optional<double> share_at_end(const std::string& line) {
  const auto space = line.rfind(' ');
  double value = 0;
  const char* end = line.data() + line.size();
  const auto read = std::from_chars(line.data() + space + 1, end, value);
  if (space == std::string::npos || read.ec != std::errc() || read.ptr != end || !(value >= 0 && value <= 1))
    return std::nullopt;
  return value;
}

}  // namespace

json page_data(const Looked& looked, const SizesSeen& seen, Time now) {
  json phases = json::array(), jobs = json::array();
  for (const ResizePhase phase : kPhases) phases.push_back(to_string(phase));
  for (const ElasticMPIJob& job : looked.jobs) jobs.push_back(job_data(job, looked, seen, now));
  return {{"where", looked.where},
          {"now", millis(now)},
          {"phases", phases},
          {"jobs", jobs},
          {"queues", looked.queues}};
}

std::optional<Split> split_in(const std::string& metrics) {
  namespace m = empi::metrics;
  std::optional<double> efficiency, load_balance, communication;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("scope=\"job\"") == std::string::npos) continue;
    const auto is = [&](const auto& metric) { return line.starts_with(std::string(metric.name) + "{"); };
    if (is(m::kParallelEfficiency)) efficiency = share_at_end(line);
    if (is(m::kLoadBalance)) load_balance = share_at_end(line);
    if (is(m::kCommunicationEfficiency)) communication = share_at_end(line);
  }
  if (!efficiency || !load_balance || !communication) return std::nullopt;
  return Split{*efficiency, *load_balance, *communication};
}

}  // namespace emj::cli::dashboard
