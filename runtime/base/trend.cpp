// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/trend.hpp"

#include <algorithm>

namespace empi::profile {

double Ewma::add(double value) {
  level_ = level_ ? *level_ + weight_ * (value - *level_) : value;
  return *level_;
}

std::optional<double> theil_sen_slope(const std::vector<Point>& points) {
  std::vector<double> slopes;
  slopes.reserve(points.size() * points.size() / 2);
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = i + 1; j < points.size(); ++j)
      if (points[i].time != points[j].time)
        slopes.push_back((points[j].value - points[i].value) / (points[j].time - points[i].time));
  if (slopes.empty()) return std::nullopt;
  const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
  std::nth_element(slopes.begin(), middle, slopes.end());
  if (slopes.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(slopes.begin(), middle)) / 2;
}

void Trend::add(double time_s, double value) {
  average_.add(value);
  if (points_.size() == capacity_) points_.erase(points_.begin());
  points_.push_back({time_s, value});
}

std::optional<double> Trend::slope() const {
  return points_.size() < kMinimum ? std::nullopt : theil_sen_slope(points_);
}

void Trend::reset() {
  points_.clear();
  average_ = Ewma(average_.weight());
}

}  // namespace empi::profile
