// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/policies/model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace emj {
namespace {

constexpr double kForgetting = 0.9;  // weight of a point per membership since it was measured
constexpr double kSmallestShare = 1e-6;

using Row = std::vector<double>;

// Solves the normal equations by elimination with pivoting; empty when the columns are dependent.
Row solve(std::vector<Row> a, Row b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    if (std::abs(a[pivot][k]) < 1e-12 * (1 + std::abs(a[k][k]))) return {};
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return b;
}

// Least squares with the columns of `set` only; empty when one of them would be negative.
Row with_columns(const std::vector<Row>& rows, const Row& values, unsigned set) {
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < rows.front().size(); ++c)
    if (set >> c & 1) columns.push_back(c);
  std::vector<Row> normal(columns.size(), Row(columns.size(), 0));
  Row right(columns.size(), 0);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      right[i] += rows[r][columns[i]] * values[r];
      for (std::size_t j = 0; j < columns.size(); ++j)
        normal[i][j] += rows[r][columns[i]] * rows[r][columns[j]];
    }
  }
  const Row solution = columns.empty() ? Row{} : solve(std::move(normal), std::move(right));
  Row all(rows.front().size(), 0);
  if (solution.size() != columns.size()) return {};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (solution[i] < 0) return {};
    all[columns[i]] = solution[i];
  }
  return all;
}

double squared_residual(const std::vector<Row>& rows, const Row& values, const Row& x) {
  double sum = 0;
  for (std::size_t r = 0; r < rows.size(); ++r)
    sum += std::pow(std::inner_product(x.begin(), x.end(), rows[r].begin(), -values[r]), 2);
  return sum;
}

Row compute_terms(double n) { return {1, 1 / n}; }
Row transfer_terms(double n) { return {1, std::log2(n), n}; }

// Errors count in relation to the whole iteration, not to the part that is fitted.
Row fit(const std::vector<SizePoint>& points, Row (*terms)(double), double (*part)(const SizePoint&)) {
  std::vector<Row> rows;
  Row values;
  for (const SizePoint& point : points) {
    if (point.weight <= 0) continue;
    const double scale = std::sqrt(point.weight) / point.seconds;
    Row row = terms(point.workers);
    for (double& term : row) term *= scale;
    rows.push_back(std::move(row));
    values.push_back(scale * part(point));
  }
  return nonnegative_least_squares(rows, values);
}

double compute_part(const SizePoint& point) { return point.seconds * point.communication; }
double transfer_part(const SizePoint& point) { return point.seconds * (1 - point.communication); }

double value(const Row& coefficients, const Row& terms) {
  return std::inner_product(coefficients.begin(), coefficients.end(), terms.begin(), 0.0);
}

}  // namespace

std::vector<double> nonnegative_least_squares(const std::vector<Row>& rows, const Row& values) {
  if (rows.empty()) return {};
  const auto columns = static_cast<unsigned>(rows.front().size());
  std::vector<unsigned> sets(1u << columns);
  std::iota(sets.begin(), sets.end(), 0u);
  std::stable_sort(sets.begin(), sets.end(),
                   [](unsigned a, unsigned b) { return std::popcount(a) < std::popcount(b); });
  const double scale = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  Row best(columns, 0);
  double least = scale;
  for (const unsigned set : sets) {
    const Row x = with_columns(rows, values, set);
    if (x.empty()) continue;
    const double residual = squared_residual(rows, values, x);
    if (residual < least - 1e-9 * scale) {
      least = residual;
      best = x;
    }
  }
  return best;
}

TimeModel::TimeModel(std::vector<SizePoint> points, int current) : points_(std::move(points)) {
  std::sort(points_.begin(), points_.end(),
            [](const SizePoint& a, const SizePoint& b) { return a.workers < b.workers; });
  compute_ = fit(points_, compute_terms, compute_part);
  transfer_ = fit(points_, transfer_terms, transfer_part);
  fitted_ = std::count_if(points_.begin(), points_.end(), [](const SizePoint& p) { return p.weight > 0; });
  current_ = nearest(current);
  useful_ = current_.workers * current_.seconds;
  for (const SizePoint& point : points_)
    useful_ = std::min(useful_, point.workers * point.seconds * point.efficiency);
}

