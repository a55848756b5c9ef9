// SPDX-License-Identifier: Apache-2.0
// How long an iteration takes on n workers, from the sizes measured so far:
//
//   t(n) = a + b/n + c log2 n + d n,   a, b, c, d >= 0
//
// The part in which the busiest rank computes and the rest (transfers) are measured apart, so they are fitted
// apart: a1 + b/n to the first, a2 + c log2 n + d n to the second. A superposition of Amdahl's law, trees and
// all-to-all patterns (seed 000, section 6.5: a job that is fastest on 2 of 16 workers).
#pragma once
#include <optional>
#include <vector>

#include "operator/api/status.hpp"

namespace emj {

// What was measured at one size.
struct SizePoint {
  int workers = 1;
  double seconds = 0;        // of an iteration (of a unit of work where the application reports work), > 0
  double communication = 1;  // largest useful time of a rank over elapsed time, (0, 1]
  double efficiency = 1;     // all useful time over measured time, (0, 1]
  double weight = 1;         // older points weigh less; 0: inferred from its efficiency, no part of the fit
};

// Minimises |A x - y| over x >= 0 by trying every set of columns: exact, for a handful of columns. Of equally
// good sets the smallest wins, so that too few rows do not give an arbitrary answer. Empty without rows.
std::vector<double> nonnegative_least_squares(const std::vector<std::vector<double>>& rows,
                                              const std::vector<double>& values);

class TimeModel {
 public:
  // `points`: one per size; `current` is one of the sizes, and not inferred.
  TimeModel(std::vector<SizePoint> points, int current);

  // The measured time where the size was measured. Else the fitted one, each part scaled to agree with
  // the nearest measured size. With one size measured, the present one: with m/c time in transfers over the
  // busiest rank's useful time there and q the growth of transfers, t(n') = c n/n' + m (n'/n)^q; q is 1
  // towards more workers and 0 towards fewer, the unfavourable case either way. Towards a size whose time is
  // inferred: along a power of the size; beyond it, from there.
  double seconds(int workers) const;
  bool measured(int workers) const;
  std::size_t sizes() const { return fitted_; }  // that were measured
  bool inferred(int workers) const;  // left before its time was known, which follows from its efficiency
  // Least useful time per iteration seen at any size, over the time that n workers hold. Not the same as the
  // measured parallel efficiency where work is done twice on more workers.
  double efficiency(int workers) const;
  // Sizes that may be judged: extrapolation ends at half the smallest and twice the largest measured one.
  int smallest() const { return (points_.front().workers + 1) / 2; }
  int largest() const { return 2 * points_.back().workers; }

 private:
  const SizePoint& nearest(int workers) const;
  double from_one_size(int workers) const;

  std::vector<SizePoint> points_;  // ascending
  SizePoint current_;
  std::size_t fitted_ = 0;        // of them, how many are not inferred
  std::vector<double> compute_;   // a1, b
  std::vector<double> transfer_;  // a2, c, d
  double useful_ = 0;             // worker seconds per iteration
};

// A part of the time as (0, 1], whatever the clocks of ranks have made of it.
double share_of_time(double share);
// The present size as it is measured now, the others as they are remembered, in terms of its work per
// iteration (0: not reported).
TimeModel time_model(const SizePoint& now, double work_per_iteration, std::int64_t epoch,
                     const PolicyState& state);
// As it was when the status was written; nothing unless the time of an iteration is known at that size.
std::optional<TimeModel> remembered_model(const PolicyState& state, int workers);

}  // namespace emj
