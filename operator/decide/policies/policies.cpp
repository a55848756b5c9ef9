// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/policies/policies.hpp"

#include <algorithm>

namespace emj {

int feasible(const PolicyInput& input, int wanted) {
  JobSpec spec;
  spec.worker.min_replicas = input.min;
  spec.worker.max_replicas = input.max;
  spec.resize.allowed_replicas = input.allowed;
  const int size = feasible_size(spec, wanted);
  // Rounding must not turn the direction round.
  const bool turned =
      (wanted >= input.current && size < input.current) || (wanted <= input.current && size > input.current);
  return turned ? input.current : size;
}

int step_up(const PolicyInput& input) {
  const int n = input.current;
  return feasible(input, input.step.factor2() ? 2 * n : n + input.step.workers);
}

int step_down(const PolicyInput& input) {
  const int n = input.current;
  return feasible(input, std::max(1, input.step.factor2() ? n / 2 : n - input.step.workers));
}

std::unique_ptr<Policy> make_policy(const AutoscalingSpec& spec, Evidence goes_by) {
  switch (spec.policy.name) {
    case PolicyName::Threshold:
      return std::make_unique<ThresholdPolicy>(spec.policy.threshold);
    case PolicyName::Efficiency:
      return std::make_unique<EfficiencyPolicy>(spec);
    case PolicyName::Tasks:
      return std::make_unique<TasksPolicy>(spec);
    case PolicyName::Throughput:
      return std::make_unique<ThroughputPolicy>(spec);
    case PolicyName::Deadline:
      return std::make_unique<DeadlinePolicy>(spec, goes_by);
    case PolicyName::Budget:
      return std::make_unique<BudgetPolicy>(spec, goes_by);
    case PolicyName::Stepping:
      return std::make_unique<SteppingPolicy>(spec.policy.stepping);
    case PolicyName::Random:
      return std::make_unique<RandomPolicy>(spec.policy.random);
    case PolicyName::Manual:
      break;
  }
  return std::make_unique<ManualPolicy>();
}

}  // namespace emj
