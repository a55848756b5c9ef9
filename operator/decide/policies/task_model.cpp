// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/policies/task_model.hpp"

#include <algorithm>
#include <cmath>

namespace emj {

double TaskLoad::error() const {
  return measured > 1 ? deviation / mean / std::sqrt(static_cast<double>(measured)) : 1;
}

std::optional<TaskLoad> task_load(const std::vector<Sample>& windows) {
  if (windows.empty() || windows.back().tasks.total == 0) return std::nullopt;
  const TaskFigures& newest = windows.back().tasks;
  TaskLoad load{newest.phase, newest.total, newest.done, newest.queued, 0, 0, newest.longest_seconds, 0, 1};
  double seconds = 0, squares = 0, busy = 0, weights = 0;
  for (const Sample& window : windows) {
    if (window.tasks.phase != newest.phase) continue;
    load.measured += window.tasks.ended;
    seconds += window.tasks.seconds;
    squares += window.tasks.seconds2;
    if (window.tasks.queued == 0 || window.workers != windows.back().workers) continue;
    const double weight = std::chrono::duration<double>(window.end - window.start).count();
    busy += weight * window.tasks.busy_share;
    weights += weight;
  }
  if (load.measured == 0 || seconds <= 0) return std::nullopt;
  const auto n = static_cast<double>(load.measured);
  load.mean = seconds / n;
  if (n > 1) load.deviation = std::sqrt(std::max(0.0, (squares - n * load.mean * load.mean) / (n - 1)));
  if (weights > 0) load.busy = std::clamp(busy / weights, 0.01, 1.0);
  return load;
}

TaskModel::TaskModel(TaskLoad load, int workers, int slots, std::map<int, double> measured)
    : load_(load), workers_(workers), slots_(slots), pace_(std::move(measured)) {
  pace_.emplace(workers, load_.mean / load_.busy / ranks(workers));
}

double TaskModel::pace(int workers) const {
  const auto known = pace_.find(workers);
  if (known != pace_.end()) return known->second;
  const auto distance = [workers](const auto& point) {
    return std::abs(std::log(static_cast<double>(point.first) / workers));
  };
  const auto& [size, seconds] = *std::min_element(
      pace_.begin(), pace_.end(), [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  const double overhead = std::max(0.0, seconds * ranks(size) - load_.mean);
  const double growth = std::max(1.0, static_cast<double>(workers) / size);
  return (load_.mean + overhead * growth) / ranks(workers);
}

double TaskModel::tail(int workers) const {
  const double n = ranks(workers);
  const double expected = load_.mean + load_.deviation * std::sqrt(2 * std::log(std::max(1.0, n)));
  return (1 - 1 / n) * std::max(expected, load_.longest) / 2;
}

double TaskModel::seconds_left(int workers, double tasks) const {
  // Of those that are running half is done, on average.
  const double running = std::min(tasks, ranks(workers));
  return std::max(0.0, tasks - running / 2) * pace(workers) + tail(workers);
}

double TaskModel::seconds_left_changing(int workers, double delay) const {
  const double left = static_cast<double>(load_.left()) - delay / pace(workers_);
  if (left <= 0) return seconds_left(workers_);
  return delay + seconds_left(workers, left);
}

double TaskModel::efficiency(int workers) const {
  const double work = std::max(1.0, static_cast<double>(load_.left()) - ranks(workers) / 2) * load_.mean;
  return std::min(1.0, work / (ranks(workers) * seconds_left(workers)));
}

int TaskModel::needed() const {
  const std::int64_t running = std::max<std::int64_t>(1, load_.running());
  return static_cast<int>(std::min<std::int64_t>(workers_, (running + slots_ - 1) / slots_));
}

std::optional<TaskModel> task_model(const PolicyInput& input, const PolicyState& state) {
  const auto load = task_load(input.windows);
  if (!load || input.current <= 0) return std::nullopt;
  std::map<int, double> measured;
  if (state.task_phase == load->phase)
    for (const MeasuredSize& point : state.measured)
      if (point.iteration_seconds > 0) measured[point.workers] = point.iteration_seconds;
  return TaskModel(*load, input.current, input.slots, std::move(measured));
}

}  // namespace emj
