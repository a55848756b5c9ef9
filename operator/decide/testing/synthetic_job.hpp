// SPDX-License-Identifier: Apache-2.0
// A job whose speed is a known function of its size, under autoscale() with its own clock: no cluster,
// changes take effect at once, at a cost.
#pragma once
#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "operator/decide/testing/policy_input.hpp"

namespace emj::testing_policy {

// Seconds per iteration in which the busiest rank computes, and in which it is in MPI.
struct Curve {
  std::function<double(int workers)> compute;
  std::function<double(int workers)> transfer = [](int) { return 0.0; };
  std::function<double(int workers)> load_balance = [](int) { return 0.98; };
  int most = 16;  // workers

  double seconds(int workers) const { return compute(workers) + transfer(workers); }
};

class SyntheticJob {
 public:
  SyntheticJob(Curve of, int start, const AutoscalingSpec& with, double jitter = 0, unsigned seed = 1)
      : curve(std::move(of)), spec(with), jitter_(jitter), random_(seed) {
    input.min = 1;
    input.max = curve.most;
    input.current = start;
    input.now = t0;
    input.history = {{t0, 0, start, 0, 0, 0}};
    sizes = {start};
  }

  // Windows of 10 s, a decision after each.
  void run(Seconds duration) {
    for (const Time end = input.now + duration; input.now < end;) {
      input.now += Seconds(10);
      if (measuring) measure();
      last = autoscale(spec, input, state);
      if (last.verdict == Verdict::Scale) resize(last.wanted);
    }
  }
  int size() const { return input.current; }
  int changes() const { return static_cast<int>(sizes.size()) - 1; }

  Curve curve;
  AutoscalingSpec spec;
  PolicyInput input;
  PolicyState state;
  AutoscaleResult last;
  std::vector<int> sizes;  // in order of appearance
  bool measuring = true;
  double change_cost_seconds = 2;
  double progress = -1;

 private:
  void measure() {
    std::uniform_real_distribution<> jitter(1 - jitter_, 1 + jitter_);
    // The first window after a change is of no use: caches are cold, the change itself is in it.
    const bool cold = input.now - input.history.back().time <= Seconds(20) && changes() > 0;
    const double seconds = curve.seconds(input.current) * jitter(random_) * (cold ? 3 : 1);
    Sample sample = sample_at(input.now - Seconds(10), Seconds(10), input.current, 0);
    sample.epoch = changes() + 1;
    sample.communication_efficiency = curve.compute(input.current) / curve.seconds(input.current);
    sample.load_balance = curve.load_balance(input.current);
    sample.parallel_efficiency = sample.load_balance * sample.communication_efficiency;
    sample.mtct = 1 / sample.parallel_efficiency - 1;
    sample.mean_iteration_seconds = seconds;
    sample.iterations = std::max<std::int64_t>(1, static_cast<std::int64_t>(10 / seconds));
    sample.work_units = 0;
    sample.progress = progress;
    input.windows.push_back(sample);
    if (input.windows.size() > 180) input.windows.erase(input.windows.begin());
  }
  void resize(int to) {
    input.history.push_back({input.now, input.current, to, change_cost_seconds, 0, 3});
    if (input.history.size() > 5) input.history.erase(input.history.begin());
    input.current = to;
    sizes.push_back(to);
  }

  double jitter_;
  std::mt19937 random_;
};

// The best sizes of a static sweep by the policy's own promise: of those that use their workers well enough
// the fastest, down to the smallest that is as fast within the tolerance.
struct BestSizes {
  int smallest, fastest;
};

inline BestSizes best_sizes(const Curve& curve, int min, int max, double floor = 0.5,
                            double tolerance = 0.05) {
  double useful = 1e300;
  for (int n = min; n <= max; ++n) useful = std::min(useful, n * curve.compute(n) * curve.load_balance(n));
  const auto efficient = [&](int n) { return useful / (n * curve.seconds(n)) >= floor; };
  BestSizes best{min, min};
  for (int n = min; n <= max; ++n)
    if (efficient(n) && curve.seconds(n) < curve.seconds(best.fastest)) best.fastest = n;
  for (best.smallest = min; best.smallest < best.fastest; ++best.smallest)
    if (efficient(best.smallest) &&
        curve.seconds(best.smallest) <= curve.seconds(best.fastest) * (1 + tolerance))
      break;
  return best;
}

}  // namespace emj::testing_policy
