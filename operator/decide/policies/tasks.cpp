// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "operator/decide/policies/cost.hpp"
#include "operator/decide/policies/policies.hpp"
#include "operator/decide/policies/task_model.hpp"
#include "runtime/base/text.hpp"

namespace emj {
namespace {

using empi::format;
using empi::time_text;

// A size is given up only for an efficiency this much below the least one, so that noise moves nothing.
constexpr double kBusyMargin = 0.1;

std::string load_text(const TaskModel& model, int workers) {
  const TaskLoad& load = model.load();
  return format("phase %lld: %lld of %lld tasks done, %lld queued, %s a task (+-%s), done in %s",
                static_cast<long long>(load.phase), static_cast<long long>(load.done),
                static_cast<long long>(load.total), static_cast<long long>(load.queued),
                time_text(load.mean).c_str(), time_text(load.deviation).c_str(),
                time_text(model.seconds_left(workers)).c_str());
}

struct Growth {
  int workers = 0;
  double saved = 0;  // seconds
};

// The size within one step that is done first, and of those that are about as early the smallest.
std::optional<Growth> best_growth(const PolicyInput& input, const TaskModel& model, double floor,
                                  double tolerance) {
  std::vector<Growth> options;
  double most = 0;
  const int step = step_up(input);
  const double now = model.seconds_left(input.current);
  for (int n = input.current + 1; n <= step; ++n) {
    if (feasible(input, n) != n || model.efficiency(n) < floor) continue;
    const double delay = change_cost(input.history, input.current, n).delay_seconds;
    options.push_back({n, now - model.seconds_left_changing(n, delay)});
    most = std::max(most, options.back().saved);
  }
  for (const Growth& option : options)
    if (option.saved > 0 && option.saved >= most - tolerance * now) return option;
  return std::nullopt;
}

}  // namespace

Proposal TasksPolicy::propose(const PolicyInput& input, PolicyState& state) const {
  const std::optional<TaskModel> model = task_model(input, state);
  if (!model) return {input.current, "no task of this phase has ended", true, false, {}};
  const TaskLoad& load = model->load();
  const int current = input.current;
  const double floor = parameters_.min_efficiency_percent / 100.0;
  const double needed_return = parameters_.min_return_percent / 100.0;
  const std::string text = load_text(*model, current);
  Prediction prediction;
  prediction.measured_seconds = model->pace(current);
  const auto move = [&](int to, const std::string& why) {
    prediction.predicted_seconds = model->pace(to);
    return Proposal{to, text + why, false, false, prediction};
  };
  const auto stay = [&](const std::string& why) {
    return Proposal{current, text + why, false, false, prediction};
  };

  if (load.queued == 0) {
    // The tail: whoever has no task any more will not get one in this phase.
    const int to = std::max(feasible(input, model->needed()), step_down(input));
    if (to >= current) return stay(", the queue is empty and every worker has a task");
    const double left = model->seconds_left(current);
    const double saved = (current - to) * left;
    const double cost = change_cost(input.history, current, to).lost_seconds * current;
    if (saved < needed_return * cost)
      return stay(
          format(", the queue is empty: %d workers fewer would save %.0f worker seconds, %.0f are needed "
                 "to be worth a change",
                 current - to, saved, needed_return * cost));
    prediction.lasting = true;
    return move(to, format(", the queue is empty: %d workers have nothing more to do", current - to));
  }
  if (load.busy < floor * (1 - kBusyMargin)) {
    const int to = step_down(input);
    const std::string why = format(
        ", but ranks are in tasks %.0f %% of their time only, at least %d %% is wanted: the master or the "
        "network is the limit",
        100 * load.busy, parameters_.min_efficiency_percent);
    return to < current ? move(to, why) : stay(why);
  }
  const auto growth = best_growth(input, *model, floor, tolerance_);
  if (!growth) {
    if (step_up(input) <= current) return stay(", no larger size is allowed");
    return stay(format(", more workers would not finish earlier at %d %% efficiency or more",
                       parameters_.min_efficiency_percent));
  }
  // The mean is known from the tasks that have ended only: count what is certain.
  const double certain = growth->saved * std::max(0.0, 1 - 2 * load.error());
  const double cost = change_cost(input.history, current, growth->workers).lost_seconds;
  const std::string saves = format(", %d would save %s", growth->workers, time_text(growth->saved).c_str());
  if (certain < std::max(needed_return * cost, tolerance_ * model->seconds_left(current)))
    return stay(saves + format(", a change costs %s and would not pay", time_text(cost).c_str()));
  return move(growth->workers, saves);
}

}  // namespace emj
