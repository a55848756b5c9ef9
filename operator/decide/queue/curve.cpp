// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace emj::queue {
namespace {

// The objective as a function of the speed; what depends on the job alone is a factor (factor() in
// growth.cpp).
double worth_of_speed(Objective objective, double speed, double one_worker) {
  switch (objective) {
    case Objective::Fair:
    case Objective::Workload:
      return std::log(speed);
    case Objective::Throughput:
      return speed / one_worker;
    case Objective::Turnaround:
      return speed;
    case Objective::Makespan:
      return -1 / speed;
  }
  return 0;
}

}  // namespace

Curve::Curve(std::vector<int> sizes, std::vector<double> speeds, Objective objective)
    : sizes_(std::move(sizes)), speeds_(std::move(speeds)) {
  const int n = count();
  fastest_ = static_cast<int>(std::max_element(speeds_.begin(), speeds_.end()) - speeds_.begin());
  std::vector<double> worth(n);
  const double one_worker = speeds_[0] / sizes_[0];
  for (int i = 0; i < n; ++i) worth[i] = worth_of_speed(objective, speeds_[i], one_worker);
  const auto slope = [&](int from, int to) {
    return (worth[to] - worth[from]) / (sizes_[to] - sizes_[from]);
  };

  // Upper concave envelope up to the fastest size; nothing is gained beyond.
  std::vector<int> hull;
  for (int i = 0; i <= fastest_; ++i) {
    while (hull.size() >= 2 && slope(hull.back(), i) >= slope(hull[hull.size() - 2], hull.back()))
      hull.pop_back();
    hull.push_back(i);
  }
  marginals_.assign(std::max(0, n - 1), 0);
  prices_.assign(std::max(0, n - 1), std::numeric_limits<double>::infinity());
  corners_.resize(n);
  for (int i = 0; i < n; ++i) corners_[i] = i;
  double dearest = 0;
  for (std::size_t k = 0; k + 1 < hull.size(); ++k) {
    const int from = hull[k];
    const int to = hull[k + 1];
    const double saved = 1 / speeds_[from] - 1 / speeds_[to];
    const double spent = sizes_[to] / speeds_[to] - sizes_[from] / speeds_[from];
    dearest = std::max(dearest, saved > 0 ? spent / saved : std::numeric_limits<double>::infinity());
    for (int i = from; i < to; ++i) {
      marginals_[i] = slope(from, to);
      prices_[i] = dearest;
      corners_[i] = to;
    }
  }
}

int Curve::at_most(int workers) const {
  const auto beyond = std::upper_bound(sizes_.begin(), sizes_.end(), workers);
  return std::max(0, static_cast<int>(beyond - sizes_.begin()) - 1);
}

int Curve::at_least(int workers) const {
  const auto found = std::lower_bound(sizes_.begin(), sizes_.end(), workers);
  return std::min(count() - 1, static_cast<int>(found - sizes_.begin()));
}

int Curve::corner_at_most(int i) const {
  // A place within a segment has the corner of the place before it, a corner has one of its own.
  while (i > 0 && corners_[i - 1] != i) --i;
  return i;
}

int Curve::worth(double value) const {
  return static_cast<int>(std::upper_bound(prices_.begin(), prices_.end(), value) - prices_.begin());
}

int Curve::efficient(double least) const {
  const double best = speeds_[0] / sizes_[0] * least;
  int i = fastest_;
  while (i > 0 && speeds_[i] < best * sizes_[i]) --i;
  return i;
}

std::vector<int> thinned(std::vector<int> sizes, const std::vector<int>& kept) {
  if (sizes.size() <= 64) return sizes;
  std::vector<int> left;
  double next = 0;
  for (const int size : sizes) {
    const bool keep = std::find(kept.begin(), kept.end(), size) != kept.end();
    if (size > 32 && size < next && !keep && size != sizes.front() && size != sizes.back()) continue;
    left.push_back(size);
    if (size >= next) next = size * 1.1;
  }
  return left;
}

double amdahl_speed(int workers, int reference, double efficiency) {
  if (reference <= 1) return 1.0;
  const double serial = (1 / efficiency - 1) / (reference - 1);
  const auto seconds = [serial](double n) { return serial + (1 - serial) / n; };
  return seconds(reference) / seconds(workers);
}

std::shared_ptr<const Curve> amdahl_curve(std::vector<int> sizes, int reference, double efficiency,
                                          Objective objective) {
  std::vector<double> speeds;
  speeds.reserve(sizes.size());
  for (const int size : sizes) speeds.push_back(amdahl_speed(size, reference, efficiency));
  return std::make_shared<const Curve>(std::move(sizes), std::move(speeds), objective);
}

}  // namespace emj::queue
