#pragma once

// The policies, one class each. Use make_policy() from outside.

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
  bool needs_samples() const override { return true; }
  Proposal propose(const PolicyInput& input, PolicyState& state) const override;

 private:
  ThresholdParameters parameters_;
};

// `step` workers more each interval until the maximum (fewer until the minimum when negative).
class SteppingPolicy : public Policy {
 public:
  explicit SteppingPolicy(const SteppingParameters& parameters) : parameters_(parameters) {}
  const char* name() const override { return "stepping"; }
  bool needs_samples() const override { return false; }
  Proposal propose(const PolicyInput& input, PolicyState& state) const override;

 private:
  SteppingParameters parameters_;
};

// Each interval a size drawn uniformly from the possible ones. The n-th draw depends on seed and n only.
class RandomPolicy : public Policy {
 public:
  explicit RandomPolicy(const RandomParameters& parameters) : parameters_(parameters) {}
  const char* name() const override { return "random"; }
  bool needs_samples() const override { return false; }
  Proposal propose(const PolicyInput& input, PolicyState& state) const override;

 private:
  RandomParameters parameters_;
};

// The size is what the user sets.
class ManualPolicy : public Policy {
 public:
  const char* name() const override { return "manual"; }
  bool needs_samples() const override { return false; }
  Proposal propose(const PolicyInput& input, PolicyState& state) const override;
};

// How many whole intervals have passed since state.last_tick, which moves on by them; 0 starts the clock.
std::int64_t passed_ticks(PolicyState& state, Seconds interval, Time now);

// Average of MTCT over windows: all time in MPI over all useful time.
double average_mtct(const std::vector<Sample>& windows);
// MTCT as it is heading: exponentially weighted average, plus the Theil-Sen slope carried one window ahead
// when the drift over the windows is larger than the noise.
double mtct_trend(const std::vector<Sample>& windows, double noise);

}  // namespace emj
