// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "operator/decide/policies/cost.hpp"
#include "operator/decide/policies/model.hpp"
#include "operator/decide/policies/phase.hpp"
#include "operator/decide/policies/policies.hpp"
#include "operator/decide/policies/present.hpp"
#include "runtime/base/text.hpp"

namespace emj {
namespace {

using empi::format;
using empi::time_text;

// A size that is only predicted must lie this much above the floor of efficiency.
constexpr double kFloorMargin = 0.05;
// A settled job moves only for more than a searching one, so that noise around a threshold moves nothing:
// twice the gain, or an efficiency this much below the floor.
constexpr double kSettledFloorMargin = 0.1;
constexpr double kSettledGain = 2;
constexpr double kWorthSaving = 0.25;  // share of the workers that must go when no time is gained

// The sizes that can be judged, and which of them is wanted.
class Search {
 public:
  Search(const PolicyInput& input, const Present& now, const TimeModel& model, double floor, double tolerance,
         bool settled)
      : input_(input), now_(now), model_(model), floor_(floor), tolerance_(tolerance), settled_(settled) {}

  int best() const {
    std::vector<int> good;
    for (int n = std::max(input_.min, model_.smallest()); n <= std::min(input_.max, model_.largest()); ++n)
      if ((n == input_.current || is_allowed(n)) && efficient(n)) good.push_back(n);
    if (good.empty()) return std::min(input_.current, std::max(input_.min, model_.smallest()));
    double least = model_.seconds(good.front());
    for (const int n : good) least = std::min(least, model_.seconds(n));
    for (const int n : good)
      if (model_.seconds(n) <= least * (1 + tolerance_)) return n;
    return good.front();
  }
  bool efficient(int n) const {
    const double efficiency = model_.efficiency(n);
    if (n == input_.current)
      return efficiency * (1 + kSignificance * now_.noise) >=
             floor_ * (settled_ ? 1 - kSettledFloorMargin : 1);
    if (model_.measured(n)) return efficiency >= floor_;
    return efficiency >= floor_ * (n > input_.current ? 1 + kFloorMargin : 1);
  }
  // Share of the time that an iteration at `n` would be shorter by; negative: longer.
  double gain(int n) const { return 1 - model_.seconds(n) / now_.point.seconds; }
  double needed_gain() const { return (settled_ ? kSettledGain : 1) * std::max(tolerance_, noise_of_gain()); }
  // Two times are compared, each with its noise.
  double noise_of_gain() const { return kSignificance * std::sqrt(2) * now_.noise; }
  bool precise() const { return noise_of_gain() <= tolerance_; }

 private:
  bool is_allowed(int n) const {
    return input_.allowed.empty() ||
           std::find(input_.allowed.begin(), input_.allowed.end(), n) != input_.allowed.end();
  }
  const PolicyInput& input_;
  const Present& now_;
  const TimeModel& model_;
  double floor_, tolerance_;
  bool settled_;
};

std::string size_text(const TimeModel& model, int workers) {
  const char* source = model.measured(workers)   ? "measured"
                       : model.inferred(workers) ? "by its efficiency"
                                                 : "predicted";
  return format("%d would take %s (%s) at %.0f %% efficiency", workers,
                time_text(model.seconds(workers)).c_str(), source, 100 * model.efficiency(workers));
}

std::string present_text(const Present& now, const TimeModel& model) {
  return format(
      "an iteration takes %s at %.0f %% efficiency (load balance %.2f, communication efficiency %.2f)",
      time_text(now.point.seconds).c_str(), 100 * model.efficiency(now.point.workers), now.load_balance,
      now.point.communication);
}

// Why neither neighbour is better.
std::string settled_text(const PolicyInput& input, const Present& now, const TimeModel& model) {
  std::string text = present_text(now, model);
  const int up = step_up(input), down = step_down(input);
  text += up > input.current ? ", " + size_text(model, up) : ", no larger size is allowed";
  text += down < input.current ? ", " + size_text(model, down) : ", no smaller size is allowed";
  return text;
}

std::string imbalance_text(const Present& now) {
  return format(
      ": waiting for the busiest rank costs %.0f %%, communication %.0f %%; with the work shared out evenly "
      "it would be %.0f %% efficiency: that helps, fewer workers do not, and only the program can do it",
      100 * (1 - now.load_balance), 100 * (1 - now.point.communication),
      100 * balanced_efficiency(now.load_balance, now.point.communication));
}

}  // namespace

Proposal EfficiencyPolicy::propose(const PolicyInput& input, PolicyState& state) const {
  if (input.steady.empty()) return {input.current, "no samples", true, false, {}};
  const Present now = measure(input);
  const TimeModel model = time_model(now.point, now.work_per_iteration, now.epoch, state);
  const double floor = parameters_.min_efficiency_percent / 100.0;
  const Search search(input, now, model, floor, tolerance_, state.search == SearchState::Stable);
  const int best = search.best();
  const bool grows = best > input.current;
  const int step = grows ? std::min(step_up(input), best) : std::max(step_down(input), best);
  const bool starved = !search.efficient(input.current);
  Prediction prediction;
  prediction.measured_seconds = now.point.seconds;
  const auto stay = [&](const std::string& why, bool rebalance = false) {
    if (search.precise()) state.search = SearchState::Stable;  // else more windows may tell better
    return Proposal{input.current, settled_text(input, now, model) + why, false, rebalance, prediction};
  };

  if (step == input.current) return stay("");
  if (grows && search.gain(step) < 0) return stay("");
  if (grows && search.gain(best) < search.needed_gain())
    return stay(format(": growing promises %.1f %% less time, %.1f %% needed", 100 * search.gain(step),
                       100 * search.needed_gain()));
  // Fewer workers at the same speed save their share.
  const double saved = grows ? 0 : 1 - static_cast<double>(best) / input.current;
  if (!grows && !starved && search.gain(best) < search.needed_gain() && saved < kWorthSaving) return stay("");
  Imbalance imbalance;  // no reason to keep what grows small
  if (!grows)
    imbalance =
        imbalance_of(input.current, now.load_balance, now.point.communication, parameters_, state.measured);
  if (imbalance.sharing_out_helps()) return stay(imbalance_text(now), true);

  const ChangeCost cost = change_cost(input.history, input.current, step);
  prediction.loss =
      std::max({search.gain(step), grows ? 0 : search.gain(best),
                starved ? 1 - model.efficiency(input.current) / floor : 0, grows || starved ? 0 : saved});
  prediction.predicted_seconds = model.seconds(step);
  prediction.regret_seconds = parameters_.regret_percent / 100.0 * cost.lost_seconds;
  prediction.cooldown =
      std::chrono::ceil<Seconds>(std::chrono::duration<double>(kCooldownCosts * cost.lost_seconds));
  if (now.seconds_left && *now.seconds_left * prediction.loss < cost.lost_seconds) {
    prediction.predicted_seconds.reset();
    return stay(format(": a change costs %s and would not pay in the %s that are left",
                       time_text(cost.lost_seconds).c_str(), time_text(*now.seconds_left).c_str()));
  }
  state.search = grows ? SearchState::Increasing : SearchState::Decreasing;
  std::string reason = present_text(now, model) + ", " + size_text(model, step);
  if (starved) reason += format("; at least %d %% efficiency is wanted", parameters_.min_efficiency_percent);
  if (imbalance.undivided)
    reason += format(
        "; ranks wait for the busiest one, which computes as long as it did on %d: its part is not divided "
        "among more workers",
        imbalance.undivided->workers);
  return {step, reason, false, false, prediction};
}

}  // namespace emj
