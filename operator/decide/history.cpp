// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/history.hpp"

#include <algorithm>
#include <cmath>

#include "operator/decide/policies/policies.hpp"

namespace emj {
namespace {

constexpr std::size_t kMeasuredKept = 16;
constexpr double kAnotherProgram = 2;  // a change of speed by more: nothing measured before holds

bool too_much(double ratio) { return ratio > kAnotherProgram || ratio * kAnotherProgram < 1; }

// To a percent: more windows of the same say no more.
bool says_the_same(const MeasuredSize& a, const MeasuredSize& b) {
  return a.epoch == b.epoch && a.efficiency_percent == b.efficiency_percent &&
         std::abs(a.iteration_seconds - b.iteration_seconds) <= 0.01 * b.iteration_seconds;
}

// A point is renewed when what it says changes, for the first windows are a poor sample of those that follow;
// at most each 30 s: status must not be written for every window.
void keep_point(const MeasuredSize& point, PolicyState& state) {
  for (const MeasuredSize& old : state.measured)
    if (old.workers == point.workers && (old.iteration_seconds > 0 || point.iteration_seconds <= 0) &&
        (says_the_same(point, old) || (old.epoch == point.epoch && point.time < old.time + Seconds(30))))
      return;
  std::erase_if(state.measured, [&](const MeasuredSize& old) { return old.workers == point.workers; });
  state.measured.push_back(point);
  if (state.measured.size() > kMeasuredKept) state.measured.erase(state.measured.begin());
}

// What was measured at other sizes, with its parts as much longer or shorter as they have become at the
// present one. A size where that is too much for such a guess is forgotten.
void carry_over(const PhaseChange& change, int current, std::vector<MeasuredSize>& measured) {
  std::vector<MeasuredSize> carried;
  for (MeasuredSize old : measured) {
    const bool known = old.iteration_seconds > 0;  // else the parts are shares
    const double share = old.compute_seconds / (known ? old.iteration_seconds : 1);
    const double longer = share * change.compute + (1 - share) * change.transfer;
    if (old.workers == current || too_much(longer)) continue;
    const double parts = change.compute / (known ? 1 : longer);
    old.iteration_seconds *= longer;
    old.compute_seconds *= parts;
    old.useful_seconds *= parts;
    old.efficiency_percent =
        static_cast<int>(std::lround(100 * old.useful_seconds / (known ? old.iteration_seconds : 1)));
    carried.push_back(old);
  }
  measured = std::move(carried);
}

}  // namespace

void remember(const PolicyInput& input, const std::vector<Sample>& windows, PolicyState& state) {
  double iterations = 0, seconds = 0, work = 0, compute = 0, useful = 0;
  for (const Sample& sample : windows) {
    iterations += static_cast<double>(sample.iterations);
    const double time = static_cast<double>(sample.iterations) * sample.mean_iteration_seconds;
    seconds += time;
    compute += time * sample.communication_efficiency;
    useful += time * sample.parallel_efficiency;
    work += sample.work_units;
  }
  const double each = iterations > 0 ? 1 / iterations : 0;
  keep_point({input.current, static_cast<int>(std::lround(100 / (1 + average_mtct(windows)))), seconds * each,
              windows.back().end, compute * each, useful * each, work * each, windows.back().epoch},
             state);
}

void remember_shares(const PolicyInput& input, const std::vector<Sample>& windows, PolicyState& state) {
  const auto known = [&](const MeasuredSize& old) {
    return old.workers == input.current && old.iteration_seconds > 0;
  };
  if (std::any_of(state.measured.begin(), state.measured.end(), known)) return;
  double compute = 0, useful = 0;
  const auto count = static_cast<double>(windows.size());
  for (const Sample& sample : windows)
    compute += sample.communication_efficiency / count, useful += sample.parallel_efficiency / count;
  keep_point({input.current, static_cast<int>(std::lround(100 * useful)), 0, windows.back().end, compute,
              useful, 0, windows.back().epoch},
             state);
}

void remember_tasks(const PolicyInput& input, const std::vector<Sample>& windows, PolicyState& state) {
  double ended = 0, seconds = 0, busy = 0;
  for (const Sample& sample : windows) {
    if (sample.tasks.queued == 0) continue;
    const double length = std::chrono::duration<double>(sample.end - sample.start).count();
    ended += static_cast<double>(sample.tasks.ended);
    seconds += length;
    busy += length * sample.tasks.busy_share;
  }
  if (ended <= 0) return;
  // Ranks compute while they are in tasks, and send while they wait for the next one.
  const double each = seconds / ended, computed = busy / ended;
  keep_point({input.current, static_cast<int>(std::lround(100 * busy / seconds)), each, windows.back().end,
              computed, computed, 0, windows.back().epoch},
             state);
}

void start_phase(PolicyState& state, Time since) {
  state.phase_since = since;
  state.measured.clear();
  state.search = SearchState::NoReference;
  state.up_since.reset();
  state.down_since.reset();
}

// One that is settled stays so: a search costs changes of the size, and what it would find is known.
void change_phase(const PolicyInput& input, PolicyState& state, const PhaseChange& change) {
  if (too_much(change.after / change.before)) return start_phase(state, change.since);
  state.phase_since = change.since;
  state.up_since.reset();
  state.down_since.reset();
  carry_over(change, input.current, state.measured);
}

}  // namespace emj
