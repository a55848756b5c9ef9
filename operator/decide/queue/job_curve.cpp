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
constexpr double kForgetting = .9;  // weight of a point per membership since it was measured
constexpr double kSmallestShare = 1e-6;

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

std::vector<SizePoint> points_of(const std::vector<MeasuredSize>& measured) {
  std::int64_t newest = 0;
  for (const MeasuredSize& point : measured) newest = std::max(newest, point.epoch);
  // Where the program says what it does, a unit of work is what takes time.
  const bool works =
      std::ranges::all_of(measured, [](const MeasuredSize& m) { return m.work_per_iteration > 0; });
  std::vector<SizePoint> points;
  for (const MeasuredSize& point : measured) {
    if (point.iteration_seconds <= 0 || point.workers < 1) continue;
    const double seconds = point.iteration_seconds / (works ? point.work_per_iteration : 1);
    const auto share = [&](double part) {
      return part > 0 ? std::clamp(part / point.iteration_seconds, kSmallestShare, 1.0) : 1.0;
    };
    points.push_back({point.workers, seconds, share(point.compute_seconds), share(point.useful_seconds),
                      std::pow(kForgetting, static_cast<double>(newest - point.epoch))});
  }
  std::ranges::sort(points, {}, &SizePoint::workers);
  const auto same = std::ranges::unique(points, {}, &SizePoint::workers);
  points.erase(same.begin(), same.end());
  return points;
}

// Of those that were measured, the one that is nearest to what it has.
int nearest_to(const std::vector<SizePoint>& points, int workers) {
  return std::ranges::min_element(points, {},
                                  [&](const SizePoint& p) { return std::abs(p.workers - workers); })
      ->workers;
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
                                        Objective objective) {
  Speed speed = prior(reference_size(job.spec));
  if (!job.spec.scheduling.scalability.empty()) speed = said(job.spec.scheduling.scalability, speed);
  const std::vector<SizePoint> points = points_of(job.status.policy_state.measured);
  std::optional<TimeModel> model;
  if (!points.empty()) {
    model.emplace(points, nearest_to(points, present));
    speed = measured_speed(*model, speed);
  }
  std::vector<double> speeds;
  const double unit = speed(present);
  for (const int size : sizes) speeds.push_back(speed(size) / unit);
  return std::make_shared<const Curve>(std::move(sizes), std::move(speeds), objective);
}

}  // namespace emj::queue
