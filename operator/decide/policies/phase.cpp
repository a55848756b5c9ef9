// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/policies/phase.hpp"

#include <algorithm>
#include <cmath>

namespace emj {
namespace {

constexpr std::size_t kFewestWindows = 6;
constexpr double kSmallestChange = 0.05;    // delta of the test: drift that is none
constexpr double kSmallestThreshold = 0.3;  // of the sum of excesses
constexpr double kLargestOutlier = 0.5;
// P(sum of (x - delta) ever exceeds h) is about exp(-2 delta h / sigma^2): here e^-15, per window.
constexpr double kCertainty = 7.5;
constexpr double kSmallestPart = 0.02;  // of an iteration: less is noise of the measurement

// Standard deviation from successive differences: a step in the mean hardly moves their median.
double noise_of(const std::vector<double>& values) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < values.size(); ++i) steps.push_back(std::abs(values[i] - values[i - 1]));
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle / 0.954;
}

// By the median: a window in which the program stood still is no speed.
double middle_of(const std::vector<double>& values, std::size_t first, std::size_t last) {
  std::vector<double> part(values.begin() + static_cast<std::ptrdiff_t>(first),
                           values.begin() + static_cast<std::ptrdiff_t>(last));
  std::sort(part.begin(), part.end());
  return (part[(part.size() - 1) / 2] + part[part.size() / 2]) / 2;
}

double mean(const std::vector<double>& values, std::size_t first, std::size_t last) {
  double sum = 0;
  for (std::size_t i = first; i < last; ++i) sum += values[i];
  return sum / static_cast<double>(last - first);
}

// One side: index of the first window after the change, or 0. Compared with the mean of all windows before,
// so that no few of them decide what was normal.
std::size_t first_changed(const std::vector<double>& values, double sign, double noise) {
  const double delta = std::max(kSmallestChange, noise / 2);
  const double threshold = std::max(kSmallestThreshold, kCertainty * noise * noise / delta);
  double sum = 0, before = 0;
  std::size_t since = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i < kFewestWindows / 2) {
      since = i + 1;
      before += values[i];
      continue;
    }
    const double mean_before = before / static_cast<double>(i);
    // A single outlier, however large, is no phase, and must not spoil the mean.
    const double change = std::clamp(values[i] / mean_before - 1, -kLargestOutlier, kLargestOutlier);
    sum += std::min(sign * change - delta, 0.9 * threshold);
    if (sum <= 0) {
      sum = 0;
      since = i + 1;
    }
    if (sum > threshold) return since;
    before += mean_before * (1 + change);
  }
  return 0;
}

}  // namespace

double normalised_seconds(const Sample& sample) {
  if (sample.work_units <= 0 || sample.iterations <= 0) return sample.mean_iteration_seconds;
  return sample.mean_iteration_seconds * static_cast<double>(sample.iterations) / sample.work_units;
}

std::optional<PhaseChange> detect_phase_change(const std::vector<Sample>& windows) {
  const bool works = std::all_of(windows.begin(), windows.end(),
                                 [](const Sample& s) { return s.iterations == 0 || s.work_units > 0; });
  std::vector<double> values, compute, transfer;
  std::vector<Time> starts;
  for (const Sample& sample : windows) {
    const double value = works ? normalised_seconds(sample) : sample.mean_iteration_seconds;
    if (sample.iterations <= 0 || value <= 0) continue;
    values.push_back(value);
    compute.push_back(value * sample.communication_efficiency);
    transfer.push_back(value - compute.back());
    starts.push_back(sample.start);
  }
  if (values.size() < kFewestWindows) return std::nullopt;
  const double middle = mean(values, 0, values.size());
  std::vector<double> relative;
  for (const double value : values) relative.push_back(value / middle);
  const double noise = noise_of(relative);
  for (const double sign : {1.0, -1.0}) {
    const std::size_t since = first_changed(values, sign, noise);
    if (since == 0) continue;
    // The first window of a phase is partly of the one before, if there are others to judge by.
    const std::size_t whole = std::min(since + 1, values.size() - 1);
    const double before = middle_of(values, 0, since), after = middle_of(values, whole, values.size());
    const auto factor = [&](const std::vector<double>& part) {
      const double least = kSmallestPart * std::max(before, after);
      return std::max(least, middle_of(part, whole, part.size())) /
             std::max(least, middle_of(part, 0, since));
    };
    return PhaseChange{starts[since], before, after, factor(compute), factor(transfer)};
  }
  return std::nullopt;
}

}  // namespace emj
