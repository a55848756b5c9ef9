// SPDX-License-Identifier: Apache-2.0
// The policies, one class each. Use make_policy() from outside.
#pragma once
#include <algorithm>

#include "operator/decide/policy.hpp"

namespace emj {

// Seed 000, section 5.4: the average a and the trend r of MTCT over the last windows.
//   a > U or r > U   -> half the workers (or stepSize fewer)
//   a < L and r < L  -> twice the workers (or stepSize more)
// Compared with the noise e left out: above means above U (1 + e), below means below L (1 - e), so that a
// job whose true MTCT lies within [L, U] never moves, whatever the noise up to e does.
class ThresholdPolicy : public Policy {
 public:
  explicit ThresholdPolicy(const ThresholdParameters& parameters) : parameters_(parameters) {}
  const char* name() const override { return "threshold"; }
  Evidence evidence() const override { return Evidence::Iterations; }
  Proposal propose(const PolicyInput& input, PolicyState& state) const override;

 private:
  ThresholdParameters parameters_;
};

// The shortest iteration that is worth its workers: PDPA (Corbalan, Martorell, Labarta, IEEE TPDS 16, 2005:
// search states, target efficiency) with a fitted time model instead of one comparison of speed-ups.
// Of the sizes that the model may judge and that use their workers well enough, the fastest; of those within
// minExpectedGainPercent of it the smallest. One step of resize.stepSize at a time, each measured.
class EfficiencyPolicy : public Policy {
 public:
  explicit EfficiencyPolicy(const AutoscalingSpec& spec)
      : parameters_(spec.policy.efficiency), tolerance_(spec.min_expected_gain_percent / 100.0) {}
  const char* name() const override { return "efficiency"; }
  Evidence evidence() const override { return Evidence::Iterations; }
  Proposal propose(const PolicyInput& input, PolicyState& state) const override;
  // One step down when the workers are used so badly that no iteration time could change the verdict.
  std::optional<Proposal> propose_early(const PolicyInput& input, const std::vector<Sample>& whole,
                                        const PolicyState& state) const override;

 private:
  EfficiencyParameters parameters_;
  double tolerance_;
};

// For jobs in a queue: the queue gives what is idle, this policy judges what it has got, as efficiency does.
// What it finds too much it gives back.
class ThroughputPolicy : public EfficiencyPolicy {
 public:
  using EfficiencyPolicy::EfficiencyPolicy;
  const char* name() const override { return "throughput"; }
};

// Just enough workers for the job's deadline (rule Q17): the least size that ends in time with the margin,
// the fastest where none does. The present one is kept while half of the margin is left.
class DeadlinePolicy : public Policy {
 public:
  DeadlinePolicy(const AutoscalingSpec& spec, Evidence evidence)
      : parameters_(spec.policy.deadline),
        tolerance_(spec.min_expected_gain_percent / 100.0),
        until_measured_(std::max(spec.cooldown, (2 + spec.windows) * spec.window) +
                        spec.scale_up_stabilization),
        evidence_(evidence) {}
  const char* name() const override { return "deadline"; }
  Evidence evidence() const override { return evidence_; }
  Proposal propose(const PolicyInput& input, PolicyState& state) const override;

 private:
  DeadlineParameters parameters_;
  double tolerance_;
  Seconds until_measured_;  // from a change until another one can follow it
  Evidence evidence_;
};

// The fastest size that the job's budget pays to the end (rule Q18); where it pays none the
// fastest of those about as cheap as the cheapest.
class BudgetPolicy : public Policy {
 public:
  BudgetPolicy(const AutoscalingSpec& spec, Evidence evidence)
      : tolerance_(spec.min_expected_gain_percent / 100.0), evidence_(evidence) {}
  const char* name() const override { return "budget"; }
  Evidence evidence() const override { return evidence_; }
  Proposal propose(const PolicyInput& input, PolicyState& state) const override;

 private:
  double tolerance_;
  Evidence evidence_;
};

// The running phase of a master-worker program: grow while the queue is long against the cost of a change,
// shrink in the tail, nothing when it would not pay.
class TasksPolicy : public Policy {
 public:
  explicit TasksPolicy(const AutoscalingSpec& spec)
      : parameters_(spec.policy.tasks), tolerance_(spec.min_expected_gain_percent / 100.0) {}
  const char* name() const override { return "tasks"; }
  Evidence evidence() const override { return Evidence::Tasks; }
  Proposal propose(const PolicyInput& input, PolicyState& state) const override;

 private:
  TasksParameters parameters_;
  double tolerance_;
};

// `step` workers more each interval until the maximum (fewer until the minimum when negative).
class SteppingPolicy : public Policy {
 public:
  explicit SteppingPolicy(const SteppingParameters& parameters) : parameters_(parameters) {}
  const char* name() const override { return "stepping"; }
  Evidence evidence() const override { return Evidence::Clock; }
  Proposal propose(const PolicyInput& input, PolicyState& state) const override;

 private:
  SteppingParameters parameters_;
};

// Each interval a size drawn uniformly from the possible ones. The n-th draw depends on seed and n only.
class RandomPolicy : public Policy {
 public:
  explicit RandomPolicy(const RandomParameters& parameters) : parameters_(parameters) {}
  const char* name() const override { return "random"; }
  Evidence evidence() const override { return Evidence::Clock; }
  Proposal propose(const PolicyInput& input, PolicyState& state) const override;

 private:
  RandomParameters parameters_;
};

// The size is what the user sets.
class ManualPolicy : public Policy {
 public:
  const char* name() const override { return "manual"; }
  Evidence evidence() const override { return Evidence::Clock; }
  Proposal propose(const PolicyInput& input, PolicyState& state) const override;
};

// The feasible size one step of resize.stepSize above or below the present one; the present one when there is
// none.
int step_up(const PolicyInput& input);
int step_down(const PolicyInput& input);
// `wanted` within the limits and rounded down to an allowed size, but never beyond the present size against
// the direction of `wanted`.
int feasible(const PolicyInput& input, int wanted);

// The parallel efficiency if the work were shared out evenly: the busiest rank's useful time falls to the
// mean, what it waits for in MPI stays. Both arguments in (0, 1].
double balanced_efficiency(double load_balance, double communication_efficiency);

// The size measured last at which the busiest rank computed about as long as it does on `workers` at this
// load balance: what it does is not divided among more workers (a serial part, a solver on few ranks, a piece
// that cannot be cut), so sharing out anew does not help. Null when there is none: then its time changes with
// the size as that of work which is shared out, however unevenly.
const MeasuredSize* computing_as_long(int workers, double load_balance,
                                      const std::vector<MeasuredSize>& measured);

// Whether ranks wait for others so much that the job were efficient without it.
struct Imbalance {
  bool matters = false;
  const MeasuredSize* undivided = nullptr;  // the size that shows it to be work which is not divided
  bool sharing_out_helps() const { return matters && undivided == nullptr; }
};
Imbalance imbalance_of(int workers, double load_balance, double communication_efficiency,
                       const EfficiencyParameters& wanted, const std::vector<MeasuredSize>& measured);

// How many whole intervals have passed since state.last_tick, which moves on by them; 0 starts the clock.
std::int64_t passed_ticks(PolicyState& state, Seconds interval, Time now);

// Average of MTCT over windows: all time in MPI over all useful time.
double average_mtct(const std::vector<Sample>& windows);
// MTCT as it is heading: exponentially weighted average, plus the Theil-Sen slope carried one window ahead
// when the drift over the windows is larger than the noise.
double mtct_trend(const std::vector<Sample>& windows, double noise);

}  // namespace emj
