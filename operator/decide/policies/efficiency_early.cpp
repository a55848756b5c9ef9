// SPDX-License-Identifier: Apache-2.0
// Policy efficiency before it knows iteration times.

#include <algorithm>
#include <cmath>

#include "operator/decide/policies/cost.hpp"
#include "operator/decide/policies/policies.hpp"
#include "runtime/base/text.hpp"

namespace emj {
namespace {

using empi::format;

constexpr double kHopeless = 0.5;  // of the wanted efficiency
constexpr double kQuantile =
    3;  // standard deviations of a mean of a few windows: Student's t, 95 % from 4 on

struct Average {
  double mean = 0, error = 0;
};

Average average(const std::vector<Sample>& windows, double Sample::* figure) {
  const auto n = static_cast<double>(windows.size());
  Average a;
  for (const Sample& sample : windows) a.mean += sample.*figure / n;
  double squares = 0;
  for (const Sample& sample : windows) squares += std::pow(sample.*figure - a.mean, 2);
  if (n > 1) a.error = std::sqrt(squares / (n - 1) / n);
  return a;
}

}  // namespace

// Where iterations take many windows, three of them at a size that wastes nearly all its workers would cost
// more than everything else together. The efficiency is known before their time is.
std::optional<Proposal> EfficiencyPolicy::propose_early(const PolicyInput& input,
                                                        const std::vector<Sample>& whole,
                                                        const PolicyState& state) const {
  const double floor = parameters_.min_efficiency_percent / 100.0;
  const Average efficiency = average(whole, &Sample::parallel_efficiency);
  const double balance = average(whole, &Sample::load_balance).mean;
  const double communication = average(whole, &Sample::communication_efficiency).mean;
  const int step = step_down(input);
  if (whole.size() < 2 || step >= input.current) return std::nullopt;
  if (efficiency.mean + kQuantile * efficiency.error >= kHopeless * floor) return std::nullopt;
  if (imbalance_of(input.current, balance, communication, parameters_, state.measured).sharing_out_helps())
    return std::nullopt;

  const ChangeCost cost = change_cost(input.history, input.current, step);
  Prediction prediction;
  prediction.loss = 1 - efficiency.mean / floor;
  prediction.regret_seconds = parameters_.regret_percent / 100.0 * cost.lost_seconds;
  prediction.cooldown =
      std::chrono::ceil<Seconds>(std::chrono::duration<double>(kCooldownCosts * cost.lost_seconds));
  const std::string reason = format(
      "%.0f %% efficiency over %zu windows (load balance %.2f, communication efficiency %.2f), less than "
      "half of the %d %% that is wanted: that is plain before iteration times are known",
      100 * efficiency.mean, whole.size(), balance, communication, parameters_.min_efficiency_percent);
  return Proposal{step, reason, false, false, prediction};
}

}  // namespace emj
