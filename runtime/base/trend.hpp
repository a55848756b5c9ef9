// SPDX-License-Identifier: Apache-2.0
// Where a measured figure (for example MTCT) is heading. Pure; no MPI.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

namespace empi::profile {

// Exponentially weighted moving average: level <- level + weight (value - level), starting at the first
// value.
class Ewma {
 public:
  // `weight` of the newest value, in (0, 1].
  explicit Ewma(double weight) : weight_(weight) {}
  double add(double value);
  std::optional<double> level() const { return level_; }
  double weight() const { return weight_; }

 private:
  double weight_;
  std::optional<double> level_;
};

struct Point {
  double time = 0;  // s
  double value = 0;
};

// Median of the slopes between all pairs of points (Theil 1950, Sen 1968), per second. Up to 29 % of the
// points may be arbitrary without harm. Pairs at equal times are left out; nothing with fewer than two times.
std::optional<double> theil_sen_slope(const std::vector<Point>& points);

// Smooths a figure and follows its slope over the last `capacity` values.
class Trend {
 public:
  Trend(std::size_t capacity, double weight) : capacity_(capacity), average_(weight) {}
  void add(double time_s, double value);
  std::optional<double> level() const { return average_.level(); }
  // Change per second; nothing before there are `kMinimum` values.
  std::optional<double> slope() const;
  // Forgets everything: after a change of the membership the figure is another one.
  void reset();

  static constexpr std::size_t kMinimum = 5;

 private:
  std::size_t capacity_;
  Ewma average_;
  std::vector<Point> points_;
};

}  // namespace empi::profile
