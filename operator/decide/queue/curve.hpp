// SPDX-License-Identifier: Apache-2.0
// How fast a job is on n workers, as flat tables over its feasible sizes, and what a step from one size to
// the next is worth to the queue's objective. Immutable: many jobs may share one.
//
// Marginals are those of the upper concave envelope of the objective over the sizes: greedy distribution is
// optimal on it (Fox, Operations Research 14, 1966). A step between two corners of the envelope is taken
// whole.
#pragma once
#include <memory>
#include <vector>

#include "operator/decide/queue/rules.hpp"

namespace emj::queue {

class Curve {
 public:
  // `sizes`: ascending, at least one, all positive; `speeds`: as many, positive, in any unit: that of
  // Demand::work_left is a second at speed 1.
  Curve(std::vector<int> sizes, std::vector<double> speeds, Objective objective);

  int count() const { return static_cast<int>(sizes_.size()); }
  int size(int i) const { return sizes_[i]; }
  double speed(int i) const { return speeds_[i]; }
  const std::vector<int>& sizes() const { return sizes_; }

  // Place of the largest size of at most so many workers; 0 where all are larger.
  int at_most(int workers) const;
  // Place of the smallest size of at least so many workers; the last where all are smaller.
  int at_least(int workers) const;
  double speed_of(int workers) const { return speeds_[at_most(workers)]; }

  // Gain of the objective per worker from place i to i + 1, for weight 1; never rising with i.
  double marginal(int i) const { return marginals_[i]; }
  const std::vector<double>& marginals() const { return marginals_; }
  // Where the step from place i ends: the next corner of the envelope.
  int next(int i) const { return corners_[i]; }
  // Largest corner that is not beyond `i`.
  int corner_at_most(int i) const;
  // Place of the largest speed: nobody grows beyond.
  int fastest() const { return fastest_; }

  // Rule Q3: largest place to which every step costs at most `value` worker-seconds for each second it saves.
  int worth(double value) const;
  // Largest place with S(n) m >= least n S(m), m the least size.
  int efficient(double least) const;

 private:
  std::vector<int> sizes_;
  std::vector<double> speeds_;
  std::vector<double> marginals_;  // between places, one fewer than sizes
  std::vector<int> corners_;
  std::vector<double> prices_;  // worker-seconds per second saved, the largest of all steps so far; one fewer
  int fastest_ = 0;
};

// Of more than 64 sizes: all up to 32, then steps of 10 %, and those of `kept` that are feasible.
std::vector<int> thinned(std::vector<int> sizes, const std::vector<int>& kept);

// Amdahl's law with the parallel efficiency `efficiency` (0, 1] at `reference` workers, where the speed is 1.
// What is assumed of a job of which nothing is known (rule Q10: 80 %).
double amdahl_speed(int workers, int reference, double efficiency);
std::shared_ptr<const Curve> amdahl_curve(std::vector<int> sizes, int reference, double efficiency,
                                          Objective objective);

}  // namespace emj::queue
