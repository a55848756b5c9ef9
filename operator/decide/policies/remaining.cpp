// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/policies/remaining.hpp"

#include <algorithm>

#include "operator/decide/policies/cost.hpp"
#include "operator/decide/policies/present.hpp"
#include "operator/decide/policies/task_model.hpp"
#include "runtime/base/text.hpp"

namespace emj {
namespace {

using empi::format;
using empi::time_text;

// `left` at the present pace, `ratio` of the pace at the other size to it.
double with_change(const ChangeCost& cost, double left, double ratio, bool grows) {
  // Newcomers compute once they are there; who leaves is gone at once, which is the slower way to count.
  const double before = grows ? std::min(left, cost.delay_seconds) : 0;
  return before + (left - before) * ratio + cost.lost_seconds;
}

std::optional<Remaining> by_progress(const PolicyInput& input, const PolicyState& state,
                                     std::string& missing) {
  const Present now = measure(input);
  if (!now.seconds_left) {
    missing = input.steady.back().progress < 0
                  ? "the program does not report its progress, so nobody can tell when it will be over"
                  : "its progress has not moved at this size";
    return std::nullopt;
  }
  const TimeModel model = time_model(now.point, now.work_per_iteration, now.epoch, state);
  const double left = *now.seconds_left;
  Remaining remaining;
  remaining.iteration = [model](int workers) { return model.seconds(workers); };
  const auto at_ratio = [left, history = input.history, current = input.current](int workers, double ratio) {
    if (workers == current) return left;
    return with_change(change_cost(history, current, workers), left, ratio, workers > current);
  };
  remaining.seconds = [model, at_ratio, current = input.current](int workers) {
    return at_ratio(workers, model.seconds(workers) / model.seconds(current));
  };
  remaining.at_best = [at_ratio, computes = now.point.communication * input.current](int workers) {
    return at_ratio(workers, computes / workers);
  };
  remaining.error = kSignificance * now.noise;
  remaining.smallest = model.smallest();
  remaining.largest = model.largest();
  remaining.fewer_known = model.sizes() > 1;
  remaining.words = format("%.1f %% done", 100 * input.steady.back().progress);
  return remaining;
}

std::optional<Remaining> by_tasks(const PolicyInput& input, const PolicyState& state, std::string& missing) {
  const auto model = task_model(input, state);
  if (!model) {
    missing = "no task of this phase has ended";
    return std::nullopt;
  }
  Remaining remaining;
  remaining.iteration = [model = *model](int workers) { return model.pace(workers); };
  remaining.seconds = [model = *model, history = input.history, current = input.current](int workers) {
    if (workers == current) return model.seconds_left(current);
    const ChangeCost cost = change_cost(history, current, workers);
    return model.seconds_left_changing(workers, workers > current ? cost.delay_seconds : 0);
  };
  remaining.error = kSignificance * std::min(1.0, model->load().error());
  remaining.smallest = std::max(1, input.current / 2);
  remaining.largest = 2 * input.current;
  remaining.fewer_known = true;
  remaining.at_best = remaining.seconds;
  remaining.words =
      format("%lld of %lld tasks of this phase done", static_cast<long long>(model->load().done),
             static_cast<long long>(model->load().total));
  return remaining;
}

}  // namespace

std::optional<Remaining> remaining_time(const PolicyInput& input, const PolicyState& state, Evidence evidence,
                                        std::string& missing) {
  auto remaining =
      evidence == Evidence::Tasks ? by_tasks(input, state, missing) : by_progress(input, state, missing);
  if (remaining)
    remaining->words +=
        format(", %s left on %d", time_text(remaining->seconds(input.current)).c_str(), input.current);
  return remaining;
}

std::vector<int> possible_sizes(const PolicyInput& input) {
  std::vector<int> sizes;
  for (int n = std::min(input.min, input.current); n <= std::max(input.max, input.current); ++n) {
    const bool allowed =
        n >= input.min && n <= input.max &&
        (input.allowed.empty() || std::ranges::find(input.allowed, n) != input.allowed.end());
    if (allowed || n == input.current) sizes.push_back(n);
  }
  return sizes;
}

}  // namespace emj
