// SPDX-License-Identifier: Apache-2.0
// A phase of independent tasks on ranks that come and go, under autoscale() with its own clock. Tasks are
// given out one by one, each after `overhead(ranks)` seconds of waiting for the master.
#pragma once
#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "operator/decide/testing/policy_input.hpp"

namespace emj::testing_policy {

struct PhaseSetup {
  int tasks = 1000;
  double mean = 1, deviation = 0;  // seconds; gamma distributed
  std::function<double(int ranks)> overhead = [](int) { return 0.0; };
  double delay = 5;  // until newcomers compute
  double cost = 1;   // lost by a change, as it is reported
  unsigned seed = 1;
};

class SyntheticPhase {
 public:
  SyntheticPhase(PhaseSetup of, int start, const AutoscalingSpec& with)
      : setup(std::move(of)), spec(with), random_(setup.seed) {
    input.min = 1;
    input.max = 16;
    input.current = start;
    input.now = t0;
    input.history = {{t0, 0, start, 0, 0, 0}};
    ranks_.assign(static_cast<std::size_t>(start), {});
    sizes = {start};
  }

  // Until the last result or `most` windows of 2 s.
  void run(int most = 100000) {
    for (int i = 0; i < most && done_ < setup.tasks; ++i) {
      window();
      last = autoscale(spec, input, state);
      if (last.verdict == Verdict::Scale) resize(last.wanted);
    }
  }
  bool over() const { return done_ >= setup.tasks; }
  double seconds() const { return clock_; }
  double worker_seconds() const { return held_; }

  PhaseSetup setup;
  AutoscalingSpec spec;
  PolicyInput input;
  PolicyState state;
  AutoscaleResult last;
  std::vector<int> sizes;

 private:
  struct Rank {
    double free_at = 0;  // when it asks for work
    double busy_from = -1, busy_to = -1;
    bool leaving = false;
  };

  void window() {
    constexpr double width = 2, step = 0.05;
    Sample sample = sample_at(input.now, Seconds(2), input.current, .1);
    sample.iterations = 0;
    sample.mean_iteration_seconds = 0;
    sample.epoch = static_cast<std::int64_t>(sizes.size());
    double busy = 0, member = 0;
    for (double end = clock_ + width; clock_ < end - 1e-9; clock_ += step) {
      for (Rank& rank : ranks_) {
        if (rank.busy_to >= 0 && rank.busy_to <= clock_) finish(rank, sample);
        if (rank.busy_to < 0 && !rank.leaving && given_ < setup.tasks && rank.free_at <= clock_) start(rank);
        if (rank.busy_to >= 0 && rank.busy_from <= clock_) busy += step;
        member += step;
      }
      std::erase_if(ranks_, [](const Rank& rank) { return rank.leaving && rank.busy_to < 0; });
      held_ += step * static_cast<double>(ranks_.size());
    }
    input.now += Seconds(2);
    sample.tasks.phase = 1;
    sample.tasks.total = setup.tasks;
    sample.tasks.done = done_;
    sample.tasks.queued = setup.tasks - given_;
    sample.tasks.longest_seconds = longest_;
    sample.tasks.busy_share = member > 0 ? busy / member : 0;
    input.windows.push_back(sample);
    if (input.windows.size() > 300) input.windows.erase(input.windows.begin());
  }
  void start(Rank& rank) {
    ++given_;
    rank.busy_from = clock_ + setup.overhead(static_cast<int>(ranks_.size()));
    double length = setup.mean;
    if (setup.deviation > 0) {
      const double shape = std::pow(setup.mean / setup.deviation, 2);
      length = std::gamma_distribution<>(shape, setup.mean / shape)(random_);
    }
    rank.busy_to = rank.busy_from + length;
  }
  void finish(Rank& rank, Sample& sample) {
    const double length = rank.busy_to - rank.busy_from;
    ++done_;
    ++sample.tasks.ended;
    sample.tasks.seconds += length;
    sample.tasks.seconds2 += length * length;
    longest_ = std::max(longest_, length);
    rank.busy_to = -1;
    rank.free_at = clock_;
  }
  void resize(int to) {
    int rest = input.current - to;
    for (auto rank = ranks_.rbegin(); rank != ranks_.rend() && rest > 0; ++rank)
      if (!rank->leaving) rank->leaving = true, --rest;
    for (int i = input.current; i < to; ++i) ranks_.push_back({clock_ + setup.delay, -1, -1, false});
    input.history.push_back({input.now, input.current, to, setup.cost, 0, setup.delay});
    input.current = to;
    sizes.push_back(to);
  }

  std::mt19937 random_;
  std::vector<Rank> ranks_;
  double clock_ = 0, held_ = 0, longest_ = 0;
  int given_ = 0, done_ = 0;
};

}  // namespace emj::testing_policy
