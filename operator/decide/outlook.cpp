// SPDX-License-Identifier: Apache-2.0
// When the job will be over, what it costs, and whether it keeps to its deadline and its budget. All of it
// moves with every window: it is written when it has moved by a useful amount (decision K6').

#include <algorithm>
#include <cmath>
#include <functional>

#include "operator/api/requests.hpp"
#include "operator/decide/pass.hpp"
#include "operator/decide/policies/task_model.hpp"
#include "runtime/base/text.hpp"

namespace emj {
namespace {

using empi::amount_text;
using empi::format;

constexpr Seconds kForecastInterval{30};
constexpr Seconds kOld{900};           // told again although it has not moved
constexpr Seconds kFirstProgress{60};  // from then on a small progress tells enough, too
constexpr double kLeastProgress = .05;
constexpr Millis kLater{10000};  // of a finish: less is no news,
constexpr int kLaterShare = 20;  // nor is less than such a part of the time left

std::optional<ForecastStatus> forecast_by_tasks(const Pass& pass) {
  const auto& tasks = pass.status.tasks;
  const Sample& newest = pass.seen.samples.back();
  if (!tasks || !tasks->predicted_finish || newest.tasks.total == 0) return std::nullopt;
  // What is in the status may be of the phase before.
  const auto model = task_model(policy_input(pass), pass.status.policy_state);
  if (!model) return std::nullopt;
  const double left = model->seconds_left(pass.status.active_workers.size());
  return ForecastStatus{std::max(0.0, left - seconds_between(newest.end, pass.now)), 0, ForecastSource::Tasks,
                        pass.now};
}

// By progress over the windows of the present size (rule Q12).
std::optional<ForecastStatus> forecast_by_progress(const Pass& pass) {
  const auto& samples = pass.seen.samples;
  const Sample& newest = samples.back();
  const auto first = std::ranges::find_if(samples, [&](const Sample& sample) {
    return sample.workers == newest.workers && sample.epoch == newest.epoch && sample.progress >= 0;
  });
  if (first == samples.end() || newest.progress <= first->progress) return std::nullopt;
  const auto& started = pass.status.start_time;
  if (newest.progress < kLeastProgress && !(started && pass.now - *started >= kFirstProgress))
    return std::nullopt;
  const double seconds = seconds_between(first->end, newest.end);
  const double left = (1 - newest.progress) * seconds / (newest.progress - first->progress);
  const int error = static_cast<int>(std::lround(100 * std::clamp(newest.ci_halfwidth, 0.0, 1.0)));
  return ForecastStatus{left, error, ForecastSource::Progress, pass.now};
}

bool is_news(const ForecastStatus& before, const ForecastStatus& now) {
  if (before.workers != now.workers || before.source != now.source || !before.finish) return true;
  const Millis moved = std::chrono::abs(*now.finish - *before.finish);
  return moved >= std::max(kLater, (*now.finish - now.time) / kLaterShare) || now.time - before.time >= kOld;
}

// That of another size is, once as many windows of this one are there as the policy would judge it by; that
// of a phase of tasks that must be over is, for the next phase may have begun.
bool is_due(const Pass& pass, const ForecastStatus& before) {
  const auto& samples = pass.seen.samples;
  const auto of_another_size = [&](const Sample& sample) { return sample.workers != samples.back().workers; };
  const auto at_this =
      std::ranges::find_if(samples.rbegin(), samples.rend(), of_another_size) - samples.rbegin();
  if (before.workers != samples.back().workers && at_this > pass.spec.autoscaling.windows) return true;
  if (before.source == ForecastSource::Tasks && before.finish && *before.finish <= pass.now) return true;
  return pass.now - before.time >= kForecastInterval;
}

bool told_now(const Pass& pass) { return pass.status.forecast && pass.status.forecast->time == pass.now; }

// A running program is judged by its policy where that chooses sizes for the goal.
bool sizes_for(const Pass& pass, PolicyName goal) {
  return pass.spec.autoscaling.mode == AutoscalingMode::Auto && pass.spec.autoscaling.policy.name == goal &&
         pass.status.policy_state.paused_spec.empty();
}

struct Judged {
  bool at_risk = false;
  std::string reason, message;
};

// Words are for the reader: they are renewed when something has turned, or with the forecast.
void tell(Pass& pass, const char* type, const Judged& judged) {
  const Condition* before = find_condition(pass.status, type);
  if (!before && !judged.at_risk) return;
  const bool same = before && before->reason == judged.reason && (before->status == "True") == judged.at_risk;
  if (same && !told_now(pass)) return;
  if (judged.at_risk && !(before && before->status == "True")) pass.warning(type, judged.message);
  pass.set_condition(type, judged.at_risk, judged.reason, judged.message);
}

std::optional<Judged> judge_deadline(Pass& pass, Time deadline) {
  const JobStatus& status = pass.status;
  const std::string due = "the deadline of " + second_text(deadline);
  if (status.completion_time) {
    const std::string ended = "ended at " + second_text(*status.completion_time) + ", " + due;
    if (status.state != JobState::Succeeded) return Judged{false, "Ended", ended};
    const bool late = *status.completion_time > deadline;
    return Judged{late, late ? "Missed" : "Met", ended};
  }
  const auto& forecast = status.forecast;
  const std::string by_forecast = forecast && forecast->finish
                                      ? "; on " + workers_text(forecast->workers) +
                                            " it will be over at about " + second_text(*forecast->finish)
                                      : "";
  if (pass.now > deadline) return Judged{true, "Passed", due + " is over" + by_forecast};
  pass.wake_at(deadline + Millis(1));
  if (status.active_workers.empty()) {
    const Time soonest =
        pass.now + std::chrono::ceil<Seconds>(std::chrono::duration<double>(least_seconds(pass)));
    if (soonest <= deadline) return std::nullopt;
    return Judged{true, "Infeasible",
                  due + " cannot be met any more: by expectedSeconds the job takes " +
                      format("%.0f s at least", least_seconds(pass))};
  }
  if (sizes_for(pass, PolicyName::Deadline)) {
    if (!pass.outlook) return std::nullopt;
    return Judged{pass.outlook->at_risk, pass.outlook->at_risk ? "Infeasible" : "InTime",
                  pass.outlook->words};
  }
  if (!forecast || !forecast->finish) return std::nullopt;
  const bool late = *forecast->finish > deadline;
  return Judged{late, late ? "Late" : "InTime", late ? due + " is not met" + by_forecast : ""};
}

std::optional<Judged> judge_budget(const Pass& pass, double budget) {
  const JobStatus& status = pass.status;
  if (!status.cost) return std::nullopt;
  const double spent = spent_until(*status.cost, pass.now);
  const std::string of = amount_text(spent) + " of the budget of " + amount_text(budget);
  if (status.completion_time)
    return Judged{spent > budget, spent > budget ? "Exceeded" : "Kept", "ended, it has cost " + of};
  if (spent > budget)
    return Judged{
        true, "Exceeded",
        "it has cost " + of + (status.active_workers.empty() ? " before it starts" : " so far, and goes on")};
  if (sizes_for(pass, PolicyName::Budget)) {
    if (!pass.outlook) return std::nullopt;
    return Judged{pass.outlook->at_risk, pass.outlook->at_risk ? "Infeasible" : "Affordable",
                  pass.outlook->words};
  }
  const auto& forecast = status.forecast;
  if (!forecast || !forecast->finish) return std::nullopt;
  const double all = spent_until(*status.cost, std::max(pass.now, *forecast->finish));
  const bool dear = all > budget;
  return Judged{dear, dear ? "Dear" : "Affordable",
                dear ? "on " + workers_text(forecast->workers) + " it will have cost about " +
                           amount_text(all) + ", the budget is " + amount_text(budget)
                     : ""};
}

// In the pool that the job is on its way out of.
int workers_left_behind(const Pass& pass) {
  const auto& allocation = pass.status.allocation;
  if (!allocation || !allocation->moved_from) return 0;
  return static_cast<int>(std::ranges::count_if(pass.seen.pods, [&](const PodView& pod) {
    return !has_ended(pod) && pod.pool == allocation->moved_from->pool;
  }));
}

}  // namespace

double spent_until(const CostStatus& cost, Time time) {
  return cost.spent + cost.per_hour * std::max(0.0, seconds_between(cost.time, time)) / 3600;
}

void update_forecast(Pass& pass) {
  JobStatus& status = pass.status;
  if (status.active_workers.empty()) return status.forecast.reset();
  const auto& samples = pass.seen.samples;
  if (samples.empty() || (status.forecast && !is_due(pass, *status.forecast))) return;
  auto forecast = forecast_by_tasks(pass);
  if (!forecast) forecast = forecast_by_progress(pass);
  if (!forecast) return;
  forecast->workers = samples.back().workers;
  forecast->finish =
      forecast->time +
      std::chrono::ceil<Seconds>(std::chrono::duration<double>(std::min(forecast->seconds_left, 1e9)));
  if (!status.forecast || is_news(*status.forecast, *forecast)) status.forecast = forecast;
}

// Rule Q18. What is written holds for as long as the job keeps its size, so nothing is written meanwhile.
void update_cost(Pass& pass) {
  auto& cost = pass.status.cost;
  const auto held = static_cast<int>(std::ranges::count_if(pass.seen.pods, std::not_fn(has_ended)));
  if (!cost && held == 0) return;
  if (!cost) cost = CostStatus{0, 0, 0, pass.now};
  if (held == cost->workers && !told_now(pass)) return;
  const double spent = spent_until(*cost, pass.now);
  if (held > 0 && held == cost->workers) {
    *cost = {spent, cost->per_hour, held, pass.now};
    return;
  }
  const int left = workers_left_behind(pass);
  const double before =
      left > 0 ? pass.status.allocation->moved_from->price_per_worker_hour.value_or(worker_cpus(pass.spec))
               : 0;
  *cost = {spent, (held - left) * price_per_hour(pass) + left * before, held, pass.now};
}

double least_seconds(const Pass& pass) {
  const JobSpec& spec = pass.spec;
  const auto& expected = spec.scheduling.expected;
  if (!expected) return 0;
  const int most = spec.runtime.mode == RuntimeMode::Rigid ? reference_size(spec)
                                                           : feasible_size(spec, spec.worker.max_replicas);
  const double fastest = std::max(most, reference_size(spec)) * pass.seen.speed_percent / 100.0;
  return static_cast<double>(expected->count()) * reference_size(spec) / fastest;
}

double price_per_hour(const Pass& pass) {
  const auto& allocation = pass.status.allocation;
  if (allocation && allocation->price_per_worker_hour) return *allocation->price_per_worker_hour;
  return worker_cpus(pass.spec);
}

void update_risks(Pass& pass) {
  const SchedulingSpec& scheduling = pass.spec.scheduling;
  const auto deadline = deadline_of(pass.seen.job);
  const Judged none{false, "NoGoal", ""};
  if (const auto judged = deadline ? judge_deadline(pass, *deadline) : none)
    tell(pass, condition::kDeadlineAtRisk, *judged);
  if (const auto judged = scheduling.budget ? judge_budget(pass, amount(*scheduling.budget)) : none)
    tell(pass, condition::kBudgetAtRisk, *judged);
}

}  // namespace emj
