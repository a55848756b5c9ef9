// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/recorder.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "operator/api/condition_types.hpp"
#include "operator/local/process.hpp"
#include "operator/programs/empi/replay.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::cli {

using nlohmann::json;

namespace {

double seconds(Millis duration) { return static_cast<double>(duration.count()) / 1000; }

json to_json(const empi::ChangeRecord& change) {
  const empi::ChangeTimes& t = change.times;
  const bool unfinished = change.outcome == empi::ChangeOutcome::Unfinished;
  json object{{"id", change.id},
              {"kind", change.kind},
              {"from", change.from_ranks},
              {"to", change.to_ranks},
              {"outcome", unfinished ? "unfinished" : to_string(change.outcome)},
              {"prepare_ms", t.prepare_ms},
              {"build_ms", t.build_ms},
              {"arm_ms", t.arm_ms},
              {"wait_ms", t.wait_ms},
              {"pause_ms", t.pause_ms},
              {"redistribute_ms", t.redistribute_ms},
              {"moved_bytes", change.moved_bytes},
              {"drain_ms", t.drain_ms},
              {"lost_ms", t.lost_ms}};
  if (!change.reason.empty()) object["reason"] = change.reason;
  return object;
}

json to_json(const DecisionRecord& decision) {
  json object{{"time", to_string(decision.time)},
              {"from", decision.from},
              {"to", decision.to},
              {"policy", decision.policy},
              {"action", to_string(decision.action)},
              {"reason", decision.reason}};
  if (decision.iteration_seconds) object["iteration_s"] = *decision.iteration_seconds;
  if (decision.predicted_seconds) object["predicted_s"] = *decision.predicted_seconds;
  if (decision.achieved_seconds) object["achieved_s"] = *decision.achieved_seconds;
  return object;
}

}  // namespace

Recorder::Recorder(std::string folder, ElasticMPIJob job)
    : folder_(std::move(folder)),
      job_(std::move(job)),
      profile_(folder_ + "/profile.csv"),
      windows_(folder_ + "/" + kWindowsFile) {
  profile_.add("time_s,ranks,efficiency,load_balance,communication_efficiency,iterations,work_units,epoch\n");
}

void Recorder::look(Time now, const JobStatus& status, int held,
                    const std::vector<empi::WindowSample>& windows) {
  if (started_ == Time{}) started_ = now;
  if (last_look_ != Time{}) core_seconds_ += last_held_ * seconds(now - last_look_);
  last_look_ = now;
  last_held_ = held;
  for (const DecisionRecord& decision : status.decisions) {
    if (decisions_.empty() || decision.time > decisions_.back().time) decisions_.push_back(decision);
    // What a change brought is known some windows after it was decided.
    for (DecisionRecord& known : decisions_)
      if (known.time == decision.time && known.to == decision.to) known = decision;
  }
  for (const empi::WindowSample& window : windows) {
    if (window.index <= last_window_) continue;
    last_window_ = window.index;
    if (window.master_worker()) task_seconds_ = task_seconds_.value_or(0) + window.tasks.busy_s;
    change_rank_seconds_ += window.adapt_s;
    append_profile(window);
    windows_.add(window_line(window));
  }
  profile_.flush();
  windows_.flush();
}

void Recorder::append_profile(const empi::WindowSample& window) {
  const empi::Efficiency e = empi::efficiency(window);
  const double end = static_cast<double>(window.index + 1) * window.width_s;
  const double time = end - static_cast<double>(started_.time_since_epoch().count()) / 1000;
  std::ostringstream line;
  line << std::max(0.0, time) << ',' << window.ranks << ',';
  if (e.known)
    line << e.parallel << ',' << e.load_balance << ',' << e.communication;
  else
    line << ",,";
  line << ',' << window.iterations << ',' << window.work_units << ',' << window.epoch << '\n';
  profile_.add(line.str());
  if (!e.known) return;
  figures_ = {true,           window.ranks,    e.parallel,
              e.load_balance, e.communication, window.width_s > 0 ? window.work_units / window.width_s : 0};
}

double Recorder::run_seconds(const JobStatus& status) const {
  if (!status.start_time) return 0;
  return seconds(status.completion_time.value_or(last_look_) - *status.start_time);
}

