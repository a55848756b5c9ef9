// SPDX-License-Identifier: Apache-2.0
// How long an iteration of the applications took at fixed sizes.
#pragma once
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "operator/decide/testing/synthetic_job.hpp"

namespace emj::testing_policy {

struct MeasuredAt {
  int workers;
  double seconds;  // of an iteration
  double load_balance, communication_efficiency;
};

// Measured on 2026-11-21 by `./dev bench sweep spe10|tsunami|jacobi` (apps/bench/sweep.py: manifests, slowed
// pods, no delay but 100 Mbit/s between pods of spe10) on a virtual machine of 2 cores, Linux 6.18, others at
// work on it: load 14 to 17 for spe10, 7 to 14 for the tsunami, 7 to 18 for Jacobi. Per size at least 12 s
// and 6 iterations (spe10 on 6 and 8: 49 and 54 s, 5 and 4 iterations); seconds are of an iteration of mean
// work.
inline const std::map<std::string, std::vector<MeasuredAt>>& measured_tables() {
  static const std::map<std::string, std::vector<MeasuredAt>> all{
      {"spe10",
       {{1, 1.383, 1.000, 0.999},
        {2, 2.877, 0.942, 0.427},
        {3, 5.723, 0.893, 0.210},
        {4, 8.694, 0.838, 0.106},
        {6, 10.44, 0.807, 0.095},
        {8, 15.12, 0.761, 0.090}}},
      {"tsunami",
       {{1, 0.08037, 1.000, 0.999},
        {2, 0.06379, 0.968, 0.840},
        {3, 0.05586, 0.945, 0.690},
        {4, 0.06445, 0.892, 0.524},
        {6, 0.1195, 0.830, 0.276},
        {8, 0.3169, 0.712, 0.150}}},
      {"jacobi",
       {{1, 0.1478, 1.000, 1.000},
        {2, 0.07327, 0.960, 0.922},
        {3, 0.05116, 0.958, 0.870},
        {4, 0.04706, 0.949, 0.653},
        {6, 0.04507, 0.951, 0.417},
        {8, 0.05158, 0.946, 0.282}}},
  };
  return all;
}

// Between measured sizes everything along a power of the size.
inline Curve curve_through(const std::vector<MeasuredAt>& table) {
  const auto between = [table](int workers, auto value) {
    auto right =
        std::find_if(table.begin(), table.end(), [&](const MeasuredAt& m) { return m.workers >= workers; });
    if (right == table.end()) --right;
    if (right->workers == workers || right == table.begin()) return value(*right);
    const auto left = right - 1;
    const double part = std::log(static_cast<double>(workers) / left->workers) /
                        std::log(static_cast<double>(right->workers) / left->workers);
    return std::pow(value(*left), 1 - part) * std::pow(value(*right), part);
  };
  const auto compute = [](const MeasuredAt& m) { return m.seconds * m.communication_efficiency; };
  const auto seconds = [](const MeasuredAt& m) { return m.seconds; };
  Curve curve;
  curve.compute = [=](int n) { return between(n, compute); };
  curve.transfer = [=](int n) { return std::max(0.0, between(n, seconds) - between(n, compute)); };
  curve.load_balance = [=](int n) { return between(n, [](const MeasuredAt& m) { return m.load_balance; }); };
  curve.most = table.back().workers;
  return curve;
}

}  // namespace emj::testing_policy
