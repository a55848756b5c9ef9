// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/explain.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "operator/api/condition_types.hpp"
#include "operator/decide/policies/model.hpp"
#include "operator/programs/empi/table.hpp"
#include "operator/programs/empi/view.hpp"
#include "runtime/base/text.hpp"

namespace emj::cli {

namespace {

using empi::format;
using empi::time_text;
using Lines = std::vector<std::string>;

constexpr int kMostSizes = 16;  // of a curve that are all shown
constexpr int kBarWidth = 30;

std::string span_text(Millis span) { return duration_text(std::chrono::duration<double>(span).count()); }

std::string workers_text(int workers) { return format("%d worker%s", workers, workers == 1 ? "" : "s"); }

// What a decision to wait waits for, where the spec or the status knows it better than the reason's words.
std::string awaited_by(const DecisionRecord& decision, const ElasticMPIJob& job, Time now) {
  const AutoscalingSpec& spec = job.spec.autoscaling;
  const JobStatus& status = job.status;
  const auto until = [&](Time time) { return time > now ? "until " + clock_text(time) : "no longer"; };
  switch (decision.cause) {
    case DecisionCause::NoData:
      return format("for %d iterations whose mean is known to %d %%, measured at this size",
                    spec.min_iterations, spec.max_error_percent);
    case DecisionCause::Stabilizing: {
      if (status.policy_state.up_since)
        return "the wish to grow must hold, " +
               until(*status.policy_state.up_since + spec.scale_up_stabilization);
      if (status.policy_state.down_since)
        return "the wish to shrink must hold, " +
               until(*status.policy_state.down_since + spec.scale_down_stabilization);
      return "the wish must hold for a while";
    }
    case DecisionCause::Cooldown:
      if (status.last_resize)
        return format("for a rest of at least %lld s since the last change, ",
                      static_cast<long long>(spec.cooldown.count())) +
               until(status.last_resize->completion_time + spec.cooldown);
      return "for a rest since the last change";
    case DecisionCause::Blocked:
      if (status.blocked) return "to try it again, " + until(status.blocked->retry_after);
      return "to try it again";
    case DecisionCause::ChangeCost:
      return "until the present size has cost as much as the change would";
    case DecisionCause::LittleGain:
      return format("for a gain of at least %d %%", spec.min_expected_gain_percent);
    case DecisionCause::Reversal:
      return "so that it does not go back and forth";
    default:
      return "";
  }
}

void say_what_is_asked(const ElasticMPIJob& job, Lines& lines) {
  const JobSpec& spec = job.spec;
  std::string size = "  wanted: " + workers_text(job.status.desired_replicas);
  if (spec.worker.replicas && *spec.worker.replicas != job.status.desired_replicas)
    size += format(", asked for %d", *spec.worker.replicas);
  size += format("; limits %d to %d", spec.worker.min_replicas, spec.worker.max_replicas);
  if (!spec.resize.allowed_replicas.empty()) {
    size += ", of these only";
    for (const int allowed : spec.resize.allowed_replicas) size += " " + std::to_string(allowed);
  }
  lines.push_back(size);
  const AutoscalingSpec& autoscaling = spec.autoscaling;
  std::string who = "  decided by: ";
  if (autoscaling.mode == AutoscalingMode::Off)
    who += "you (spec.autoscaling.mode is Off)";
  else
    who += format("policy %s (mode %s)", to_string(autoscaling.policy.name), to_string(autoscaling.mode));
  lines.push_back(who);
}

// What it may have, or when it is to start; why it waits is a condition.
void say_its_share(const ElasticMPIJob& job, Time now, Lines& lines) {
  const std::string& queue = job.spec.scheduling.queue_name;
  if (queue.empty() || is_terminal(job.status.state)) return;
  const AllocationStatus has = job.status.allocation.value_or(AllocationStatus{});
  std::string line = "  in queue " + queue + ": ";
  if (has.workers > 0 || has.promised == 0)
    line += has.workers > 0 ? "may have " + workers_text(has.workers) : "has nothing yet";
  else
    line += "is promised " + workers_text(has.promised);
  if (!has.pool.empty()) line += " of pool " + has.pool;
  if (!has.reason.empty()) line += ": " + has.reason;
  const auto& wait = job.status.queue;
  if (has.workers == 0 && wait && wait->expected_start && *wait->expected_start > now)
    line += "; starts at about " + clock_text(*wait->expected_start);
  lines.push_back(line);
}

void say_what_it_waits_for(const ElasticMPIJob& job, Time now, Lines& lines) {
  const JobStatus& status = job.status;
  if (const auto& resize = status.resize) {
    const Condition* said =
        find_condition(status, condition::kResizing);  // with what is missing, where something is
    const std::string what =
        said && said->status == "True" ? said->message : format("%d -> %d workers", resize->from, resize->to);
    lines.push_back("  changing for " + span_text(now - resize->start_time) + ": " + what + "; " +
                    to_string(resize->phase) + ": " + meaning(resize->phase));
    if (resize->deadline > now)
      lines.push_back("    taken back unless it gets on within " + span_text(resize->deadline - now));
  }
  if (const auto& awaited = status.awaited)
    lines.push_back("  awaited: workers " + to_string(awaited->workers) +
                    (awaited->deadline > now ? ", for another " + span_text(awaited->deadline - now) : ""));
  if (const auto& blocked = status.blocked)
    lines.push_back(format("  not tried: %d workers, after %d attempts", blocked->target, blocked->attempts) +
                    (blocked->retry_after > now ? ", until " + clock_text(blocked->retry_after) : "") + ": " +
                    blocked->reason);
  for (const Condition& known : status.conditions) {
    const bool routine = known.type == condition::kRunning || known.type == condition::kWorkersReady ||
                         known.type == condition::kResizing;
    const bool news =
        known.type == condition::kReadable ? known.status == "False" : known.status == "True" && !routine;
    if (news)
      lines.push_back("  " + known.type + " (" + known.reason + ") since " +
                      clock_text(known.last_transition_time) + ": " + known.message);
  }
}

std::string decision_size(const DecisionRecord& decision) {
  return decision.from == decision.to ? std::to_string(decision.to)
                                      : format("%d -> %d", decision.from, decision.to);
}

void say_decisions(const ElasticMPIJob& job, Time now, Lines& lines) {
  const auto& decisions = job.status.decisions;
  if (decisions.empty()) return lines.push_back("decisions: none is recorded");
  lines.push_back(format("decisions (the last %zu, times in UTC):", decisions.size()));
  for (const DecisionRecord& decision : decisions)
    lines.push_back("  " + clock_text(decision.time) + "  " + decision_size(decision) + "  " +
                    decision_text(decision).substr(10));
  if (is_terminal(job.status.state)) return;
  const std::string waits = awaited_by(decisions.back(), job, now);
  if (!waits.empty()) lines.push_back("  waits " + waits);
}

int present_size(const JobStatus& status) {
  if (status.joined_replicas > 0) return status.joined_replicas;
  return status.policy_state.changes.empty() ? 0 : status.policy_state.changes.back().to;
}

// All sizes that can be judged, or of many those that tell something.
std::vector<int> shown_sizes(const JobSpec& spec, const TimeModel& model, int present) {
  const int least = std::max(spec.worker.min_replicas, model.smallest());
  const int most = std::max(least, std::min(spec.worker.max_replicas, model.largest()));
  std::vector<int> sizes;
  for (int n = std::min(least, present); n <= std::max(most, present); ++n) {
    const bool tells = model.measured(n) || model.inferred(n) || n == present || n == least || n == most ||
                       std::has_single_bit(static_cast<unsigned>(n));
    if (most - least < kMostSizes ? n == present || is_feasible(spec, n) || model.measured(n) : tells)
      sizes.push_back(n);
  }
  return sizes;
}

void say_curve(const ElasticMPIJob& job, const TimeModel& model, int present, Lines& lines) {
  const std::vector<int> sizes = shown_sizes(job.spec, model, present);
  double longest = 0;
  int fastest = sizes.front();
  for (const int n : sizes) {
    longest = std::max(longest, model.seconds(n));
    if (model.seconds(n) < model.seconds(fastest)) fastest = n;
  }
  lines.emplace_back("what an iteration takes, by the number of workers:");
  std::vector<std::vector<std::string>> rows{{" ", "workers", "iteration", "efficiency", "known by", ""}};
  for (const int n : sizes) {
    const char* known = model.measured(n) ? "measuring" : model.inferred(n) ? "its efficiency" : "the model";
    const auto bar = static_cast<std::size_t>(
        std::max(1L, std::lround(kBarWidth * model.seconds(n) / std::max(longest, 1e-300))));
    rows.push_back({n == present ? "*" : " ", std::to_string(n), time_text(model.seconds(n)),
                    format("%.0f %%", 100 * model.efficiency(n)), known,
                    std::string(bar, '#') + (n == fastest ? " shortest" : "")});
  }
  for (const std::string& line : aligned(rows)) lines.push_back(line);
}

// A program of tasks has a pace, and no iterations.
void say_paces(const PolicyState& state, Lines& lines) {
  lines.emplace_back("seconds per task of the whole job, as measured in this phase:");
  std::vector<MeasuredSize> measured = state.measured;
  std::ranges::sort(measured, {}, &MeasuredSize::workers);
  for (const MeasuredSize& size : measured)
    lines.push_back(format("  %d workers: %s at %d %% efficiency", size.workers,
                           size.iteration_seconds > 0 ? time_text(size.iteration_seconds).c_str() : "unknown",
                           size.efficiency_percent));
}

void say_model(const ElasticMPIJob& job, Lines& lines) {
  const PolicyState& state = job.status.policy_state;
  if (state.measured.empty()) return lines.push_back("nothing is measured yet");
  if (state.task_phase > 0) return say_paces(state, lines);
  const int present = present_size(job.status);
  if (const auto model = remembered_model(state, present)) return say_curve(job, *model, present, lines);
  lines.push_back(format("what an iteration takes with %d workers is not known yet", present));
}

}  // namespace

const char* meaning(ResizePhase phase) {
  switch (phase) {
    case ResizePhase::CreatingPods:
      return "the newcomers' pods are created and started";
    case ResizePhase::Requested:
      return "sent to the lead, which has not begun it yet";
    case ResizePhase::Preparing:
      return "the newcomers' ranks start";
    case ResizePhase::Building:
      return "the ranks build their next world while the program goes on";
    case ResizePhase::Ready:
      return "the ranks agree on the iteration at which to change";
    case ResizePhase::Window:
      return "data moves and the program stands still";
    case ResizePhase::Cancelling:
      return "given up, because another size was asked for";
    case ResizePhase::RollingBack:
      return "taken back: the job goes on as it was";
    case ResizePhase::Draining:
      return "done; those that leave are being released";
    case ResizePhase::Stopping:
      return "the program was told to write what it goes on from, and to end";
    case ResizePhase::Restarting:
      return "the program is started again on the new size";
  }
  return "";
}

std::vector<std::string> why_lines(const ElasticMPIJob& job, Time now) {
  const JobStatus& status = job.status;
  std::string first = job.metadata.name + "  " + to_string(status.state) + "  " + sizes_text(status);
  if (status.performance && status.performance->efficiency_percent)
    first += format("  efficiency %d %%", *status.performance->efficiency_percent);
  Lines lines{first};
  say_what_is_asked(job, lines);
  say_its_share(job, now, lines);
  say_what_it_waits_for(job, now, lines);
  say_decisions(job, now, lines);
  say_model(job, lines);
  return lines;
}

std::vector<std::string> history_lines(const ElasticMPIJob& job) {
  const JobStatus& status = job.status;
  Lines lines;
  if (!status.policy_state.changes.empty()) {
    lines.push_back(format("changes of size (the last %zu):", status.policy_state.changes.size()));
    for (const SizeChange& change : status.policy_state.changes) {
      const std::string what = change.from == 0 ? "started with " + workers_text(change.to)
                                                : format("%d -> %d workers", change.from, change.to);
      std::string& line = lines.emplace_back("  " + clock_text(change.time) + "  ");
      line += what;
      if (change.duration_seconds > 0) line += ", took " + time_text(change.duration_seconds);
      if (change.cost_seconds > 0) line += ", cost " + time_text(change.cost_seconds);
    }
  }
  lines.push_back(format("decisions (the last %zu):", status.decisions.size()));
  for (const DecisionRecord& decision : status.decisions) lines.push_back("  " + decision_text(decision));
  if (const auto& last = status.last_resize) {
    lines.push_back(
        format("last change: %d -> %d workers, %s", last->from, last->to, to_string(last->result)) +
        (last->reason.empty() ? "" : ": " + last->reason) +
        format("; pods ready after %lld ms, committed after another %lld ms, paused %lld ms",
               static_cast<long long>(last->prepared_millis), static_cast<long long>(last->joined_millis),
               static_cast<long long>(last->paused_millis)));
  }
  if (const auto& lost = status.recoveries) {
    std::string& line = lines.emplace_back(
        format("went on without lost members %d times; the last time at ", lost->count) +
        clock_text(lost->time) + ", with " + workers_text(lost->workers) + " left: " + lost->reason);
    if (lost->lost_millis > 0)
      line += format("; the others went on after %lld ms and did %lld iterations again",
                     static_cast<long long>(lost->lost_millis),
                     static_cast<long long>(lost->repeated_iterations));
  }
  return lines;
}

}  // namespace emj::cli
