// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/policies/present.hpp"

#include <algorithm>
#include <cmath>

#include "operator/decide/policies/phase.hpp"

namespace emj {
namespace {

// From the windows' means; growing work is no noise where it is reported.
double noise_of_mean(const std::vector<Sample>& windows) {
  std::vector<double> values;
  const bool works = std::all_of(windows.begin(), windows.end(),
                                 [](const Sample& s) { return s.iterations == 0 || s.work_units > 0; });
  for (const Sample& sample : windows)
    if (sample.iterations > 0)
      values.push_back(works ? normalised_seconds(sample) : sample.mean_iteration_seconds);
  const auto count = static_cast<double>(values.size());
  if (count < 2) return 0;
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / count;
  for (const double value : values) squares += std::pow(value / mean - 1, 2);
  return std::sqrt(squares / (count - 1) / count);
}

}  // namespace

Present measure(const PolicyInput& input) {
  Present now;
  double iterations = 0, time = 0, work = 0, weights = 0;
  double efficiency = 0, communication = 0, balance = 0;
  for (const Sample& sample : input.steady) {
    const auto n = static_cast<double>(sample.iterations);
    iterations += n;
    time += n * sample.mean_iteration_seconds;
    work += sample.work_units;
    const double weight = seconds_between(sample.start, sample.end);
    weights += weight;
    efficiency += weight * sample.parallel_efficiency;
    communication += weight * sample.communication_efficiency;
    balance += weight * sample.load_balance;
  }
  now.point = {input.current, time / iterations, share_of_time(communication / weights),
               share_of_time(efficiency / weights), 1};
  now.load_balance = balance / weights;
  now.work_per_iteration = work / iterations;
  now.noise = noise_of_mean(input.steady);
  const Sample& last = input.steady.back();
  now.epoch = last.epoch;
  // A program that sets itself up does not report any progress yet.
  const auto first = std::ranges::find_if(input.steady, [](const Sample& s) { return s.progress >= 0; });
  if (first == input.steady.end()) return now;
  const double gained = last.progress - first->progress;
  if (gained > 0) now.seconds_left = (1 - last.progress) * seconds_between(first->end, last.end) / gained;
  return now;
}

}  // namespace emj
