// SPDX-License-Identifier: Apache-2.0
// What is believed of how fast a job is (rule Q10).

#include <algorithm>
#include <cmath>
#include <functional>

#include "operator/decide/policies/model.hpp"
#include "operator/decide/queue/job_demand.hpp"

namespace emj::queue {
namespace {

constexpr double kPrior = .8;       // parallel efficiency at the reference size
constexpr double kForgetting = .9;  // weight of a point per run since

using Speed = std::function<double(int)>;

// Amdahl's law, through nothing that is known.
Speed prior(int reference) {
  return [reference](int workers) { return amdahl_speed(workers, std::max(1, reference), kPrior); };
}

// By the developer's points: along powers of the size between them, by the prior beyond.
Speed said(const std::vector<ScalabilityPoint>& points, Speed beyond) {
  return [&points, beyond = std::move(beyond)](int workers) {
    const auto next = std::ranges::lower_bound(points, workers, {}, &ScalabilityPoint::workers);
    const auto speed = [](const ScalabilityPoint& point) { return point.speed_percent / 100.0; };
    if (next != points.end() && next->workers == workers) return speed(*next);
    if (next == points.begin()) return speed(*next) * beyond(workers) / beyond(next->workers);
    const ScalabilityPoint& low = *(next - 1);
    if (next == points.end()) return speed(low) * beyond(workers) / beyond(low.workers);
    const double part =
        std::log(double(workers) / low.workers) / std::log(double(next->workers) / low.workers);
    return speed(low) * std::pow(speed(*next) / speed(low), part);
  };
}

// By the measured size that is nearest to what it has.
std::optional<TimeModel> model_near(const PolicyState& state, int workers) {
  const MeasuredSize* nearest = nullptr;
  for (const MeasuredSize& point : state.measured) {
    if (point.iteration_seconds <= 0) continue;
    if (!nearest || std::abs(point.workers - workers) < std::abs(nearest->workers - workers))
      nearest = &point;
  }
  return nearest ? remembered_model(state, nearest->workers) : std::nullopt;
}

// By what earlier runs have measured: each run since counts a point for nine tenths.
std::optional<TimeModel> model_of_runs(const LearnedModel& earlier, int workers) {
  std::vector<SizePoint> points;
  const double work = earlier.points.empty() ? 0 : earlier.points.front().work_per_iteration;
  for (const LearnedPoint& point : earlier.points) {
    if ((work > 0) != (point.work_per_iteration > 0)) continue;
    // On cores of the common speed: what is computed takes longer or shorter, what is sent does not.
    const double factor = point.speed_percent > 0 ? point.speed_percent / 100.0 : 1;
    const double compute = std::min(point.compute_seconds, point.iteration_seconds);
    const double seconds = point.iteration_seconds + (factor - 1) * compute;
    points.push_back({point.workers, work > 0 ? seconds / point.work_per_iteration : seconds,
                      share_of_time(factor * compute / seconds),
                      share_of_time(factor * point.useful_seconds / seconds),
                      std::pow(kForgetting, earlier.runs - point.run)});
  }
  if (points.empty()) return std::nullopt;
  const auto nearest = std::ranges::min_element(
      points, {}, [workers](const SizePoint& point) { return std::abs(point.workers - workers); });
  const int current = nearest->workers;
  return TimeModel(std::move(points), current);
}

Speed measured_speed(const TimeModel& model, Speed beyond) {
  return [&model, beyond = std::move(beyond)](int workers) {
    const int judged = std::clamp(workers, model.smallest(), model.largest());
    return beyond(workers) / beyond(judged) / model.seconds(judged);
  };
}

}  // namespace

int trusted_size(const ElasticMPIJob& job) {
  int trusted = reference_size(job.spec);
  for (const MeasuredSize& point : job.status.policy_state.measured)
    if (point.iteration_seconds > 0) trusted = std::max(trusted, 2 * point.workers);
  if (!job.spec.scheduling.scalability.empty())
    trusted = std::max(trusted, job.spec.scheduling.scalability.back().workers);
  return trusted;
}

std::shared_ptr<const Curve> curve_over(const ElasticMPIJob& job, std::vector<int> sizes, int present,
                                        Objective objective, const LearnedModel* earlier) {
  Speed speed = prior(reference_size(job.spec));
  if (!job.spec.scheduling.scalability.empty()) speed = said(job.spec.scheduling.scalability, speed);
  const std::optional<TimeModel> learned = earlier ? model_of_runs(*earlier, present) : std::nullopt;
  if (learned) speed = measured_speed(*learned, speed);
  const std::optional<TimeModel> model = model_near(job.status.policy_state, present);
  if (model) speed = measured_speed(*model, speed);
  std::vector<double> speeds;
  const double unit = speed(present);
  for (const int size : sizes) speeds.push_back(speed(size) / unit);
  return std::make_shared<const Curve>(std::move(sizes), std::move(speeds), objective);
}

}  // namespace emj::queue