namespace {

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// What was said last of deadline and budget.
json risks(const JobStatus& status) {
  json said = json::array();
  for (const char* type : {condition::kDeadlineAtRisk, condition::kBudgetAtRisk})
    if (const Condition* risk = find_condition(status, type))
      said.push_back({{"type", type},
                      {"holds", risk->status == "True"},
                      {"reason", risk->reason},
                      {"message", risk->message}});
  return said;
}

}  // namespace

void Recorder::write_summary(const JobStatus& status, const std::vector<empi::ChangeRecord>& changes,
                             double cpu_seconds) const {
  const LocalSpec local = job_.spec.local.value_or(LocalSpec{});
  const bool slowed = local.slowdown_factor > 1;
  const double run = run_seconds(status);
  double pause_ms = 0, lost_ms = 0;
  json list = json::array();
  for (const empi::ChangeRecord& change : changes) {
    list.push_back(to_json(change));
    if (change.outcome == empi::ChangeOutcome::Committed) pause_ms += change.times.pause_ms;
    lost_ms += change.times.lost_ms;
  }
  json decisions = json::array();
  for (const DecisionRecord& decision : decisions_) decisions.push_back(to_json(decision));
  const Condition* failed = find_condition(status, condition::kFailed);
  json summary{
      {"job", job_.metadata.name},
      {"result", to_string(status.state)},
      {"reason", failed && failed->status == "True" ? failed->message : ""},
      {"start_time_s", seconds(started_.time_since_epoch())},  // since 1970; of time_s in profile.csv
      {"run_time_s", run},
      {"finish_s", seconds(status.completion_time.value_or(last_look_) - started_)},  // since start_time_s
      {"risks", risks(status)},
      {"core_seconds", core_seconds_},
      {"cpu_seconds", slowed ? core_seconds_ : cpu_seconds},
      {"cpu_seconds_is", slowed ? "core_seconds (ranks held x wall time): slow ranks are emulated by sleeping"
                                : "processor time used by all processes of the pods"},
      {"core_seconds_is", "sum over time of the ranks that living pods have room for x wall time"},
      {"emulated", slowed || local.network_delay_microseconds > 0 || local.network_megabits_per_second > 0
                       ? json{{"slowdown_factor", local.slowdown_factor},
                              {"network_delay_us", local.network_delay_microseconds},
                              {"network_mbit_per_s", local.network_megabits_per_second},
                              {"network_emulation", to_string(local.network_emulation)}}
                       : json(nullptr)},
      {"changes", std::move(list)},
      {"pause_total_s", pause_ms / 1000},
      // All ranks stop together for a change, but in a master-worker program: there the time of the few that
      // do is added up, and its share is of the time of all.
      {"lost_total_s", task_seconds_ ? json(nullptr) : json(lost_ms / 1000)},
      {"adaptation_share",
       task_seconds_ ? share(change_rank_seconds_, core_seconds_) : share(lost_ms / 1000, run)},
      {"restarts", status.restarts},
      {"decisions", std::move(decisions)}};
  if (task_seconds_) summary["lost_rank_seconds"] = change_rank_seconds_;
  if (task_seconds_ && core_seconds_ > 0) summary["idle_share"] = 1 - *task_seconds_ / core_seconds_;
  merge_application_results(folder_, started_, summary);
  local::write_file_atomically(folder_ + "/summary.json", empi::json_text::safe_text(summary, 2) + "\n");
}

void merge_application_results(const std::string& folder, Time started, json& summary) {
  static const std::set<std::string> not_results{"summary.json", "progress.json"};
  // File systems stamp with the time of the last clock tick, a little before now.
  const auto since = std::chrono::file_clock::from_sys(started) - std::chrono::milliseconds(50);
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto& path = entry.path();
    if (path.extension() != ".json" || not_results.contains(path.filename())) continue;
    if (entry.last_write_time(error) >= since) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const json object = empi::json_text::try_parse(local::read_file(file).value_or(""));
    if (!object.is_object()) continue;
    for (const auto& [key, value] : object.items()) {
      if (!summary.contains(key)) summary[key] = value;
    }
  }
}

}  // namespace emj::cli
