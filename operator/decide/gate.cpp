// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/gate.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/base/text.hpp"

namespace emj {
namespace {

// Student's t, 97.5 % quantile, by degrees of freedom (Abramowitz & Stegun, table 26.10).
double student_t(std::int64_t freedom) {
  static constexpr double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
  if (freedom < 1) return table[0];
  if (freedom <= 10) return table[freedom - 1];
  return 1.960 + 2.4 / static_cast<double>(freedom) + 2.8 / static_cast<double>(freedom * freedom);
}

// From the variation of the windows' means (batch means): needs no iteration-level figures.
double error_of_means(const std::vector<Sample>& windows) {
  std::vector<double> means;  // a window shorter than an iteration may hold none
  for (const Sample& sample : windows)
    if (sample.iterations > 0) means.push_back(sample.mean_iteration_seconds);
  const auto n = static_cast<std::int64_t>(means.size());
  if (n < 2) return 1;
  double mean = 0, variance = 0;
  for (const double value : means) mean += value / static_cast<double>(n);
  for (const double value : means) variance += std::pow(value - mean, 2) / static_cast<double>(n - 1);
  return mean > 0 ? student_t(n - 1) * std::sqrt(variance / static_cast<double>(n)) / mean : 1;
}

std::string seconds_text(Millis span) {
  return empi::format("%.1f s", static_cast<double>(span.count()) / 1000);
}

}  // namespace

double pooled_relative_error(const std::vector<Sample>& windows) {
  double squares = 0, total_time = 0;
  std::int64_t iterations = 0, freedom = 0;
  for (const Sample& sample : windows) {
    iterations += sample.iterations;
    total_time += static_cast<double>(sample.iterations) * sample.mean_iteration_seconds;
    if (sample.iterations < 2 || sample.ci_halfwidth >= 1) continue;  // no spread known
    const double n = static_cast<double>(sample.iterations);
    const double deviation = sample.ci_halfwidth * sample.mean_iteration_seconds * std::sqrt(n) / 1.96;
    squares += (n - 1) * deviation * deviation;
    freedom += sample.iterations - 1;
  }
  if (iterations == 0 || total_time <= 0) return 1;
  if (freedom < 2) return error_of_means(windows);
  const double mean = total_time / static_cast<double>(iterations);
  const double variance = squares / static_cast<double>(freedom);
  return student_t(freedom) * std::sqrt(variance / static_cast<double>(iterations)) / mean;
}

double relative_error_per_work(const std::vector<Sample>& windows) {
  std::vector<std::pair<double, double>> sums;  // seconds, work
  double seconds = 0, work = 0;
  for (const Sample& sample : windows) {
    if (sample.iterations == 0) continue;
    if (sample.work_units <= 0) return 1;
    sums.emplace_back(static_cast<double>(sample.iterations) * sample.mean_iteration_seconds,
                      sample.work_units);
    seconds += sums.back().first;
    work += sums.back().second;
  }
  const auto n = static_cast<std::int64_t>(sums.size());
  if (n < 2 || seconds <= 0) return 1;
  double squares = 0;
  for (const auto& [s, w] : sums) squares += std::pow(s - seconds / work * w, 2);
  const auto count = static_cast<double>(n);
  return student_t(n - 1) * std::sqrt(count / (count - 1) * squares) / seconds;
}

namespace {

bool stale(const PolicyInput& input, GateResult& result) {
  if (input.windows.empty()) {
    result.missing = "no samples yet";
    return result.stale = true;
  }
  const Sample& newest = input.windows.back();
  const Millis length = std::max<Millis>(newest.end - newest.start, Millis(1));
  const Millis age = input.now - newest.end;
  if (age <= 5 * length + Seconds(5)) return false;
  result.missing = "the newest sample is " + seconds_text(age) + " old";
  return result.stale = true;
}

std::vector<Sample> steady_windows(const PolicyInput& input, std::optional<Time> since) {
  const Sample& newest = input.windows.back();
  const Millis length = std::max<Millis>(newest.end - newest.start, Millis(1));
  std::optional<Time> changed;
  if (!input.history.empty()) changed = input.history.back().time;
  std::vector<Sample> steady;
  for (const Sample& sample : input.windows) {
    if (sample.workers != input.current || sample.parallel_efficiency <= 0) continue;
    if (changed && sample.start < *changed + 2 * length) continue;
    if (since && sample.start < *since) continue;
    steady.push_back(sample);
  }
  return steady;
}

// A part of an iteration says little: it may be the part that communicates.
std::vector<Sample> whole_iterations(const AutoscalingSpec& spec, const PolicyInput& input,
                                     const std::vector<Sample>& steady) {
  const auto ended = [](const Sample& s) { return s.iterations > 0 || s.work_units > 0; };
  // Whoever reports progress, be it none, has begun to iterate.
  const auto iterating = [&](const Sample& s) { return ended(s) || s.progress >= 0; };
  auto first = steady.begin();
  // A change is committed between two iterations; the start of a program may take any time.
  if (input.history.empty() || input.history.back().from <= 0) {
    first = std::find_if(steady.begin(), steady.end(), iterating);
    if (first != steady.end()) ++first;
  }
  std::vector<Sample> whole(first, steady.end());
  const bool enough = whole.size() >= static_cast<std::size_t>(spec.windows) &&
                      std::any_of(whole.begin(), whole.end(), ended);
  return enough ? whole : std::vector<Sample>{};
}

void check_iterations(const AutoscalingSpec& spec, GateResult& result) {
  // The last `asked` windows, or more while they hold too few iterations.
  const auto asked = static_cast<std::size_t>(spec.windows);
  std::size_t first = result.windows.size();
  double work = 0;
  while (first > 0 && (result.windows.size() - first < asked || result.iterations < spec.min_iterations)) {
    --first;
    result.iterations += result.windows[first].iterations;
    work += result.windows[first].work_units;
  }
  result.windows.erase(result.windows.begin(), result.windows.begin() + static_cast<std::ptrdiff_t>(first));
  if (result.iterations > 0) result.work_per_iteration = work / static_cast<double>(result.iterations);
  if (result.iterations < spec.min_iterations) {
    result.missing =
        std::to_string(result.iterations) + " iterations, " + std::to_string(spec.min_iterations) + " needed";
    return;
  }
  result.relative_error =
      std::min(pooled_relative_error(result.windows), relative_error_per_work(result.windows));
  if (result.relative_error * 100 > spec.max_error_percent) {
    result.missing = empi::format("iteration time known to +-%.1f %% only, %d %% needed",
                                  100 * result.relative_error, spec.max_error_percent);
  }
}

void check_tasks(const AutoscalingSpec& spec, const PolicyInput& input, GateResult& result) {
  const TaskFigures& newest = input.windows.back().tasks;
  if (newest.total == 0) {
    result.missing = "no phase of tasks is running";
    return;
  }
  std::int64_t ended = 0;
  for (const Sample& sample : input.windows)
    if (sample.tasks.phase == newest.phase) ended += sample.tasks.ended;
  if (ended < spec.min_iterations)
    result.missing = std::to_string(ended) + " tasks of phase " + std::to_string(newest.phase) +
                     " have ended, " + std::to_string(spec.min_iterations) + " needed";
}

}  // namespace

GateResult gate(const AutoscalingSpec& spec, const PolicyInput& input, Evidence evidence,
                std::optional<Time> since) {
  GateResult result;
  if (stale(input, result)) return result;
  result.steady = result.windows = steady_windows(input, since);
  const auto asked = static_cast<std::size_t>(spec.windows);
  if (result.windows.size() < asked) {
    result.missing = std::to_string(result.windows.size()) + " of " + std::to_string(asked) + " windows at " +
                     std::to_string(input.current) +
                     " workers so far (the first two after a change do not count)";
    return result;
  }
  if (evidence == Evidence::Tasks) {
    check_tasks(spec, input, result);
  } else {
    result.whole = whole_iterations(spec, input, result.steady);
    check_iterations(spec, result);
  }
  return result;
}

}  // namespace emj
