// SPDX-License-Identifier: Apache-2.0
// What stands around every policy.

#include <algorithm>
#include <cmath>

#include "operator/decide/gate.hpp"
#include "operator/decide/history.hpp"
#include "operator/decide/policies/phase.hpp"
#include "operator/decide/policies/policies.hpp"
#include "runtime/base/text.hpp"

namespace emj {
namespace {

using empi::format;
using empi::time_text;

constexpr std::size_t kSteadyKept = 30;  // windows: what a program does changes slowly, too
constexpr double kWorkChanged = 0.2;     // the load is another one: the reversal lock-out does not hold

std::string arrow(int from, int to) {
  return std::to_string(from) + " -> " + std::to_string(to) + " workers";
}

std::string whole_seconds(Millis span) {
  return std::to_string(std::chrono::ceil<Seconds>(span).count()) + " s";
}

struct Refusal {
  DecisionCause cause;
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
  return Refusal{DecisionCause::Stabilizing,
                 "wanted for " + whole_seconds(input.now - *since) + " of the " + whole_seconds(needed) +
                     " stabilisation window",
                 until};
}

std::optional<Refusal> cooling(const AutoscalingSpec& spec, const PolicyInput& input,
                               const std::optional<Prediction>& prediction) {
  if (input.history.empty()) return std::nullopt;
  // The start of the job is no change: it has cost nothing.
  const bool changed = input.history.back().from > 0;
  const Seconds needed = std::max(spec.cooldown, prediction && changed ? prediction->cooldown : Seconds(0));
  const Time until = input.history.back().time + needed;
  if (input.now >= until) return std::nullopt;
  return Refusal{DecisionCause::Cooldown, "cool-down for another " + whole_seconds(until - input.now), until};
}

// No A -> B -> A: the way back is closed for three rounds unless the load has changed meanwhile.
std::optional<Refusal> locked_out(const AutoscalingSpec& spec, const PolicyInput& input, int wanted,
                                  double work_per_iteration, const PolicyState& state) {
  if (input.history.empty()) return std::nullopt;
  const SizeChange& last = input.history.back();
  if (state.phase_since && *state.phase_since > last.time) return std::nullopt;
  const bool back = last.from > 0 && last.to == input.current &&
                    (wanted > input.current) == (last.from > input.current) && last.from != input.current;
  if (!back) return std::nullopt;
  const double before = last.work_per_iteration;
  if (before > 0 && work_per_iteration > 0 && std::abs(work_per_iteration - before) > kWorkChanged * before)
    return std::nullopt;
  const Seconds round = std::max(spec.cooldown, spec.windows * spec.window);
  const Time until = last.time + 3 * round;
  if (input.now >= until) return std::nullopt;
  return Refusal{
      DecisionCause::Reversal,
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
  return Refusal{DecisionCause::LittleGain,
                 format("expected gain %.1f %%, %d %% needed", 100 * gain, spec.min_expected_gain_percent),
                 std::nullopt};
}

// Ski rental: what the present size has cost since a better one is known must reach what the change costs. So
// a change costs at most twice what an oracle would have paid, however long the program still runs.
std::optional<Refusal> regret_too_small(const PolicyInput& input, bool up, const Prediction& prediction,
                                        const PolicyState& state) {
  const std::optional<Time>& since = up ? state.up_since : state.down_since;
  if (prediction.regret_seconds <= 0 || prediction.loss <= 0 || !since) return std::nullopt;
  const double lost = std::chrono::duration<double>(input.now - *since).count() * prediction.loss;
  if (lost >= prediction.regret_seconds) return std::nullopt;
  const std::chrono::duration<double> needed(prediction.regret_seconds / prediction.loss);
  return Refusal{DecisionCause::ChangeCost,
                 format("lost %.1f s so far to the present size, a change pays from %.1f s on", lost,
                        prediction.regret_seconds),
                 *since + std::chrono::ceil<Millis>(needed)};
}

AutoscaleResult wait(const PolicyInput& input, DecisionCause cause, std::string line,
                     std::optional<Time> until = {}) {
  AutoscaleResult result;
  result.verdict = Verdict::Wait;
  result.cause = cause;
  result.wanted = input.current;
  result.line = std::move(line);
  result.look_again = until;
  return result;
}

AutoscaleResult by_hand(const PolicyInput& input) {
  AutoscaleResult result;
  result.wanted = input.current;
  result.line = "the size is set by hand";
  return result;
}

bool in_phase_of_tasks(const PolicyInput& input) {
  return !input.windows.empty() && input.windows.back().tasks.total > 0;
}

// Fits a model to what was measured at several sizes.
bool goes_by_model(PolicyName policy) {
  return policy == PolicyName::Efficiency || policy == PolicyName::Throughput ||
         policy == PolicyName::Deadline || policy == PolicyName::Budget;
}

// Selects and remembers what the policy may judge. What is missing, or "".
std::string select_evidence(const AutoscalingSpec& spec, Evidence evidence, PolicyInput& input,
                            PolicyState& state, double& work_per_iteration, std::vector<Sample>& whole) {
  const bool searches = evidence == Evidence::Iterations && goes_by_model(spec.policy.name);
  GateResult data = gate(spec, input, evidence, searches ? state.phase_since : std::nullopt);
  if (searches && !data.stale) {
    if (in_phase_of_tasks(input)) return "this is a master-worker program, which policy tasks sizes";
    const auto change = detect_phase_change(data.steady);
    if (change) {
      change_phase(input, state, *change);
      return "another phase of the program: an iteration, or a unit of its work, went from " +
             time_text(change->before) + " to " + time_text(change->after) +
             " at the same size; what is known of other sizes changes with it";
    }
  }
  if (evidence == Evidence::Tasks && !data.stale) {
    // Other tasks, other times.
    const std::int64_t phase = input.windows.back().tasks.phase;
    if (phase != state.task_phase) start_phase(state, input.windows.back().start);
    state.task_phase = phase;
  }
  if (data.steady.size() > kSteadyKept)
    data.steady.erase(data.steady.begin(), data.steady.end() - static_cast<std::ptrdiff_t>(kSteadyKept));
  whole = std::move(data.whole);
  if (!data.missing.empty()) return data.missing;
  work_per_iteration = data.work_per_iteration;
  if (evidence == Evidence::Tasks) {
    remember_tasks(input, data.steady, state);
    data.windows.clear();  // every window of the phase, at whatever size
    for (const Sample& sample : input.windows)
      if (sample.tasks.phase == state.task_phase) data.windows.push_back(sample);
  } else {
    remember(input, searches ? data.steady : data.windows, state);
  }
  input.windows = std::move(data.windows);
  input.steady = std::move(data.steady);
  return "";
}

std::optional<Refusal> guard(const AutoscalingSpec& spec, const PolicyInput& input, int wanted,
                             const Proposal& proposal, double work_per_iteration, PolicyState& state) {
  const bool up = wanted > input.current;
  std::optional<Refusal> refusal = stabilising(spec, input, up, state);
  if (!refusal) refusal = cooling(spec, input, proposal.prediction);
  if (!refusal && !(proposal.prediction && proposal.prediction->lasting))
    refusal = locked_out(spec, input, wanted, work_per_iteration, state);
  if (!refusal && !proposal.prediction) refusal = too_little_gain(spec, input, wanted, input.windows);
  if (!refusal && proposal.prediction) refusal = regret_too_small(input, up, *proposal.prediction, state);
  return refusal;
}

std::optional<Time> next_tick(const AutoscalingSpec& spec, Evidence evidence, const PolicyState& state) {
  if (evidence != Evidence::Clock || !state.last_tick) return std::nullopt;
  return *state.last_tick + (spec.policy.name == PolicyName::Stepping ? spec.policy.stepping.interval
                                                                      : spec.policy.random.interval);
}

// Throughput of a master-worker program is a matter of its tasks, and so is the time it has left.
std::unique_ptr<Policy> policy_for(AutoscalingSpec spec, const PolicyInput& input) {
  const bool tasks = in_phase_of_tasks(input);
  if (spec.policy.name == PolicyName::Throughput && tasks) spec.policy.name = PolicyName::Tasks;
  return make_policy(spec, tasks ? Evidence::Tasks : Evidence::Iterations);
}

}  // namespace

AutoscaleResult autoscale(const AutoscalingSpec& spec, const PolicyInput& input, PolicyState& state) {
  if (spec.mode == AutoscalingMode::Off || spec.policy.name == PolicyName::Manual) return by_hand(input);
  const std::unique_ptr<Policy> policy = policy_for(spec, input);
  const std::string name = std::string(policy->name()) + ": ";
  const Evidence evidence = policy->evidence();
  PolicyInput seen = input;
  double work_per_iteration = 0;
  std::optional<Proposal> early;
  if (evidence != Evidence::Clock) {
    std::vector<Sample> whole;
    const std::string missing = select_evidence(spec, evidence, seen, state, work_per_iteration, whole);
    if (!missing.empty() && !whole.empty()) early = policy->propose_early(seen, whole, state);
    if (early) remember_shares(seen, whole, state);
    if (!missing.empty() && !early)
      return wait(input, DecisionCause::NoData, name + "insufficient data: " + missing);
  }
  const Proposal proposal = early ? *early : policy->propose(seen, state);
  if (proposal.insufficient_data)
    return wait(input, DecisionCause::NoData, name + "insufficient data: " + proposal.reason);

  const int wanted = feasible(input, proposal.wanted);
  AutoscaleResult result;
  result.look_again = next_tick(spec, evidence, state);
  result.wanted = wanted;
  result.outlook = proposal.outlook;
  if (proposal.prediction) result.measured_seconds = proposal.prediction->measured_seconds;
  if (wanted == input.current) {
    state.up_since.reset();
    state.down_since.reset();
    result.rebalance = proposal.rebalance;
    result.cause = proposal.rebalance                 ? DecisionCause::Imbalance
                   : proposal.wanted != input.current ? DecisionCause::Limit
                                                      : DecisionCause::BestSize;
    result.line = name + proposal.reason + ": stay at " + std::to_string(input.current) + " workers";
    if (proposal.wanted != input.current)
      result.line +=
          " (" + std::to_string(proposal.wanted) + " is beyond minReplicas, maxReplicas or allowedReplicas)";
    return result;
  }

  result.line = name + proposal.reason + ": " + arrow(input.current, wanted);
  if (evidence != Evidence::Clock) {
    const auto refusal = guard(spec, seen, wanted, proposal, work_per_iteration, state);
    if (refusal) {
      AutoscaleResult later =
          wait(input, refusal->cause, result.line + ", not yet: " + refusal->reason, refusal->until);
      later.outlook = proposal.outlook;
      return later;
    }
  }
  if (proposal.prediction) result.predicted_seconds = proposal.prediction->predicted_seconds;
  result.cause = wanted > input.current ? DecisionCause::Grow : DecisionCause::Shrink;
  result.verdict = spec.mode == AutoscalingMode::Auto ? Verdict::Scale : Verdict::Recommend;
  return result;
}

}  // namespace emj
