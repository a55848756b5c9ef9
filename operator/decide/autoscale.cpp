// What stands around every policy.

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "operator/decide/gate.hpp"
#include "operator/decide/policies/policies.hpp"

namespace emj {
namespace {

constexpr std::size_t measured_kept = 16;
constexpr double work_changed = 0.2;  // the load is another one: the reversal lock-out does not hold

int feasible(const PolicyInput& input, int wanted) {
  JobSpec spec;
  spec.worker.min_replicas = input.min;
  spec.worker.max_replicas = input.max;
  spec.resize.allowed_replicas = input.allowed;
  return feasible_size(spec, wanted);
}

std::string arrow(int from, int to) {
  return std::to_string(from) + " -> " + std::to_string(to) + " workers";
}

std::string whole_seconds(Millis span) {
  return std::to_string(std::chrono::ceil<Seconds>(span).count()) + " s";
}

struct Refusal {
  std::string reason;
  std::optional<Time> until;
};

std::optional<Refusal> stabilising(const AutoscalingSpec& spec, const PolicyInput& input, bool up,
                                   PolicyState& state) {
  std::optional<Time>& since = up ? state.up_since : state.down_since;
  (up ? state.down_since : state.up_since).reset();
  if (!since || *since > input.now) since = input.now;
  const Seconds needed = up ? spec.scale_up_stabilization : spec.scale_down_stabilization;
  const Time until = *since + needed;
  if (input.now >= until) return std::nullopt;
  return Refusal{"wanted for " + whole_seconds(input.now - *since) + " of the " + whole_seconds(needed) +
                     " stabilisation window",
                 until};
}

std::optional<Refusal> cooling(const AutoscalingSpec& spec, const PolicyInput& input) {
  if (input.history.empty()) return std::nullopt;
  const Time until = input.history.back().time + spec.cooldown;
  if (input.now >= until) return std::nullopt;
  return Refusal{"cool-down for another " + whole_seconds(until - input.now), until};
}

// No A -> B -> A: the way back is closed for three rounds unless the load has changed meanwhile.
std::optional<Refusal> locked_out(const AutoscalingSpec& spec, const PolicyInput& input, int wanted,
                                  double work_per_iteration) {
  if (input.history.empty()) return std::nullopt;
  const SizeChange& last = input.history.back();
  const bool back = last.from > 0 && last.to == input.current &&
                    (wanted > input.current) == (last.from > input.current) && last.from != input.current;
  if (!back) return std::nullopt;
  const double before = last.work_per_iteration;
  if (before > 0 && work_per_iteration > 0 && std::abs(work_per_iteration - before) > work_changed * before)
    return std::nullopt;
  const Seconds round = std::max(spec.cooldown, spec.windows * spec.window);
  const Time until = last.time + 3 * round;
  if (input.now >= until) return std::nullopt;
  return Refusal{
      "would undo " + arrow(last.from, last.to) + ", closed for another " + whole_seconds(until - input.now),
      until};
}

// One-point predictor: useful time shrinks as n/n', time in MPI per rank grows as n'/n (q = 1).
std::optional<Refusal> too_little_gain(const AutoscalingSpec& spec, const PolicyInput& input, int wanted,
                                       const std::vector<Sample>& windows) {
  if (wanted <= input.current) return std::nullopt;
  const double mtct = average_mtct(windows);
  const double ratio = static_cast<double>(wanted) / input.current;
  const double gain = 1 - (1 / ratio + mtct * ratio) / (1 + mtct);
  if (gain * 100 >= spec.min_expected_gain_percent) return std::nullopt;
  char text[120];
  std::snprintf(text, sizeof text, "expected gain %.1f %%, %d %% needed", 100 * gain,
                spec.min_expected_gain_percent);
  return Refusal{text, std::nullopt};
}

// A point is renewed when its rounded efficiency changes, at most each 30 s: status must not be written
// for every window.
void remember(const PolicyInput& input, const GateResult& data, PolicyState& state) {
  double iterations = 0, seconds = 0;
  for (const Sample& sample : data.windows) {
    iterations += static_cast<double>(sample.iterations);
    seconds += static_cast<double>(sample.iterations) * sample.mean_iteration_seconds;
  }
  const MeasuredSize point{input.current,
                           static_cast<int>(std::lround(100 / (1 + average_mtct(data.windows)))),
                           iterations > 0 ? seconds / iterations : 0, data.windows.back().end};
  for (const MeasuredSize& old : state.measured)
    if (old.workers == point.workers &&
        (old.efficiency_percent == point.efficiency_percent || point.time < old.time + Seconds(30)))
      return;
  std::erase_if(state.measured, [&](const MeasuredSize& old) { return old.workers == input.current; });
  state.measured.push_back(point);
  if (state.measured.size() > measured_kept) state.measured.erase(state.measured.begin());
}

AutoscaleResult wait(const PolicyInput& input, std::string line, std::optional<Time> until = {}) {
  return {Verdict::Wait, input.current, std::move(line), until};
}

}  // namespace

AutoscaleResult autoscale(const AutoscalingSpec& spec, const PolicyInput& input, PolicyState& state) {
  if (spec.mode == AutoscalingMode::Off || spec.policy.name == PolicyName::Manual)
    return {Verdict::Keep, input.current, "the size is set by hand", {}};
  const std::unique_ptr<Policy> policy = make_policy(spec.policy);
  const std::string name = std::string(policy->name()) + ": ";
  PolicyInput seen = input;
  GateResult data;
  if (policy->needs_samples()) {
    data = gate(spec, input);
    if (!data.missing.empty()) return wait(input, name + "insufficient data: " + data.missing);
    seen.windows = data.windows;
    remember(input, data, state);
  }
  const Proposal proposal = policy->propose(seen, state);
  if (proposal.insufficient_data) return wait(input, name + "insufficient data: " + proposal.reason);

  int wanted = feasible(input, proposal.wanted);
  // Rounding must not turn the direction round.
  if ((proposal.wanted >= input.current && wanted < input.current) ||
      (proposal.wanted <= input.current && wanted > input.current))
    wanted = input.current;
  std::optional<Time> next_tick;
  if (!policy->needs_samples() && state.last_tick)
    next_tick = *state.last_tick + (spec.policy.name == PolicyName::Stepping ? spec.policy.stepping.interval
                                                                             : spec.policy.random.interval);
  if (wanted == input.current) {
    state.up_since.reset();
    state.down_since.reset();
    std::string line = name + proposal.reason + ": stay at " + std::to_string(input.current) + " workers";
    if (proposal.wanted != input.current)
      line +=
          " (" + std::to_string(proposal.wanted) + " is beyond minReplicas, maxReplicas or allowedReplicas)";
    return {Verdict::Keep, input.current, line, next_tick};
  }

  const std::string line = name + proposal.reason + ": " + arrow(input.current, wanted);
  if (policy->needs_samples()) {
    std::optional<Refusal> refusal = stabilising(spec, input, wanted > input.current, state);
    if (!refusal) refusal = cooling(spec, input);
    if (!refusal) refusal = locked_out(spec, input, wanted, data.work_per_iteration);
    if (!refusal) refusal = too_little_gain(spec, input, wanted, data.windows);
    if (refusal) return wait(input, line + ", not yet: " + refusal->reason, refusal->until);
  }
  return {spec.mode == AutoscalingMode::Auto ? Verdict::Scale : Verdict::Recommend, wanted, line, next_tick};
}

}  // namespace emj
