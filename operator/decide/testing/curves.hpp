// SPDX-License-Identifier: Apache-2.0
// Jobs whose speed is a known function of their size, for policy efficiency.
#pragma once
#include <cmath>
#include <map>
#include <string>

#include "operator/decide/testing/measured_curves.hpp"
#include "operator/decide/testing/synthetic_job.hpp"

namespace emj::testing_policy {

inline AutoscalingSpec by_efficiency() {
  AutoscalingSpec spec;
  spec.mode = AutoscalingMode::Auto;
  spec.policy.name = PolicyName::Efficiency;
  spec.scale_up_stabilization = spec.scale_down_stabilization = Seconds(30);
  spec.cooldown = Seconds(30);
  return spec;
}

inline const std::map<std::string, Curve>& curves() {
  static const std::map<std::string, Curve> all = [] {
    std::map<std::string, Curve> known{
        {"compute_bound", {[](int n) { return 8.0 / n; }, [](int) { return 0.002; }}},
        {"flat", {[](int n) { return 1.0 / n; }, [](int n) { return 1 - 1.0 / n; }}},
        {"amdahl", {[](int n) { return 2.0 / n; }, [](int n) { return n > 1 ? 0.15 : 0.0; }}},
        {"concave", {[](int n) { return 2.0 / n; }, [](int n) { return 0.06 * std::log2(n); }}},
        {"retrograde", {[](int n) { return 1.0 / n; }, [](int n) { return 0.06 * (n - 1); }}},
        {"spe10",
         {[](int n) { return 1.0 / n; }, [](int n) { return n > 1 ? 0.2 * n * std::log2(n) - .2 : 0.0; }}},
        {"never_parallel", {[](int n) { return 0.05 / n; }, [](int n) { return 0.2 * (n - 1); }}},
        // In cache from 8 workers on, so that 8 are faster than twice 4.
        {"super_linear",
         {[](int n) { return (n >= 8 ? 1.4 : 2.0) / n; }, [](int n) { return .01 * (n - 1); }}},
    };
    for (const auto& [name, table] : measured_tables()) known["measured_" + name] = curve_through(table);
    return known;
  }();
  return all;
}

}  // namespace emj::testing_policy
