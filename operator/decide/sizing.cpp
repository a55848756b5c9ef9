// SPDX-License-Identifier: Apache-2.0
// Which size a job is to have: by its spec, and by its autoscaling policy.

#include <algorithm>
#include <cmath>

#include "operator/api/parse.hpp"
#include "operator/decide/pass.hpp"
#include "operator/decide/policies/task_model.hpp"
#include "operator/decide/queueing.hpp"

namespace emj {
namespace {

constexpr std::size_t kDecisionsKept = 10;
constexpr Seconds kStatusInterval{30};
constexpr Seconds kWaitInterval{120};
constexpr int kMovedPoints = 5;
constexpr Seconds kMoved{60},
    kWandered{900};  // an efficiency that has moved so far, or less, is written again

DecisionAction action_of(const AutoscaleResult& result) {
  switch (result.verdict) {
    case Verdict::Scale:
      return DecisionAction::Scale;
    case Verdict::Recommend:
      return DecisionAction::Recommend;
    case Verdict::Keep:
      return result.rebalance ? DecisionAction::Rebalance : DecisionAction::Keep;
    case Verdict::Wait:
      break;
  }
  return DecisionAction::Wait;
}

// The status says what a waiting policy waits for now. Each time costs a write of the status: another cause
// is told a few windows later, the same one in its present words and numbers now and then.
bool other_wait(const Pass& pass, const DecisionRecord& last, DecisionCause cause,
                const std::string& reason) {
  const AutoscalingSpec& spec = pass.spec.autoscaling;
  const Seconds apart = std::min<Seconds>(kStatusInterval, spec.windows * spec.window);
  if (last.action != DecisionAction::Wait || (cause == last.cause && reason == last.reason)) return false;
  return pass.now - last.time >= (cause == last.cause ? kWaitInterval : apart);
}

void record(Pass& pass, DecisionAction action, int from, int to, const std::string& reason,
            DecisionCause cause, const AutoscaleResult& result) {
  auto& decisions = pass.status.decisions;
  const bool repeated = !decisions.empty() && decisions.back().action == action &&
                        decisions.back().from == from && decisions.back().to == to;
  if (repeated && !other_wait(pass, decisions.back(), cause, reason)) return;
  if (repeated) decisions.pop_back();
  decisions.push_back({pass.now,
                       from,
                       to,
                       to_string(pass.spec.autoscaling.policy.name),
                       action,
                       reason,
                       cause,
                       result.measured_seconds,
                       result.predicted_seconds,
                       {}});
  if (action == DecisionAction::Rebalance) pass.event("Imbalanced", reason);
  if (decisions.size() > kDecisionsKept) decisions.erase(decisions.begin());
}

int newest_efficiency(const Pass& pass) {
  return pass.seen.samples.empty()
             ? 0
             : static_cast<int>(std::lround(100 * pass.seen.samples.back().parallel_efficiency));
}

// Auto and somebody else writing the size do not go together: the other one wins until told otherwise.
bool paused(Pass& pass) {
  PolicyState& state = pass.status.policy_state;
  const auto& replicas = pass.spec.worker.replicas;
  const std::string now_spec = fingerprint(pass.spec.autoscaling);
  if (!state.paused_spec.empty() && (pass.seen.resume_autoscaling || state.paused_spec != now_spec)) {
    state.paused_spec.clear();
    state.accepted_replicas = replicas;
    pass.set_condition(condition::kAutoscalingPaused, false, "Resumed", "autoscaling decides again");
    pass.event("AutoscalingResumed", "autoscaling decides again");
  }
  if (!state.paused_spec.empty()) {
    state.accepted_replicas = replicas;
    return true;
  }
  if (replicas && replicas == state.written_replicas) state.accepted_replicas = replicas;
  if (!replicas || replicas == state.accepted_replicas) return false;
  state.paused_spec = now_spec;
  state.accepted_replicas = replicas;
  state.written_replicas.reset();
  const std::string message =
      "spec.worker.replicas was set to " + std::to_string(*replicas) +
      " by somebody else; autoscaling rests until spec.autoscaling changes or `empi resume`";
  pass.set_condition(condition::kAutoscalingPaused, true, "ForeignScale", message);
  pass.warning("AutoscalingPaused", message);
  return true;
}

// What the last change has really brought, once the policy has measured the new size.
void record_achieved(Pass& pass) {
  auto& decisions = pass.status.decisions;
  const auto scaled = std::find_if(decisions.rbegin(), decisions.rend(),
                                   [](const DecisionRecord& d) { return d.action == DecisionAction::Scale; });
  if (scaled == decisions.rend() || !scaled->predicted_seconds || scaled->achieved_seconds ||
      scaled->to != pass.status.active_workers.size())
    return;
  for (const MeasuredSize& point : pass.status.policy_state.measured)
    if (point.workers == scaled->to && point.time > scaled->time && point.iteration_seconds > 0)
      scaled->achieved_seconds = point.iteration_seconds;
}

// In a queue a size is wished for. Throughput wishes for all there is, until it finds a size too large; then
// for that no more, before it wants to grow again by its own measure.
void ask_queue(Pass& pass, const AutoscaleResult& result) {
  std::optional<int>& wish = pass.status.policy_state.wish;
  const int current = pass.status.active_workers.size();
  const bool asks = result.verdict == Verdict::Scale;
  record(pass, asks ? DecisionAction::Ask : action_of(result), current, result.wanted, result.line,
         result.cause, result);
  const PolicyName policy = pass.spec.autoscaling.policy.name;
  const bool by_the_clock = policy == PolicyName::Stepping || policy == PolicyName::Random;
  // Between two ticks it says nothing new.
  if (result.verdict == Verdict::Wait || (by_the_clock && !asks)) return;
  if (policy != PolicyName::Throughput || result.wanted < current) {
    wish = result.wanted;
  } else if (result.wanted > current || !wish) {
    wish = pass.spec.worker.max_replicas;
  }
}

void carry_out(Pass& pass, const AutoscaleResult& result) {
  const int current = pass.status.active_workers.size();
  const auto& blocked = pass.status.blocked;
  const bool acts = result.verdict == Verdict::Scale || result.verdict == Verdict::Recommend;
  pass.autoscaling = result.line;
  if (acts && blocked && blocked->target == result.wanted && pass.now < blocked->retry_after) {
    pass.autoscaling += ", not yet: the last attempt failed (" + blocked->reason + ")";
    record(pass, DecisionAction::Wait, current, result.wanted, pass.autoscaling, DecisionCause::Blocked,
           result);
    return;
  }
  if (acts && pass.status.awaited && result.wanted > current) {
    pass.autoscaling +=
        ", not yet: workers are missing already (" + missing_worker(pass, pass.status.awaited->workers) + ")";
    record(pass, DecisionAction::Wait, current, result.wanted, pass.autoscaling, DecisionCause::Blocked,
           result);
    return;
  }
  if (in_queue(pass.spec) && pass.spec.autoscaling.mode == AutoscalingMode::Auto)
    return ask_queue(pass, result);
  record(pass, action_of(result), current, result.wanted, result.line, result.cause, result);
  if (!acts) return;
  auto& recommendation = pass.status.recommendation;
  if (!recommendation || recommendation->replicas != result.wanted)
    recommendation = Recommendation{result.wanted, newest_efficiency(pass), result.line, pass.now};
  if (result.verdict != Verdict::Scale || result.wanted == pass.spec.worker.replicas) return;
  pass.status.policy_state.written_replicas = result.wanted;
  pass.act(WriteScale{result.wanted});
  pass.event("Scaled", result.line);
}

// A size at which the rest of a grow is awaited is nobody's decision: what is measured there says nothing of
// the one that was decided, so nothing is. If the rest does not come, the job lives with the size that it
// has.
bool rest_is_late(const Pass& pass) {
  return pass.status.awaited && pass.now >= pass.status.awaited->deadline;
}

// Rule Q16. A rigid program is granted the size that it keeps.
int size_in_queue(const Pass& pass) {
  const int floor = feasible_size(pass.spec, pass.spec.worker.min_replicas);
  const int allocated = allocated_workers(pass.status);
  const bool rigid = pass.spec.runtime.mode == RuntimeMode::Rigid;
  return feasible_size(
      pass.spec, rigid
                     ? allocated
                     : std::min(std::max(queue_wish(pass.spec, pass.status.policy_state), floor), allocated));
}

}  // namespace

PolicyInput policy_input(const Pass& pass) {
  PolicyInput input;
  input.windows = pass.seen.samples;
  input.current = pass.status.active_workers.size();
  input.slots = pass.spec.slots_per_worker;
  const PolicyState& state = pass.status.policy_state;
  input.min = within_program(state, pass.spec.worker.min_replicas);
  input.max = within_program(state, pass.spec.worker.max_replicas);
  input.step = pass.spec.resize.step;
  input.allowed = pass.spec.resize.allowed_replicas;
  input.history = pass.status.policy_state.changes;
  input.now = pass.now;
  const auto& budget = pass.spec.scheduling.budget;
  input.goals.deadline = deadline_of(pass.seen.job);
  if (budget && pass.status.cost) {
    const CostStatus& cost = *pass.status.cost;
    input.goals.budget = amount(*budget);
    input.goals.spent = spent_until(cost, pass.now);
    input.goals.per_worker_hour = cost.workers > 0 ? cost.per_hour / cost.workers : price_per_hour(pass);
  }
  return input;
}

int within_program(const PolicyState& state, int workers) {
  if (state.program_max <= 0) return workers;
  return std::clamp(workers, std::min(state.program_min, state.program_max), state.program_max);
}

// The newest window says what holds: each repeats it. A program that starts anew has said nothing.
void adopt_program_range(Pass& pass) {
  PolicyState& state = pass.status.policy_state;
  const bool runs = !pass.status.active_workers.empty();
  if (runs && pass.seen.samples.empty()) return;
  state.program_min = runs ? pass.seen.samples.back().wish_min : 0;
  state.program_max = runs ? pass.seen.samples.back().wish_max : 0;
}

int target_size(Pass& pass) {
  JobStatus& status = pass.status;
  if (in_queue(pass.spec)) {
    const bool keeps = pass.spec.runtime.mode == RuntimeMode::Rigid && !status.active_workers.empty();
    return status.desired_replicas = keeps ? status.active_workers.size() : size_in_queue(pass);
  }
  int wanted = pass.spec.worker.replicas.value_or(
      status.desired_replicas > 0 ? status.desired_replicas : pass.spec.worker.min_replicas);
  const bool running = !status.active_workers.empty();
  const int usable = within_program(status.policy_state, wanted);
  const int feasible = feasible_size(pass.spec, usable);
  if (pass.spec.runtime.mode == RuntimeMode::Rigid && running) {
    const int size = status.active_workers.size();
    if (feasible != size)
      pass.set_condition(
          condition::kSizeAdjusted, true, "Rigid",
          "asked for " + workers_text(wanted) + ", but a rigid program keeps its " + std::to_string(size));
    return status.desired_replicas = size;
  }
  if (usable != wanted && feasible != wanted) {
    pass.set_condition(condition::kSizeAdjusted, true, "ProgramRange",
                       "asked for " + workers_text(wanted) + ", running with " + std::to_string(feasible) +
                           ": the program itself says that it can use " +
                           std::to_string(status.policy_state.program_min) + " to " +
                           std::to_string(status.policy_state.program_max) + " now");
  } else if (feasible != wanted) {
    pass.set_condition(condition::kSizeAdjusted, true, "NotAllowed",
                       "asked for " + workers_text(wanted) + ", running with " + std::to_string(feasible) +
                           ": minReplicas, maxReplicas and allowedReplicas leave no other size below");
  } else if (find_condition(status, condition::kSizeAdjusted)) {
    pass.set_condition(condition::kSizeAdjusted, false, "Allowed", "");
  }
  return status.desired_replicas = feasible;
}

// An absent size becomes the one that the job was given: to a HorizontalPodAutoscaler "absent" is zero, and
// that means "leave it alone".
bool fill_in_size(Pass& pass, int target) {
  auto& written = pass.status.policy_state.written_replicas;
  const bool on_its_way = pass.spec.autoscaling.mode == AutoscalingMode::Auto && written;
  if (pass.spec.worker.replicas || on_its_way || pass.spec.runtime.mode == RuntimeMode::Rigid) return false;
  written = target;
  pass.act(WriteScale{target});
  return true;
}

void run_autoscaling(Pass& pass, int target) {
  const AutoscalingSpec& autoscaling = pass.spec.autoscaling;
  PolicyState& state = pass.status.policy_state;
  if (!in_queue(pass.spec) && fill_in_size(pass, target)) return;
  if (autoscaling.mode == AutoscalingMode::Off || autoscaling.policy.name == PolicyName::Manual) return;
  if (autoscaling.mode == AutoscalingMode::Auto) {
    if (paused(pass)) return;
    if (!pass.seen.scale_problem.empty() && state.written_replicas) {
      // The limits have changed since it was decided, as a rule: to repeat it would be refused for ever.
      record(pass, DecisionAction::Wait, pass.status.active_workers.size(), *state.written_replicas,
             "the API server refuses this size: " + pass.seen.scale_problem, DecisionCause::Limit, {});
      state.written_replicas.reset();
      return pass.wake_at(pass.now);
    }
    // Our last write has not arrived: repeat it rather than decide again.
    if (state.written_replicas && state.written_replicas != pass.spec.worker.replicas)
      return pass.act(WriteScale{*state.written_replicas});
  }
  const bool settled = !pass.status.resize && (target == pass.status.active_workers.size() ||
                                               pass.status.blocked || rest_is_late(pass));
  if (!settled || !pass.seen.runtime.reachable || pass.seen.runtime.ending) return;
  const AutoscaleResult result = autoscale(autoscaling, policy_input(pass), state);
  pass.outlook = result.outlook;
  record_achieved(pass);
  carry_out(pass, result);
  if (result.look_again) pass.wake_at(*result.look_again);
}

namespace {

bool is_stale(const Pass& pass, const Sample& newest) {
  if (pass.seen.unmeasured_since && pass.now - *pass.seen.unmeasured_since >= kSilence) return true;
  return pass.now - newest.end > 5 * (newest.end - newest.start) + Seconds(5);
}

}  // namespace

// K6': a thousand jobs whose efficiency wanders by a few points would load the API server; the metrics have
// it exactly.
void update_performance(Pass& pass) {
  auto& performance = pass.status.performance;
  if (pass.status.active_workers.empty() || pass.seen.samples.empty()) return;
  const Sample& newest = pass.seen.samples.back();
  if (is_stale(pass, newest)) {
    if (performance && performance->efficiency_percent) performance->efficiency_percent.reset();
    return;
  }
  const int efficiency = newest_efficiency(pass);
  if (performance && performance->efficiency_percent) {
    const int moved = std::abs(*performance->efficiency_percent - efficiency);
    if (moved == 0 || newest.end - *performance->window_end < (moved >= kMovedPoints ? kMoved : kWandered))
      return;
  }
  performance = Performance{efficiency, newest.end};
}

// Of a master-worker program, whatever its policy. At most each 30 s as well: phases may follow each other
// within seconds.
void update_tasks(Pass& pass) {
  auto& tasks = pass.status.tasks;
  if (pass.status.active_workers.empty() || pass.seen.samples.empty()) return;
  const Sample& newest = pass.seen.samples.back();
  const bool recent = tasks && newest.end - tasks->window_end < kStatusInterval;
  if (is_stale(pass, newest)) {
    if (tasks) tasks->predicted_finish.reset();
    return;
  }
  if (newest.tasks.total == 0) {
    if (!recent) tasks.reset();
    return;
  }
  if (recent && tasks->predicted_finish) return;
  TaskStatus now{newest.tasks.phase, newest.tasks.total, newest.tasks.done, newest.tasks.queued, 0, {},
                 newest.end};
  if (const auto model = task_model(policy_input(pass), pass.status.policy_state)) {
    now.mean_seconds = model->load().mean;
    const std::chrono::duration<double> left(model->seconds_left(pass.status.active_workers.size()));
    now.predicted_finish = newest.end + std::chrono::ceil<Seconds>(left);
  }
  if (!recent || now.predicted_finish) tasks = now;
}

}  // namespace emj
