// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "operator/decide/policies/policies.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/trend.hpp"

namespace emj {
namespace {

using empi::format;

double weight(const Sample& sample) {
  return std::chrono::duration<double>(sample.end - sample.start).count() * sample.ranks;
}

// Means over windows, weighted by measured time.
double mean(const std::vector<Sample>& windows, double Sample::* value) {
  double sum = 0, total = 0;
  for (const Sample& sample : windows) {
    sum += weight(sample) * sample.*value;
    total += weight(sample);
  }
  return total > 0 ? sum / total : 0;
}

// What costs the efficiency: waiting for the slowest rank and moving data need different cures.
std::string blame(const std::vector<Sample>& windows) {
  const double balance = mean(windows, &Sample::load_balance);
  const double communication = mean(windows, &Sample::communication_efficiency);
  if (balance <= 0 || communication <= 0) return "";
  std::string text = format("; load balance %.2f, communication efficiency %.2f", balance, communication);
  if (balance < communication - 0.02)
    text += ": imbalance costs most, rebalancing may help more than fewer workers";
  else if (communication < balance - 0.02)
    text += ": communication costs most";
  return text;
}

}  // namespace

double average_mtct(const std::vector<Sample>& windows) {
  // With E N the measured time, useful time is PE E N and time in MPI the rest.
  const double efficiency = mean(windows, &Sample::parallel_efficiency);
  return efficiency > 0 ? std::max(0.0, 1 / efficiency - 1) : 0;
}

double mtct_trend(const std::vector<Sample>& windows, double noise) {
  if (windows.empty()) return 0;
  constexpr double newest_weight = 0.5;
  empi::profile::Ewma average(newest_weight);
  std::vector<empi::profile::Point> points;
  for (const Sample& sample : windows) {
    average.add(sample.mtct);
    points.push_back({static_cast<double>(points.size()), sample.mtct});
  }
  const double level = *average.level();
  if (points.size() < 3) return level;
  const double slope = *empi::profile::theil_sen_slope(points);  // per window
  // Noise of +-e moves two readings apart by at most 2 e; what drifts further is no noise.
  const double drift = std::abs(slope) * static_cast<double>(windows.size() - 1);
  if (drift <= 2 * noise * level) return level;
  return std::max(0.0, level + slope);
}

Proposal ThresholdPolicy::propose(const PolicyInput& input, PolicyState&) const {
  const double low = parameters_.low_percent / 100.0;
  const double high = parameters_.high_percent / 100.0;
  const double noise = parameters_.noise_percent / 100.0;
  if (input.windows.empty()) return {input.current, "no samples", true};
  const double average = average_mtct(input.windows);
  const double trend = mtct_trend(input.windows, noise);
  const std::string measured =
      format("MTCT %.3f on average and %.3f by trend over %zu windows (efficiency %.0f %%)", average, trend,
             input.windows.size(), 100 / (1 + average));
  const int n = input.current;
  if (average > high * (1 + noise) || trend > high * (1 + noise)) {
    const int wanted = input.step.factor2() ? std::max(1, n / 2) : n - input.step.workers;
    return {wanted, measured + format(" is above %.2f (+%d %% noise)", high, parameters_.noise_percent) +
                        blame(input.windows)};
  }
  if (average < low * (1 - noise) && trend < low * (1 - noise)) {
    const int wanted = input.step.factor2() ? 2 * n : n + input.step.workers;
    return {wanted, measured + format(" is below %.2f (-%d %% noise)", low, parameters_.noise_percent)};
  }
  return {n, measured + format(" stays within %.2f to %.2f", low, high)};
}

}  // namespace emj
