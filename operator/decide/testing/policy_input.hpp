// SPDX-License-Identifier: Apache-2.0
// What a policy is asked, for its tests: windows of samples and settings without guards.
#pragma once
#include <string>
#include <vector>

#include "operator/decide/gate.hpp"
#include "operator/decide/policies/policies.hpp"
#include "operator/decide/policy.hpp"

namespace emj::testing_policy {

inline const Time t0{Seconds(1'700'000'000)};

inline Sample sample_at(Time start, Seconds length, int workers, double mtct) {
  Sample sample;
  sample.start = start;
  sample.end = start + length;
  sample.ranks = sample.workers = workers;
  sample.mtct = mtct;
  sample.parallel_efficiency = 1 / (1 + mtct);
  sample.load_balance = 0.98;
  sample.communication_efficiency = sample.parallel_efficiency / 0.98;
  sample.iterations = 50;
  sample.mean_iteration_seconds = 0.2 * (1 + mtct) / workers;
  sample.ci_halfwidth = 0.02;
  sample.work_units = 1e6;
  return sample;
}

inline AutoscalingSpec quick() {
  AutoscalingSpec spec;
  spec.mode = AutoscalingMode::Auto;
  spec.scale_up_stabilization = spec.scale_down_stabilization = spec.cooldown = Seconds(0);
  return spec;
}

inline PolicyInput input_with(const std::vector<double>& mtct, int workers = 4) {
  PolicyInput input;
  input.current = workers;
  input.max = 16;
  input.now = t0;
  const int count = static_cast<int>(mtct.size());
  for (int i = 0; i < count; ++i)
    input.windows.push_back(sample_at(t0 - (count - i) * Seconds(10), Seconds(10), workers, mtct[i]));
  return input;
}

inline AutoscaleResult judge(const PolicyInput& input, const AutoscalingSpec& spec = quick()) {
  PolicyState state;
  return autoscale(spec, input, state);
}

}  // namespace emj::testing_policy