const SizePoint& TimeModel::nearest(int workers) const {
  const auto distance = [workers](const SizePoint& p) {
    return std::abs(std::log(static_cast<double>(p.workers) / workers));
  };
  return *std::min_element(points_.begin(), points_.end(),
                           [&](const SizePoint& a, const SizePoint& b) { return distance(a) < distance(b); });
}

bool TimeModel::measured(int workers) const {
  return nearest(workers).workers == workers && nearest(workers).weight > 0;
}
bool TimeModel::inferred(int workers) const {
  return nearest(workers).workers == workers && nearest(workers).weight <= 0;
}

double TimeModel::seconds(int workers) const {
  const SizePoint& point = nearest(workers);
  if (point.workers == workers) return point.seconds;
  if (fitted_ == 1) return from_one_size(workers);
  const auto carried_over = [&](const Row& fitted, Row (*terms)(double), double measured) {
    const double there = value(fitted, terms(point.workers));
    return there > 0 ? measured * value(fitted, terms(workers)) / there : measured;
  };
  return carried_over(compute_, compute_terms, compute_part(point)) +
         carried_over(transfer_, transfer_terms, transfer_part(point));
}

double TimeModel::from_one_size(int workers) const {
  const auto carried_from = [workers](const SizePoint& point) {
    const double ratio = static_cast<double>(workers) / point.workers;
    return compute_part(point) / ratio + transfer_part(point) * std::max(1.0, ratio);
  };
  const auto steps = [this](int n) { return std::log(static_cast<double>(n) / current_.workers); };
  const SizePoint* first = nullptr;  // inferred, from the present size in the direction of `workers`
  for (const SizePoint& point : points_)
    if (steps(point.workers) * steps(workers) > 0 &&
        (!first || std::abs(steps(point.workers)) < std::abs(steps(first->workers))))
      first = &point;
  if (!first) return carried_from(current_);
  const double part = steps(workers) / steps(first->workers);
  if (part > 1) return carried_from(nearest(workers));
  return std::pow(current_.seconds, 1 - part) * std::pow(first->seconds, part);
}

double TimeModel::efficiency(int workers) const {
  return std::min(1.0, useful_ / (workers * seconds(workers)));
}

double share_of_time(double share) { return std::clamp(share, kSmallestShare, 1.0); }

TimeModel time_model(const SizePoint& now, double work_per_iteration, std::int64_t epoch,
                     const PolicyState& state) {
  std::vector<SizePoint> points{now};
  for (const MeasuredSize& old : state.measured) {
    if (old.workers == now.workers) continue;
    const auto age = static_cast<double>(std::max<std::int64_t>(0, epoch - old.epoch));
    const double time = old.iteration_seconds > 0 ? old.iteration_seconds : 1;  // else the parts are shares
    const double communication = share_of_time(old.compute_seconds / time);
    const double efficiency = share_of_time(old.useful_seconds / time);
    double seconds = old.iteration_seconds, weight = std::pow(kForgetting, age);
    if (seconds <= 0) {  // left before that was known: what is useful takes as long as it does here
      seconds = now.workers * now.seconds * now.efficiency / (old.workers * efficiency);
      weight = 0;
    }
    if (old.work_per_iteration > 0 && work_per_iteration > 0)
      seconds *= work_per_iteration / old.work_per_iteration;
    points.push_back({old.workers, seconds, communication, efficiency, weight});
  }
  return {std::move(points), now.workers};
}

std::optional<TimeModel> remembered_model(const PolicyState& state, int workers) {
  for (const MeasuredSize& here : state.measured) {
    if (here.workers != workers || here.iteration_seconds <= 0) continue;
    const SizePoint now{workers, here.iteration_seconds,
                        share_of_time(here.compute_seconds / here.iteration_seconds),
                        share_of_time(here.useful_seconds / here.iteration_seconds), 1};
    return time_model(now, here.work_per_iteration, here.epoch, state);
  }
  return std::nullopt;
}

}  // namespace emj
